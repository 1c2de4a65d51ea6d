"""Prints what may make the code hard to understand: names used in many modules, small functions with one caller,
exceptions to rules.

    .venv/bin/python tools/house.py

It is for information only; no test uses it. There may be a good reason for each case.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANY = 3
SMALL = 5
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Iterator[tuple[Path, str, ast.Module]]:
    """Yield (path, source, tree) of the hub's modules without the migrations."""
    for path in sorted((ROOT / "memoryhub").rglob("*.py")):
        if "migrations" not in path.parts:
            source = path.read_text(encoding="utf-8")
            yield path.relative_to(ROOT), source, ast.parse(source)


def small_helpers() -> list[str]:
    """Return private functions of fewer than SMALL lines that their module uses only once: path, line and name of
    each."""
    helpers = []
    for path, source, tree in modules():
        for node in tree.body:
            if not isinstance(node, Function) or not node.name.startswith("_"):
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines < SMALL and len(re.findall(rf"\b{node.name}\b", source)) == 2:
                helpers.append(f"{path}:{node.lineno} {node.name}")
    return helpers


def repeated_names() -> list[tuple[str, int]]:
    """Return (name, number of modules) for classes and functions that are defined in more than MANY modules."""
    names: Counter[str] = Counter()
    for _, _, tree in modules():
        names.update({node.name for node in tree.body if isinstance(node, (*Function.__args__, ast.ClassDef))})
    return [(name, count) for name, count in names.most_common() if count > MANY]


def single_parts() -> list[str]:
    """Return the template parts of fewer than nine lines that only one other template or module uses."""
    users: defaultdict[str, set[Path]] = defaultdict(set)
    templates = sorted((ROOT / "templates").rglob("*.html"))
    for path in [*templates, *(ROOT / "memoryhub").rglob("*.py")]:
        for name in re.findall(r"[\"',]((?:[a-z_]+/)+_[a-z_]+\.html)", path.read_text(encoding="utf-8")):
            users[name].add(path)
    return [
        name
        for name, where in sorted(users.items())
        if len(where) == 1 and (ROOT / "templates" / name).read_text(encoding="utf-8").count("\n") < 9
    ]


def main() -> None:
    """Print the counts, and the first items of each list."""
    sources = [source for _, source, _ in modules()]
    helpers, parts = small_helpers(), single_parts()
    print(f"modules: {len(sources)}, lines: {sum(source.count(chr(10)) for source in sources)}")
    print(f"# fmt: skip: {sum(source.count('# fmt: skip') for source in sources)}")
    print(f"type: ignore: {sum(source.count('# type: ignore') for source in sources)}")
    print("names at the top of many modules: " + ", ".join(f"{name} {count}" for name, count in repeated_names()))
    print(f"private functions of fewer than {SMALL} lines with one caller: {len(helpers)}")
    print("".join(f"  {helper}\n" for helper in helpers[:20]), end="")
    print(f"parts of templates that are used once and are shorter than nine lines: {len(parts)}")
    print("".join(f"  {part}\n" for part in parts[:20]), end="")


if __name__ == "__main__":
    main()

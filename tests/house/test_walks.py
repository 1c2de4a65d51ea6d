"""The walks through the code in the documentation: each file and function is there, and leads to the next."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("### Three walks")[2].partition("\n## ")[0]
WALKS: dict[str, str] = dict(re.findall(r"^(\w[^\n]*):\n\n((?:\d+\. [^\n]+\n)+)", TEXT, re.MULTILINE))
MOST_PYTHON, MOST_TEMPLATES = 8, 5


class Step(NamedTuple):
    """A line of a walk: its files, and the functions or methods of the first one."""

    files: list[str]
    names: list[str]


def steps_of(walk: str) -> Iterator[Step]:
    for line in WALKS[walk].splitlines():
        quoted = re.findall("`([^`]+)`", line)
        files = [one for one in quoted if one.endswith((".py", ".html"))]
        names = [one for one in quoted if re.fullmatch(r"[A-Za-z_]+(\.[a-z_]+)?", one) and one != "tool_result"]
        yield Step(files, names)


def defined_in(source: str) -> set[str]:
    """The functions, classes and `Class.method` of a module."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{one.name}" for one in inner}
    return names


def test_there_are_three_walks() -> None:
    assert list(WALKS) == ["A tool call", "Approving a version", "Rehearsing a retention policy"]


@pytest.mark.parametrize("walk", WALKS)
def test_every_file_and_function_of_a_walk_is_there(walk: str) -> None:
    for step in steps_of(walk):
        assert step.files, "each step names a file"
        assert all((ROOT / file).is_file() for file in step.files), step
        if step.names:
            source = (ROOT / step.files[0]).read_text(encoding="utf-8")
            assert set(step.names) <= defined_in(source), step


@pytest.mark.parametrize("walk", WALKS)
def test_each_step_of_a_walk_is_called_by_one_before_it(walk: str) -> None:
    sources: list[str] = []
    for step in steps_of(walk):
        called = [name.rpartition(".")[2] for name in step.names] or [file.partition("/")[2] for file in step.files]
        if sources and not step.files[0].endswith("urls.py"):
            assert re.search(rf"(?<!def )\b{re.escape(called[0])}\b", "\n".join(sources)), step
        sources += [(ROOT / file).read_text(encoding="utf-8") for file in step.files]


def test_approving_a_version_opens_few_files() -> None:
    files = [file for step in steps_of("Approving a version") for file in step.files]
    assert sum(file.endswith(".py") for file in files) <= MOST_PYTHON
    assert sum(file.endswith(".html") for file in files) <= MOST_TEMPLATES

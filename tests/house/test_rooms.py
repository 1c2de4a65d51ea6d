"""The folders of the project: none is too long to be read at once, and no module repeats the name of its place."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "memoryhub"
MOST = 30
"""Files and folders beside each other that are still read at one look."""
OTHER_PLACES = ("templates", "static", "tests")
OF_OTHERS = {"vendor", "schemas", "__pycache__"}
"""Files of other projects, the databases of older versions, and what Python writes."""
NAMED_BY_OTHERS = {"migrations", "commands"}
"""Django numbers migrations, and the names of commands are what people type."""


def folders() -> dict[Path, set[str]]:
    """By folder, the modules and folders in it."""
    inside: dict[Path, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__init__.py":
            inside.setdefault(path.parent, set()).add(path.stem)
        elif path.parent != PACKAGE:
            inside.setdefault(path.parent.parent, set()).add(path.parent.name)
    return {folder: names for folder, names in inside.items() if folder.name not in NAMED_BY_OTHERS}


def entries() -> dict[Path, set[str]]:
    """By folder of templates, static files and tests, the names of the files and folders in it."""
    inside: dict[Path, set[str]] = {}
    for place in OTHER_PLACES:
        for path in (ROOT / place).rglob("*"):
            if not OF_OTHERS & set(path.parts) and path.name not in {"__init__.py", ".keep"}:
                inside.setdefault(path.parent, set()).add(path.name)
    return inside


def repeated(names: set[str], room: str) -> Iterator[str]:
    """The names that begin with another name beside them, or with that of the folder, in singular or plural."""
    taken = {one.removesuffix("s") for one in names | {room}}
    for name in names:
        words = name.split("_")
        if any("_".join(words[:count]).removesuffix("s") in taken for count in range(1, len(words))):
            yield name


def test_no_folder_is_a_hall() -> None:
    assert len(folders()) > 50
    assert len(entries()) > 100
    halls = {folder: len(names) for folder, names in [*folders().items(), *entries().items()] if len(names) > MOST}
    assert halls == {}


def test_no_module_repeats_the_name_of_its_folder_or_of_a_neighbour() -> None:
    found = {folder.name: list(repeated(names, folder.name)) for folder, names in folders().items()}
    assert {folder: names for folder, names in found.items() if names} == {}
    assert list(repeated({"runs", "run_items", "row"}, "retention")) == ["run_items"]

"""The folders of the package: none is too long to be read at once, and no name repeats that of its place."""

from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent / "memoryhub"
MOST = 30
"""Modules and folders beside each other that are still read at one look."""
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


def repeated(names: set[str], room: str) -> Iterator[str]:
    """The names that begin with another name beside them, or with that of the folder, in singular or plural."""
    taken = {one.removesuffix("s") for one in names | {room}}
    for name in names:
        words = name.split("_")
        if any("_".join(words[:count]).removesuffix("s") in taken for count in range(1, len(words))):
            yield name


def test_no_folder_is_a_hall() -> None:
    assert len(folders()) > 50
    assert {folder.name: len(names) for folder, names in folders().items() if len(names) > MOST} == {}


def test_no_module_repeats_the_name_of_its_folder_or_of_a_neighbour() -> None:
    found = {folder.name: list(repeated(names, folder.name)) for folder, names in folders().items()}
    assert {folder: names for folder, names in found.items() if names} == {}
    assert list(repeated({"runs", "run_items", "row"}, "retention")) == ["run_items"]

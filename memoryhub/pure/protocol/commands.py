"""Commands: parses the input of a tool_use block into one of six validated forms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

Input = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class View:
    """The command view. `view_range` is kept as it was sent, because it can only be checked against the text."""

    name: ClassVar[str] = "view"
    path: str
    view_range: object = None


@dataclass(frozen=True, slots=True)
class Create:
    name: ClassVar[str] = "create"
    path: str
    file_text: str


@dataclass(frozen=True, slots=True)
class StrReplace:
    name: ClassVar[str] = "str_replace"
    path: str
    old_str: str
    new_str: str


@dataclass(frozen=True, slots=True)
class Insert:
    """The command insert. `insert_line` is kept as it was sent, because it can only be checked against the text."""

    name: ClassVar[str] = "insert"
    path: str
    insert_line: object
    insert_text: str


@dataclass(frozen=True, slots=True)
class Delete:
    name: ClassVar[str] = "delete"
    path: str


@dataclass(frozen=True, slots=True)
class Rename:
    name: ClassVar[str] = "rename"
    path: str
    new_path: str


Command = View | Create | StrReplace | Insert | Delete | Rename

WRITES = frozenset(("create", "str_replace", "insert", "delete", "rename"))
"""The commands of the memory tool that write memories. Agents and people can write with other commands, too."""

PARAMETERS = frozenset({
    "command", "path", "old_path", "new_path", "old_str", "new_str", "view_range", "insert_line", "insert_text",
    "file_text",
})  # fmt: skip
"""The names that the hub knows in an input; it ignores others."""


def meant(input: Input) -> dict[str, object]:
    """Return what an input asks for: equal results mean the same call. Names that the hub ignores are left out."""
    return {name: _meant(value) for name, value in input.items() if name in PARAMETERS and value is not None}


def _meant(value: object) -> object:
    return list(map(_number, value)) if isinstance(value, list) else _number(value)


def _number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parse(input: Input) -> Command:
    """Return the command of an input. Raises ToolError for the first broken rule; the error holds the parameters
    checked before."""
    name = input.get("command")
    if not isinstance(name, str) or name not in results.COMMANDS:
        raise ToolError(results.unrecognized_command(name))
    path = new_path = None
    try:
        path = _path(input, name)
        if name == "rename":
            new_path = paths.from_tool(_present(input, "new_path", name))
            return Rename(path, new_path)
        return _PARSERS[name](input, path)
    except ToolError as error:
        error.command, error.path, error.new_path = name, path, new_path
        raise


def _path(input: Input, command: str) -> str:
    if command != "rename":
        return paths.from_tool(_present(input, "path", command), creates=command == "create")
    value = input.get("old_path")
    if value is None:
        value = input.get("path")
    if value is None:
        raise ToolError(results.missing_parameter("old_path", command))
    return paths.from_tool(value)


def _view(input: Input, path: str) -> Command:
    return View(path, input.get("view_range"))


def _create(input: Input, path: str) -> Command:
    return Create(path, _text(input, "file_text", "create"))


def _str_replace(input: Input, path: str) -> Command:
    old_str = _text(input, "old_str", "str_replace")
    new_str = "" if input.get("new_str") is None else _text(input, "new_str", "str_replace")
    if not old_str:
        raise ToolError(results.empty_old_str())
    return StrReplace(path, old_str, new_str)


def _insert(input: Input, path: str) -> Command:
    name = "new_str" if input.get("insert_text") is None and input.get("new_str") is not None else "insert_text"
    insert_text = _text(input, name, "insert")
    return Insert(path, _present(input, "insert_line", "insert"), insert_text)


def _delete(input: Input, path: str) -> Command:
    return Delete(path)


_PARSERS: dict[str, Callable[[Input, str], Command]] = {
    "view": _view, "create": _create, "str_replace": _str_replace, "insert": _insert, "delete": _delete,
}  # fmt: skip


def _present(input: Input, name: str, command: str) -> object:
    value = input.get(name)
    if value is None:
        raise ToolError(results.missing_parameter(name, command))
    return value


def _text(input: Input, name: str, command: str) -> str:
    value = _present(input, name, command)
    if not isinstance(value, str):
        raise ToolError(results.not_a_string(name))
    if "\0" in value:
        raise ToolError(results.has_nul(name))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ToolError(results.not_unicode(name)) from None
    return value

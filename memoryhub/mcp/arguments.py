"""The arguments of a tool call, with errors that a model understands."""

from typing import Any

from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError

Json = dict[str, Any]

DEFAULT_LIMIT, MOST = 20, 100


class Unusable(ValueError):
    """Arguments that the tool cannot use; the message says why."""


def path_of(given: str) -> str:
    """Return `given`, a path of the tool, in the API's form. Raises Unusable for an invalid path."""
    try:
        return paths.from_tool(given)
    except ToolError as error:
        raise Unusable(error.message.removeprefix("Error: ")) from None


def text_of(arguments: Json, name: str) -> str | None:
    """Return a string argument; None if it is absent. Raises Unusable for any other value."""
    value = arguments.get(name)
    if value is None or isinstance(value, str):
        return value
    raise Unusable(f"`{name}` must be a string.")


def whole_of(arguments: Json, name: str, least: int, most: int) -> int | None:
    """Return an argument that is a whole number from `least` to `most`; None if it is absent.

    Raises Unusable for any other value.
    """
    value = arguments.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Unusable(f"`{name}` must be a whole number from {least} to {most}.")
    return value


def flag_of(arguments: Json, name: str) -> bool:
    """Return a boolean argument; False if it is absent. Raises Unusable for any other value."""
    value = arguments.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise Unusable(f"`{name}` must be true or false.")


def limit_of(arguments: Json) -> int:
    """Return the most items that a page may have: the argument `limit`, or DEFAULT_LIMIT if it is absent.

    Raises Unusable unless `limit` is a whole number from 1 to MOST.
    """
    return whole_of(arguments, "limit", 1, MOST) or DEFAULT_LIMIT


def cursor_of(kind: str, filters: Json, arguments: Json, shape: tuple[type, ...]) -> list[Any] | None:
    """Return the position in the cursor `page`; None if the argument is absent.

    Raises Unusable for a wrong cursor, and for a cursor of another list or of other filters.
    """
    try:
        return cursors.decode(kind, filters, text_of(arguments, "page"), shape)
    except Problem as problem:
        raise Unusable(problem.message) from None

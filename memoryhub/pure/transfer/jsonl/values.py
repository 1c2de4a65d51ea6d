"""Reads single values from the lines of JSON Lines, and refuses values that are not of the required kind."""

from datetime import UTC, datetime
from typing import Any

from memoryhub.pure import strict_json
from memoryhub.pure.transfer import histories
from memoryhub.pure.transfer.bundle import Author, Refused
from memoryhub.pure.transfer.reading import visible

ACTORS = ("api_actor", "session_actor", "user_actor", "service_account_actor", "")

Line = dict[str, Any]


def author_of(value: object) -> Author | None:
    """Return the author that an export names; None if it names none. Raises Refused."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Refused("A version's author is not an object.")
    type, id, label = (text(value, name) for name in ("type", "id", "label"))
    if type not in ACTORS:
        raise Refused(f"A version's author is a {visible(type)}, which does not exist.")
    if len(id) > 128 or not (id.isascii() and id.isprintable()) or len(label) > 1000:
        raise Refused("A version's author has an id or a label that is too long or has invisible characters.")
    return Author(type, id, label)


def moment_of(value: str) -> datetime:
    """Return the moment that an export names, in UTC. Raises Refused."""
    try:
        at = datetime.fromisoformat(value)
        if at.tzinfo is None:
            raise ValueError
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(f"{visible(value)} is not a moment.") from None


def text(line: Line, name: str) -> str:
    """Return the string under a name in an object. Raises Refused if it is missing or no string."""
    value = line.get(name)
    if not isinstance(value, str):
        raise Refused(f"A {line.get('type') if isinstance(line.get('type'), str) else 'value'}'s {name} is not a text.")
    return value


def text_or_none(value: Line, name: str) -> str | None:
    """Return the text under `name` in the object `value`; None if there is none. Raises Refused for anything but a
    text."""
    if value.get(name) is None:
        return None
    found = text(value, name)
    if strict_json.doubtful(found):
        raise Refused(f"The {name} of {_named(value)} has a NUL or an unpaired surrogate.")
    return found


def moment_or_none(value: Line, name: str) -> datetime | None:
    return None if value.get(name) is None else moment_of(text(value, name))


def number_or_none(value: Line, name: str) -> int | None:
    """Return the whole number under `name` in the object `value`; None if there is none.

    Raises Refused for anything but a number from 1 up to a limit.
    """
    found = value.get(name)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= histories.MOST_NUMBER:
        raise Refused(f"The {name} of {_named(value)} is not a possible number.")
    return found


def _named(value: Line) -> str:
    return f"a {visible(value['type'])}" if isinstance(value.get("type"), str) else "a value"

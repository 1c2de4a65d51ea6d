"""Query strings, parsed leniently but without ambiguity."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from memoryhub.api.sentences import SAID
from memoryhub.machines.errors import Problem

_NO_MOMENT = "must be a time of RFC 3339, such as 2026-01-31T14:30:00Z"
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-]\d\d:\d\d))", re.ASCII
)  # fmt: skip


def parsed(query: str, model: type[BaseModel]) -> dict[str, str | list[str]]:
    """Return {name: value} of the parameters that a model knows. If a name ends with `[]`, the value is a list.

    Raises Problem (400) for a query that is not UTF-8 or has more than 100 parameters, and for a known parameter that
    has a NUL or is repeated without `[]`.
    """
    if not query or query == "beta=true":
        return {}
    known = names_of(model)
    try:
        if not query.isascii():  # WSGI decodes the bytes as Latin-1
            query = query.encode("latin-1").decode()
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:  # a wrong encoding is a ValueError too
        what = "is not UTF-8" if isinstance(error, UnicodeError) else "has more than 100 parameters"
        raise Problem.invalid(f"The query {what}.") from None
    values: dict[str, str | list[str]] = {}
    for name, value in pairs:
        if name not in known:
            continue
        if "\0" in value:
            raise Problem.invalid(f"The query parameter `{name}` has a NUL character.")
        if name.endswith("[]"):
            values[name] = [*values.get(name, ()), value]
        elif name in values:
            raise Problem.invalid(f"The query parameter `{name}` is repeated.")
        else:
            values[name] = value
    return values


@lru_cache(maxsize=64)
def names_of(model: type[BaseModel]) -> frozenset[str]:
    """Return the names that a model's parameters have in a query."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        if not _WHOLE.fullmatch(value):
            raise PydanticCustomError(SAID, "must be a whole number")
        return int(value)
    return value


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        if value not in ("true", "false"):
            raise PydanticCustomError(SAID, "must be `true` or `false`")
        return value == "true"
    return value


def _moment(value: Any) -> Any:
    """Return a text with an RFC 3339 time as a datetime in UTC. Its `+` may have arrived as a space. Values of other
    types are returned unchanged."""
    if not isinstance(value, str):
        return value
    match = _MOMENT.fullmatch(value[:-6] + value[-6:].replace(" ", "+"))
    if match is None:
        raise PydanticCustomError(SAID, _NO_MOMENT)
    day, time, fraction, zulu, offset = match.groups()
    text = f"{day}T{time}.{(fraction or '0')[:6].ljust(6, '0')}{'+00:00' if zulu else offset}"
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except OverflowError:  # in UTC it lies outside the years of datetime
        return _FIRST if day < "5" else _LAST
    except ValueError:
        raise PydanticCustomError(SAID, _NO_MOMENT) from None


Whole = Annotated[int, BeforeValidator(_whole)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Limit = Annotated[int, Field(ge=1, le=100, description="The most items of a page, 1 to 100."), BeforeValidator(_whole)]
Page = Annotated[str, Field(min_length=1, max_length=4096, description="`next_page` of the page before.")]

"""Filters written as words `key:value` or as query parameters, for the audit, the review and the findings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from django.utils.translation import gettext as _

LONGEST = 2000
_WORD = re.compile(r'(?:(\w+):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))')


class Malformed(ValueError):
    """A filter that cannot be parsed; its message is a sentence for the person."""


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The filter values that a person typed, by key; a subclass may add fields for the layout of the page."""

    values: Mapping[str, str]

    KEYS: ClassVar[Sequence[str]]
    EXAMPLE: ClassVar[str]
    """A filter to show as an example in the error message for a word without a key."""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Self:
        """Parse the filter bar (`q`), then the other parameters, which take precedence. Raise Malformed if that
        fails."""
        values = cls._typed(parameters.get("q", ""))
        values |= {key: parameters[key].strip() for key in cls.KEYS if parameters.get(key, "").strip()}
        for key, value in values.items():
            if len(value) > LONGEST or "\0" in value:
                raise Malformed(_("The filter cannot search for this value of “%(key)s”.") % {"key": key})
        cls.check(values)
        return cls({key: values[key] for key in cls.KEYS if key in values}, **cls.layout(parameters))

    @classmethod
    def as_typed(cls, parameters: Mapping[str, str]) -> Self:
        """Return the parameters unchecked, to show a filter again that may be malformed."""
        return cls({key: parameters[key] for key in cls.KEYS if parameters.get(key)}, **cls.layout(parameters))

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        """Raise Malformed if a value is not valid for its key."""

    @classmethod
    def layout(cls, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return the layout fields of a subclass, parsed from the parameters."""
        return {}

    @classmethod
    def guessed(cls, value: str) -> str | None:
        """Return the key that a word typed without a key most likely belongs to."""
        raise NotImplementedError

    def shown_layout(self) -> dict[str, str | None]:
        """Return the layout as query parameters, with None for default values."""
        return {}

    def query(self, **changes: str | None) -> str:
        """Return the URL's query string without the question mark; a change to None removes that parameter."""
        parts = {**self.values, **self.shown_layout(), **changes}
        return urlencode({key: value for key, value in parts.items() if value})

    def without(self, *keys: str) -> Self:
        return replace(self, values={key: value for key, value in self.values.items() if key not in keys})

    def with_value(self, key: str, value: str) -> Self:
        return replace(self, values={**self.values, key: value})

    @property
    def words(self) -> str:
        """Return the filters in the syntax of the filter bar."""
        return as_words(self.values)

    @classmethod
    def _typed(cls, written: str) -> dict[str, str]:
        """Return the values in the filter bar, by key. Raise Malformed for an unknown key.

        A word without a key gets the key that it most likely belongs to.
        """
        values = {}
        for key, value in words_in(written):
            if key is not None and key not in cls.KEYS:
                raise Malformed(unknown_key(key, cls.KEYS))
            values[key or cls._key_of(value)] = value
        return values

    @classmethod
    def _key_of(cls, value: str) -> str:
        if key := cls.guessed(value):
            return key
        if ":" in value:
            raise Malformed(unknown_key(value.partition(":")[0], cls.KEYS))
        example = cls.EXAMPLE % {"word": value}
        raise Malformed(_("“%(word)s” needs a key, as in %(example)s.") % {"word": value, "example": example})


def as_words(values: Mapping[str, str]) -> str:
    """Return filters in the syntax of the filter bar."""
    return " ".join(f"{key}:{_quoted(value)}" for key, value in values.items())


def _quoted(value: str) -> str:
    if re.search(r'[\s"]', value) or not value:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value


def words_in(written: str) -> Iterator[tuple[str | None, str]]:
    """Yield (key, value) for each `key:value`, `key:"a value"` or plain word; the key of a plain word is None."""
    for match in _WORD.finditer(written):
        key, quoted, plain = match.groups()
        yield key, re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain


def unknown_key(key: str, keys: Sequence[str]) -> str:
    """Return the error message for a filter key that does not exist."""
    return _("There is no filter “%(key)s”. The filters are %(keys)s.") % {"key": key, "keys": ", ".join(keys)}

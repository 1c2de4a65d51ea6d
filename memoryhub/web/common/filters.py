"""Filters as words `key:value` and as parameters of an address: what the audit, the review and the findings share."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from django.utils.translation import gettext as _

LONGEST = 2000
_WORD = re.compile(r'(?:(\w+):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))')


class Malformed(ValueError):
    """A filter that cannot be read; its text is a sentence for the person."""


@dataclass(frozen=True, slots=True)
class KeyValues:
    """What a person typed for some of KEYS; a subclass may add how the page is laid out."""

    values: Mapping[str, str]

    KEYS: ClassVar[Sequence[str]]
    EXAMPLE: ClassVar[str]
    """A key whose values anybody may type; it stands in the sentence for a word without a key."""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Self:
        """From the parameters of an address; the words of the filter bar (`q`) come first. Raises Malformed."""
        values = cls._typed(parameters.get("q", ""))
        values |= {key: parameters[key].strip() for key in cls.KEYS if parameters.get(key, "").strip()}
        for key, value in values.items():
            if len(value) > LONGEST or "\0" in value:
                raise Malformed(_("The value of “%(key)s” cannot be looked for.") % {"key": key})
        cls.check(values)
        return cls({key: values[key] for key in cls.KEYS if key in values}, **cls.layout(parameters))

    @classmethod
    def as_typed(cls, parameters: Mapping[str, str]) -> Self:
        """What the page shows for an address whose filter may be malformed."""
        return cls({key: parameters[key] for key in cls.KEYS if parameters.get(key)}, **cls.layout(parameters))

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        """Raises Malformed where a value cannot be one of its key."""

    @classmethod
    def layout(cls, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The fields beside the values."""
        return {}

    @classmethod
    def guessed(cls, value: str) -> str | None:
        """The key that a word without one is meant for."""
        raise NotImplementedError

    def shown_layout(self) -> dict[str, str | None]:
        """The layout as parameters of an address; null where it is as usual."""
        return {}

    def query(self, **changes: str | None) -> str:
        """As the query of an address, without the question mark; a change to null leaves that part out."""
        parts = {**self.values, **self.shown_layout(), **changes}
        return urlencode({key: value for key, value in parts.items() if value})

    def without(self, *keys: str) -> Self:
        return replace(self, values={key: value for key, value in self.values.items() if key not in keys})

    def with_value(self, key: str, value: str) -> Self:
        return replace(self, values={**self.values, key: value})

    @property
    def words(self) -> str:
        """As one writes it in the filter bar."""
        return as_words(self.values)

    @classmethod
    def _typed(cls, written: str) -> dict[str, str]:
        """The words of the filter bar; those without a key are guessed."""
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
    """Filters as one writes them in a filter bar."""
    return " ".join(f"{key}:{_quoted(value)}" for key, value in values.items())


def _quoted(value: str) -> str:
    if re.search(r'[\s"]', value) or not value:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value


def words_in(written: str) -> Iterator[tuple[str | None, str]]:
    """(key, value) of each `key:value`, `key:"a value"` or plain word (key null)."""
    for match in _WORD.finditer(written):
        key, quoted, plain = match.groups()
        yield key, re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain


def unknown_key(key: str, keys: Sequence[str]) -> str:
    """The sentence for a filter that there is not."""
    return _("There is no filter “%(key)s”; there are %(keys)s.") % {"key": key, "keys": ", ".join(keys)}

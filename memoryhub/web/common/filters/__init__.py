"""Filters of lists, written as words or as query parameters; the grammar is the same on every page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self
from unicodedata import normalize
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from memoryhub.models import User
from memoryhub.pure.text.filter_words import (
    NOT,
    VERBS,
    Term,
    Verbs,
    Word,
    as_value,
    is_understood,
    quoted,
    understood,
    words_in,
)
from memoryhub.pure.text.folding import fold
from memoryhub.web.common.filters.keys import KEYS, base
from memoryhub.web.common.filters.names import names_for

LONGEST = 2000
SEVERAL = frozenset(("is",))
"""The keys that may have several values, which are separated by commas."""


class Malformed(ValueError):
    """A filter that cannot be parsed; its message is a sentence for the person."""


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The filter of a page: values by key, and the words typed in the bar.

    A subclass may add fields for the layout. A key with the prefix NOT (“-”) excludes items with its value. `typed`
    are the words of the bar in order. `values` has the filters of the bar and of the page's other parameters.
    """

    values: Mapping[str, str]
    typed: Sequence[Term] = ()

    KEYS: ClassVar[Sequence[str]]
    EXAMPLE: ClassVar[str] = ""
    """A filter to show as an example in the error message for a word without a key."""

    ALIASES: ClassVar[Mapping[str, str]] = {}
    TAKES_WORDS: ClassVar[bool] = True
    """Whether the page searches for plain words."""

    VERBS: ClassVar[Verbs] = {"written": None, "changed": None}
    """The verbs that the page accepts before “by”, as in “written by”. These are the default, because most pages list
    what an author wrote."""

    @classmethod
    def of(cls, parameters: Mapping[str, str], user: User | None = None) -> Self:
        """Parse the parameters of a page, of which `q` is the filter bar. Other parameters take precedence over `q`.
        Raise Malformed if the filter is invalid.

        Names of agents and people are found only if `user` may see them.
        """
        if len(parameters.get("q", "")) > LONGEST:
            raise Malformed(_("The filter is too long. Use at most %(most)s characters.") % {"most": LONGEST})
        if "\0" in parameters.get("q", ""):
            raise Malformed(_("The filter cannot search for a NUL character."))
        typed = cls._typed(parameters.get("q", ""), user)
        values = _together(typed)
        for key in cls.every_key():
            if given := parameters.get(key, "").strip():
                values[key] = given
        for key, value in values.items():
            if len(value) > LONGEST or "\0" in value:
                raise Malformed(_("The filter cannot search for this value of “%(key)s”.") % {"key": key})
            values[key] = _as_stored(key, value)
        cls.check(values)
        ordered = {key: values[key] for key in cls.every_key() if key in values}
        return cls(ordered, typed, **cls.layout(parameters))

    @classmethod
    def as_typed(cls, parameters: Mapping[str, str]) -> Self:
        """Return the filter with unchecked parameters, so that a malformed filter can be shown again."""
        values = {key: parameters[key] for key in cls.every_key() if parameters.get(key)}
        return cls(values, **cls.layout(parameters))

    @classmethod
    def every_key(cls) -> list[str]:
        """Return the keys of the page. A key whose values can be excluded is followed by the key that excludes them."""
        return [key for name in cls.KEYS for key in ((name, NOT + name) if KEYS[name].can_exclude else (name,))]

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        """Raise Malformed if a value is not valid for its key."""

    @classmethod
    def layout(cls, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of the layout fields, from the parameters. Subclasses with such fields override this."""
        return {}

    @classmethod
    def guessed(cls, value: str) -> str | None:
        """Return the key to which a word without a key most likely belongs, or None."""
        return None

    def shown_layout(self) -> dict[str, str | None]:
        """Return the layout as query parameters, with None for default values."""
        return {}

    @property
    def parameters(self) -> dict[str, str]:
        """Return the filter as parameters of a request."""
        return self._parameters(self.values)

    def _parameters(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of a filter with `values`. A filter that was typed in the bar stays in the bar if its
        value is still in `values`."""
        typed = _together(self.typed)
        kept = {key for key, value in typed.items() if values.get(key) == value}
        bar = " ".join(term.written for term in self.typed if not term.key or term.key in kept)
        given = {key: value for key, value in values.items() if value and key not in kept}
        return ({"q": bar} if bar else {}) | given

    def query(self, **changes: str | None) -> str:
        """Return the query string of the page after `changes`, without the question mark. A change to None removes the
        parameter."""
        ours = {key: value or "" for key, value in changes.items() if base(key) in self.KEYS}
        others = {**self.shown_layout(), **{key: value for key, value in changes.items() if key not in ours}}
        parameters = self._parameters({**self.values, **ours}) | others
        return urlencode({key: value for key, value in parameters.items() if value})

    def as_word(self, key: str, value: str, text: str) -> str:
        """Return the query string of the page with the plain word `text` in place of the filter `key` = `value`."""
        rest = ",".join(one for one in self.values_of(key) if one != value)
        parameters = self._parameters({**self.values, key: rest})
        layout = {name: value for name, value in self.shown_layout().items() if value}
        return urlencode({**parameters, "q": f"{_closed(parameters.get('q', ''))} {quoted(text)}".strip(), **layout})

    def without(self, *keys: str) -> Self:
        return replace(self, values={key: value for key, value in self.values.items() if key not in keys})

    def with_value(self, key: str, value: str) -> Self:
        return replace(self, values={**self.values, key: value})

    @property
    def is_empty(self) -> bool:
        return not self.values and not self.text

    @property
    def text(self) -> list[str]:
        """Return the plain words and phrases as written, with their quotes."""
        return [term.written for term in self.typed if not term.key]

    @property
    def plain_words(self) -> list[str]:
        """Return the plain words and phrases without their quotes."""
        return [term.value for term in self.typed if not term.key]

    @property
    def folded(self) -> tuple[str, ...]:
        """Return the plain words and phrases in the folded form in which texts and paths are compared."""
        return tuple(dict.fromkeys(map(fold, self.plain_words)))

    @property
    def words(self) -> str:
        """Return the filter as it can be typed in the bar: the plain words, then each filter as `key:value`."""
        text = _closed(" ".join(self.text))
        if is_understood(text):
            text = " ".join(quoted(word) for word in self.plain_words)
        pairs = ((key, value) for key in self.values for value in self.values_of(key))
        return " ".join(filter(None, [text, *(f"{key}:{as_value(value)}" for key, value in pairs)]))

    def values_of(self, key: str) -> list[str]:
        """Return the values of a key. Most keys have at most one; the keys in SEVERAL can have more."""
        value = self.values.get(key, "")
        return value.split(",") if base(key) in SEVERAL and value else [value] if value else []

    @classmethod
    def _typed(cls, written: str, user: User | None) -> list[Term]:
        """Return the words in the filter bar, each with its key if it has one. Raises Malformed for an unknown key."""
        words = [word for word in words_in(written) if word.key or word.text.strip()]
        parts = understood(words, frozenset(cls.KEYS), names_for(user), cls.VERBS)
        _check_verbs(parts)
        terms = (cls.meant(part) if isinstance(part, Term) else cls._term(part) for part in parts)
        return [replace(term, value=_as_stored(term.key, term.value)) for term in terms]

    @classmethod
    def meant(cls, term: Term) -> Term:
        """Return the filter that the typed filter `term` means on this page; by default, `term` itself."""
        return term

    @classmethod
    def _term(cls, word: Word) -> Term:
        negation = NOT if word.key and word.key.startswith(NOT) else ""
        key = negation + cls.ALIASES.get(base(word.key), base(word.key)) if word.key else ""
        if key in cls.every_key():
            return Term(key, word.text, word.written)
        if cls.takes(word):
            return Term("", f"{word.key}:{word.text}" if word.key else word.text, word.written)
        return Term(cls._key_of(word) or "", word.text, word.written)

    @classmethod
    def takes(cls, word: Word) -> bool:
        """Return whether `word` is used as a plain word, so that no key is guessed for it. By default, this is so
        for a word in quotes without a key, if the page takes plain words."""
        return word.is_quoted and word.key is None and cls.TAKES_WORDS

    @classmethod
    def _key_of(cls, word: Word) -> str | None:
        """Return the guessed key of a word that has no key, or None if the word is a plain word. Raises Malformed if
        the word has an unknown key, or if it is a plain word and the page takes none."""
        if word.key is not None:
            raise Malformed(unknown_key(word.key, cls.KEYS))
        if key := cls.guessed(word.text):
            return key
        if ":" in word.text:
            raise Malformed(unknown_key(word.text.partition(":")[0], cls.KEYS))
        if cls.TAKES_WORDS:
            return None
        words = {"word": word.text, "example": cls.EXAMPLE % {"word": word.text}}
        raise Malformed(_("“%(word)s” is no filter. Write the name of a filter before it, as in %(example)s.") % words)


def _check_verbs(parts: Sequence[Word | Term]) -> None:
    """Raise Malformed if a verb that the page does not accept precedes “by” and an author: “deleted by Ann”."""
    for verb, by in pairwise(parts):
        if not isinstance(verb, Word) or not verb.is_plain or verb.text.lower() not in VERBS:
            continue
        if isinstance(by, Term) and by.written.lower().startswith("by ") and by.key != "is":
            raise Malformed(
                _("This page cannot filter by what was “%(verb)s”. Write only “%(by)s”, or the verb in quotes.")
                % {"verb": verb.text, "by": by.written}
            )


def _as_stored(key: str, value: str) -> str:
    """Return a value of a filter as the database stores it: a path is composed (NFC)."""
    return normalize("NFC", value) if base(key) == "path" else value


def _together(terms: Sequence[Term]) -> dict[str, str]:
    """Return the values of filters by key. Raise Malformed if a key that takes one value has two."""
    values: dict[str, str] = {}
    for term in (term for term in terms if term.key):
        before = values.get(term.key)
        if before is None or before == term.value:
            values[term.key] = term.value
        elif base(term.key) in SEVERAL:
            values[term.key] = ",".join(dict.fromkeys([*before.split(","), term.value]))
        else:
            raise Malformed(
                _("“%(key)s” can have only one value at a time, not both “%(one)s” and “%(other)s”.")
                % {"key": term.key, "one": before, "other": term.value}
            )
    return values


def has_words(path: str | None, words: Sequence[str]) -> bool:
    """Return whether a path has all of the `words`, which are folded."""
    folded = fold(path or "") if words else ""
    return all(word in folded for word in words)


def _closed(typed: str) -> str:
    """Return the typed text in a form to which words can be added: a plain word with a quotation mark is put in
    quotes."""
    words = words_in(typed)
    return " ".join(quoted(word.text) if word.is_plain and '"' in word.text else word.written for word in words)


def unknown_key(key: str, keys: Sequence[str]) -> str:
    """Return the error message for a filter key that does not exist."""
    return _("There is no filter “%(key)s”. The filters are %(keys)s.") % {"key": key, "keys": ", ".join(keys)}

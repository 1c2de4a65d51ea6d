"""The search that a person types: words, phrases, and filters as `key:value` or in the controls beside the field."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from memoryhub.text.folding import fold
from memoryhub.web.common.filters import Malformed

LONGEST = 500
MOST_WORDS = 8
KEYS = ("store", "path", "in", "agent", "person", "session", "from", "to", "versions", "trash")
NARROWING = frozenset(("path", "agent", "person", "session", "from", "to"))
CONTENTS, PATHS, NOTES = "contents", "paths", "notes"
ONLY = {"in": (CONTENTS, PATHS, NOTES), "versions": ("all",), "trash": ("yes",)}
_PART = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')


@dataclass(frozen=True, slots=True)
class Query:
    """The words and phrases of a search, and its filter values for some of KEYS."""

    words: tuple[str, ...]
    values: Mapping[str, str]

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "Query":
        """Parse the search field (`q`), then the other parameters, which take precedence. Raise Malformed if that
        fails."""
        typed = parameters.get("q", "").strip()
        if len(typed) > LONGEST:
            raise Malformed(_("The search text is too long. Use at most %(most)s characters.") % {"most": LONGEST})
        words, values = _parts(typed)
        values |= {key: value for key in KEYS if (value := parameters.get(key, "").strip()[:LONGEST])}
        for key, value in values.items():
            _check(key, value)
        if len(words) > MOST_WORDS:
            raise Malformed(_("You can search for at most %(most)s words at once.") % {"most": MOST_WORDS})
        return cls(tuple(words), {key: values[key] for key in KEYS if key in values})

    @property
    def folded(self) -> tuple[str, ...]:
        """Return the words and phrases in the folded form in which texts are compared."""
        return tuple(dict.fromkeys(map(fold, self.words)))

    @property
    def is_empty(self) -> bool:
        """Return whether the search has no words and no filter that narrows it, so that it would find everything."""
        return not self.words and not NARROWING & self.values.keys()

    @property
    def text(self) -> str:
        """Return the words and phrases in the syntax of the search field."""
        return " ".join(f'"{word}"' if re.search(r"\s", word) else word for word in self.words)

    @property
    def has_filters(self) -> bool:
        return bool(self.values)

    def looks_in(self, place: str) -> bool:
        return self.values.get("in", place) == place

    def without(self, key: str) -> dict[str, str]:
        """Return the parameters of the same search without one filter."""
        return {"q": self.text} | {name: value for name, value in self.values.items() if name != key}


def _parts(typed: str) -> tuple[list[str], dict[str, str]]:
    """Split the search field into words and filters; something that only resembles a filter (`http://…`) is a word."""
    words, values = [], {}
    for match in _PART.finditer(typed):
        key, phrase, word = match.groups()
        value = word if phrase is None else phrase
        if key in KEYS:
            values[key] = value.strip()
        elif text := (value if key is None else f"{key}:{value}").strip():
            words.append(text)
    return words, {key: value for key, value in values.items() if value}


def _check(key: str, value: str) -> None:
    if "\0" in value or "\n" in value:
        raise Malformed(_("The filter cannot search for this value of “%(key)s”.") % {"key": key})
    if key in ONLY and value not in ONLY[key]:
        allowed = ", ".join(f"{key}:{one}" for one in ONLY[key])
        raise Malformed(
            _("The value “%(value)s” is not possible here. Write %(allowed)s.") % {"value": value, "allowed": allowed}
        )

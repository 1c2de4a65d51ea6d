"""The search that a person types: words, phrases, and the filters that narrow it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from memoryhub.models import User
from memoryhub.pure.protocol.paths import ROOT
from memoryhub.pure.text.filter_words import NOT, Term, Word
from memoryhub.pure.text.folding import fold
from memoryhub.pure.text.word_endings import Forms, forms
from memoryhub.web.common.filters import KeyValues, Malformed
from memoryhub.web.common.filters.keys import KEYS as EVERY
from memoryhub.web.common.filters.marks import mark_filter

LONGEST = 500
MOST_WORDS = 8
KEYS = ("store", "path", "in", "agent", "person", "session", "is", "when", "from", "to", "versions", "trash")
WIDENING = frozenset(("in", "store", NOT + "store", "versions", "trash"))
"""The filters that do not narrow a search. A search with only these finds nothing."""

CONTENTS, PATHS, NOTES = "contents", "paths", "notes"


@dataclass(frozen=True, slots=True)
class Query(KeyValues):
    """The words and phrases of a search, and the values of its filters."""

    KEYS = KEYS

    @classmethod
    def of(cls, parameters: Mapping[str, str], user: User | None = None) -> "Query":
        """Parse the search field (`q`) and the other parameters, which take precedence. Raise Malformed if the search
        is invalid."""
        if len(parameters.get("q", "").strip()) > LONGEST:
            raise Malformed(_("The search text is too long. Use at most %(most)s characters.") % {"most": LONGEST})
        query = super(Query, cls).of(parameters, user)
        if len(query.text) > MOST_WORDS:
            raise Malformed(_("You can search for at most %(most)s words at once.") % {"most": MOST_WORDS})
        return query

    @classmethod
    def takes(cls, word: Word) -> bool:
        """Return True: no word needs a key. A word that only looks like a filter (`http://…`) is searched for."""
        return True

    @classmethod
    def _term(cls, word: Word) -> Term:
        """Return a word as a term. If the word is a path that begins with the root of the memory tool, this root is
        left out."""
        term = super(Query, cls)._term(word)
        below = term.value.removeprefix(f"{ROOT}/")
        is_path = not term.key and not word.is_quoted and below not in ("", term.value)
        return replace(term, value=f"/{below}") if is_path else term

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        for key, value in values.items():
            if "\n" in value or len(value) > LONGEST:
                raise Malformed(_("The filter cannot search for this value of “%(key)s”.") % {"key": key})
        for key in ("in", "versions", "trash"):
            choices = EVERY[key].choices
            allowed = [name for name, _label in choices()] if choices else []
            if key in values and values[key] not in allowed:
                raise Malformed(
                    _("The value “%(value)s” is not possible here. Write %(allowed)s.")
                    % {"value": values[key], "allowed": ", ".join(f"{key}:{one}" for one in allowed)}
                )
        mark_filter(values)

    @property
    def finds_everything(self) -> bool:
        """Return whether the search has no words and no filter that narrows it."""
        return not self.text and not self.values.keys() - WIDENING

    @property
    def forms(self) -> tuple[Forms, ...]:
        """Return the forms of each word. A phrase in quotes has only one form."""
        plain = (term for term in self.typed if not term.key)
        return tuple((fold(term.value),) if term.written.startswith('"') else forms(fold(term.value)) for term in plain)

    def looks_in(self, place: str) -> bool:
        return self.values.get("in", place) == place

"""Filters that a person may have meant by plain words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from memoryhub.actions.core.audit.command import Scope
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.models import User
from memoryhub.pure.protocol.kinds import Kind, beginnings_of
from memoryhub.pure.text.filter_words import Term, Word, quoted, understood, words_in
from memoryhub.pure.text.folding import fold
from memoryhub.web.audit.filters import Filter
from memoryhub.web.common.acts import act_words
from memoryhub.web.common.errors.kinds import WORDS as ERRORS
from memoryhub.web.common.filters import LONGEST
from memoryhub.web.common.filters.keys import KEYS, base
from memoryhub.web.common.filters.names import names_for

MOST = 8
SHORTEST = 6
"""The least number of characters in a text that is accepted as the beginning of a tool's sentence."""

_RETENTION = ("set_policy", "delete_policy", "expire", "purge", "prune_versions", "start_run", "allow_run")
_ALSO = dict.fromkeys(_RETENTION, "retention policy expire")
"""{command: other words with which people search for it, besides its own}"""

_COMMON = frozenset(("the", "and", "was", "were", "not", "for", "did", "does", "that", "this", "with", "error", "are"))
_PARTS = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True, slots=True)
class Guess:
    """A filter that the person may have meant: its notation, its words, and the query string that filters by it."""

    written: str
    words: str
    query: str


@dataclass(frozen=True, slots=True)
class Guesses:
    """The filters that a person may have meant, and the plain words that the person typed."""

    filters: Sequence[Guess]
    words: str
    kept: str = ""  # the valid parts of the typed filter, which each guess includes


def guesses_of(typed: str, user: User) -> Guesses:
    """Return the filters that a person may have meant by `typed`, which was refused as a filter. If `typed` is too
    long, there are no guesses."""
    if len(typed) > LONGEST:
        return Guesses((), "")
    kept, plain = _parts(typed, user)
    words = " ".join(plain)
    found = list(dict.fromkeys([*_sentences(typed), *_alike(words, with_hub=user.is_superuser)]))[:MOST]
    if named := names_for(user)(plain) if plain else None:
        found.insert(0, (named[0], named[1]))
    if any(word.text.startswith("error:") or word.key == "error" for word in words_in(typed)) and not found:
        found = [("error", kind.value) for kind in ERRORS]
        kept = [one for one in kept if not one.startswith("error:")]
    return Guesses([_guess(kept, key, value) for key, value in found], words, " ".join(kept))


def _parts(typed: str, user: User) -> tuple[list[str], list[str]]:
    """Return the filters in `typed`, as they were written, and the other words of `typed`."""
    known = set(Filter.every_key())
    kept: list[str] = []
    plain: list[str] = []
    for part in understood(list(words_in(typed)), frozenset(Filter.KEYS), names_for(user), Filter.VERBS):
        if isinstance(part, Term) or part.key in known or (part.key is None and Filter.guessed(part.text)):
            kept.append(part.written)
        else:
            plain.append(_text(part))
    return kept, plain


def _text(word: Word) -> str:
    return f"{word.key}:{word.text}" if word.key else word.text


def _guess(kept: Sequence[str], key: str, value: str) -> Guess:
    written = f"{key}:{quoted(value) if ' ' in value else value}"
    words = ERRORS[Kind(value)] if key == "error" else act_words(value) if key == "command" else KEYS[base(key)].label
    return Guess(written, str(words), urlencode({"q": " ".join([*kept, written])}))


def _sentences(typed: str) -> Iterator[tuple[str, str]]:
    """Yield ("error", kind) for each kind of error whose messages begin as `typed` does."""
    text = fold(typed.strip().strip('"'))
    for kind in ERRORS:
        beginnings = [fold(one) for one in beginnings_of(kind)] if kind != Kind.OTHER else []
        longer = [one for one in beginnings if text.startswith(one)]
        if longer or (len(text) >= SHORTEST and any(one.startswith(text) for one in beginnings)):
            yield "error", kind.value


def _alike(typed: str, *, with_hub: bool) -> list[tuple[str, str]]:
    """Return the kinds of errors and the commands whose words are most like those of a text."""
    words = _stems(typed)
    choices: dict[tuple[str, str], str] = {}
    for kind, label in ERRORS.items():
        sentences = () if kind == Kind.OTHER else beginnings_of(kind)
        choices["error", kind.value] = " ".join([kind.value, str(label), *sentences])
    for name in (name for name, command in COMMANDS.items() if with_hub or Scope.STORE in command.scope):
        choices["command", name] = f"{name} {act_words(name)} {_ALSO.get(name, '')}"
    scores = {choice: len(words & _stems(text)) for choice, text in choices.items()}
    best = max(scores.values(), default=0)
    return [choice for choice, score in scores.items() if score == best] if best else []


def _stems(text: str) -> set[str]:
    """Return the beginnings of the words of a text, without the most common words."""
    return {part[:5] for part in _PARTS.findall(fold(text)) if part not in _COMMON}

"""The forms of a searched word: with them, an English ending of the word hides no text that has another ending."""

import re
from collections.abc import Iterable

Forms = tuple[str, ...]
"""The folded texts of which one must occur."""

_LETTERS = re.compile(r"[a-z]{4,}\Z")
_PLURAL = re.compile(r"(?:(?<=[sxz])es|(?<=[cs]h)es|(?<![sui])s)\Z")
_ENDED = re.compile(r"(?P<stem>[a-z]*[aeiouy][a-z]*)(?:ed|ing)\Z")
_WITH_E = re.compile(r"[aeiouy][^aeiouy]\Z")
_SHORTEST = 5
"""The fewest letters before `ed` or `ing` that are searched alone: fewer are in too many other words."""


def forms(word: str) -> Forms:
    """Return the texts of which one is in every text that has the folded word with another ending.

    A search finds a text inside longer words, so `refund` is enough for `refunds` and `refunded`. Only words that end
    in at least four letters of English have endings.
    """
    letters = _LETTERS.search(word)
    if letters is None:
        return (word,)
    before = word[: letters.start()]
    return tuple(before + form for form in _forms(letters[0]))


def texts_of(words: Iterable[Forms]) -> tuple[str, ...]:
    """Return the texts of all forms, to mark them."""
    return tuple(dict.fromkeys(form for word in words for form in word))


def missing(text: str, words: Iterable[Forms]) -> list[Forms]:
    """Return the words of which a folded text has no form."""
    return [word for word in words if not any(form in text for form in word)]


def _forms(word: str) -> Forms:
    if word.endswith(("ies", "ied")) and len(word) > len("ties"):
        return word[:-3] + "y", word[:-1]
    if word.endswith("y") and word[-2] not in "aeou":
        return word, word[:-1] + "ie"
    word = _PLURAL.sub("", word)
    if ended := _ENDED.match(word):
        stem = ended["stem"]
        if len(stem) < _SHORTEST:
            return stem + ("e" if _WITH_E.search(stem) else "ed"), stem + "ing"
        return (stem[:-1] if stem[-1] == stem[-2] else stem,)
    if word.endswith("e") and len(word) > len("gone"):
        return word, word[:-1] + "ing"
    return (word,)

"""The forms of a word to search for: with them, a search also finds the word with another English ending."""

import re
from collections.abc import Iterable, Iterator

from memoryhub.pure.text.folding import Whole, find

Forms = tuple[str, ...]
"""Folded texts of which at least one must occur in the searched text. A Whole must occur as a word of its own."""

_LETTERS = re.compile(r"[a-z]{3,}\Z")
_PLURAL = re.compile(r"(?:(?<=[a-z]{2}[sxz])es|(?<=[cs]h)es|(?<![sui])s)\Z")
_ENDED = re.compile(r"(?P<stem>[a-z]*[aeiouy][a-z]*)(?:ed|ing)\Z")
_WITH_E = re.compile(r"[aeiouy][^aeiouy]\Z")
_WITHOUT_E = re.compile(r"[aeiouy][a-z]*[^aeo]e\Z")
_WITH_IE = re.compile(r"[^aeou]y\Z")
_DOUBLED = re.compile(r"([bgkmnprt])\1\Z")
_SHORTEST = 5
"""The fewest letters before `ed` or `ing` that are searched without the ending. Fewer letters occur in too many other
words."""


def forms(word: str) -> Forms:
    """Return the forms to search for instead of a folded word. A text that contains the word, also with another ending,
    contains one of these forms.

    A search finds a text inside longer words, so `refund` is enough for `refunds`. If a form is a
    short word without its ending, such as `test`, it is found only as a whole word: too many longer words contain it,
    such as `latest`.
    """
    letters = _LETTERS.search(word)
    if letters is None:
        return (word,)
    before = word[: letters.start()]
    return tuple(dict.fromkeys(type(form)(before + form) for form in _forms(letters[0])))


def texts_of(words: Iterable[Forms]) -> tuple[str, ...]:
    """Return the texts of all forms of these words. A search finds and marks these texts."""
    return tuple(dict.fromkeys(form for word in words for form in word))


def missing(text: str, words: Iterable[Forms]) -> list[Forms]:
    """Return those `words` of which the folded text contains no form."""
    return [word for word in words if not any(find(text, form) >= 0 for form in word)]


def _forms(word: str) -> Iterator[str]:
    if len(word) > len("use"):
        if word.endswith(("ies", "ied")) and len(word) > len("ties"):
            yield from (word[:-3] + "y", word[:-1])
            return
        word = _PLURAL.sub("", word)
        if word.endswith("eed"):
            yield word[:-1] if re.search("[aeiouy][^aeiouy]+eed", word) else word
            return
        if ended := _ENDED.match(word):
            yield from _of_stem(ended["stem"])
            return
    yield word
    if _WITH_IE.search(word):
        yield from (word[:-1] + "ie",) if len(word) > len("try") else _whole(word[:-1], "ies", "ied")
    elif len(word) >= _SHORTEST and word.endswith("e"):
        yield word[:-1] + "ing"
    elif _WITHOUT_E.search(word):
        yield Whole(word[:-1] + "ing")
    if word.endswith("oe"):
        yield from _whole(word[:-1], "", "ing")


def _of_stem(stem: str) -> Iterator[str]:
    """Yield the forms of a word that ends in `ed` or `ing` after the stem."""
    if len(stem) >= _SHORTEST:
        yield stem[:-1] if stem[-1] == stem[-2] else stem
        if _WITH_IE.search(stem):
            yield stem[:-1] + "ie"
        return
    with_e = bool(_WITH_E.search(stem))
    yield from (stem + ("e" if with_e else "ed"), stem + "ing")
    if len(stem) > len("us") or not with_e:
        yield from _whole(stem, "", "s")
    if _DOUBLED.search(stem):
        yield from _whole(stem[:-1], "", "s")
    elif not with_e:
        yield from _whole(stem, "e", "es")
    if _WITH_IE.search(stem):
        yield from _whole(stem[:-1], "ies", "ied")
    if stem.endswith("e"):
        yield Whole(stem + "d")


def _whole(stem: str, *endings: str) -> Iterator[str]:
    return (Whole(stem + ending) for ending in endings)

"""Reads what a person types into a filter: `key:value`, `-key:value`, plain words and phrases such as “last week”."""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from memoryhub.pure.text.periods import is_date

_WORD = re.compile(r'(?:(-?)(\w+):)?(?:"((?:[^"\\]|\\.)*)"(?:,(?!\S))?|(\S+))')
_TIME = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d", re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}T{_TIME.pattern}", re.ASCII)
_COUNT = re.compile(r"[1-9]\d{0,5}", re.ASCII)

NOT = "-"
"""The character before the key of a filter that leaves out everything with the filter's value."""

UNREVIEWED, FLAGGED, PINNED, HELD, FINDING = "unreviewed", "flagged", "pinned", "held", "finding"
SEVERAL_AGENTS, MINE, UNASSIGNED = "several-agents", "mine", "unassigned"
MARKS = (UNREVIEWED, FLAGGED, PINNED, HELD, FINDING, SEVERAL_AGENTS, MINE, UNASSIGNED)
"""The values of the filter `is`."""

WRITING = "writes"
"""The value of the filter `command` for all commands that write memories."""

READING = "reads"
"""The value of the filter `command` for all commands that read memories."""

PHRASES = {
    "not reviewed": ("is", UNREVIEWED), "unreviewed": ("is", UNREVIEWED), "flagged": ("is", FLAGGED),
    "pinned": ("is", PINNED), "on hold": ("is", HELD), "with findings": ("is", FINDING),
    "with open findings": ("is", FINDING), "without findings": (f"{NOT}is", FINDING),
    "without open findings": (f"{NOT}is", FINDING), "awaiting review": ("is", UNREVIEWED),
    "by several agents": ("is", SEVERAL_AGENTS), "several agents": ("is", SEVERAL_AGENTS),
    "unassigned": ("is", UNASSIGNED), "assigned to me": ("is", MINE),
    "changes": ("command", WRITING), "all changes": ("command", WRITING),
    "read": ("command", READING), "reads": ("command", READING), "all reads": ("command", READING),
    "refused": ("outcome", "refused"), "refused calls": ("outcome", "refused"), "refusal": ("outcome", "refused"),
    "refusals": ("outcome", "refused"), "denied": ("outcome", "refused"), "denied calls": ("outcome", "refused"),
    "rejected": ("outcome", "refused"), "rejection": ("outcome", "refused"), "rejections": ("outcome", "refused"),
    "failed": ("outcome", "error"), "errors": ("outcome", "error"),
    "today": ("when", "today"), "yesterday": ("when", "yesterday"), "this week": ("when", "this-week"),
    "last week": ("when", "last-week"), "this month": ("when", "this-month"), "last month": ("when", "last-month"),
    "since today": ("when", "today"), "since this week": ("when", "this-week"),
    "since this month": ("when", "this-month"), "since yesterday": ("when", "since-yesterday"),
    "since last week": ("when", "since-last-week"), "since last month": ("when", "since-last-month"),
    "before today": (f"{NOT}when", "today"), "before this week": (f"{NOT}when", "this-week"),
    "before this month": (f"{NOT}when", "this-month"), "before yesterday": (f"{NOT}when", "since-yesterday"),
    "before last week": (f"{NOT}when", "since-last-week"), "before last month": (f"{NOT}when", "since-last-month"),
}  # fmt: skip
"""The phrases without a name or a number, and the filters that they mean."""

VERBS = frozenset(("written", "changed", "deleted"))
"""The words that may precede “by” and a name."""

Verbs = Mapping[str, tuple[str, str] | None]
"""{verb of VERBS that a page knows: (key, value)}: the filter that it adds to the filter of the author. None: it adds
no filter."""

ONE = frozenset(("a", "an", "one"))
UNITS = {"hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w", "weeks": "w"}
MOST_WORDS_OF_A_NAME = 4
LONGEST_PHRASE = 4 + MOST_WORDS_OF_A_NAME
"""The most words that can mean one filter: “not written by” or “not older than”, and the words after it."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word, or one phrase in quotes. `written` is how it was typed, with its key and quotes."""

    written: str
    text: str
    key: str | None
    is_quoted: bool

    @property
    def is_plain(self) -> bool:
        return self.key is None and not self.is_quoted


@dataclass(frozen=True, slots=True)
class Term:
    """A filter: its key, its value, and the words that were typed for it.

    The key may begin with NOT. The key of a plain word to search for is empty.
    """

    key: str
    value: str
    written: str


Found = tuple[str, str, int]
"""The key and the value of a filter, and the number of the words that mean it."""

Names = Callable[[Sequence[str]], tuple[str, str, int] | None]
"""A function that takes the words after “by”. If they begin with the name of an author, it returns the key and value of
the filter for this author, and the number of words of the name; else None."""


def words_in(typed: str) -> Iterator[Word]:
    """Yield the words that were typed into a filter, in order. A comma after `key:value` or after a word in quotes is
    no part of that word."""
    for match in _WORD.finditer(typed):
        negation, key, quoted, plain = match.groups()
        written = match[0]
        if key and plain and len(plain) > 1:
            plain = plain.removesuffix(",")
        if quoted is not None:
            plain, written = re.sub(r'\\(["\\])', r"\1", quoted), written.removesuffix(",")
        yield Word(written, plain, f"{negation}{key}" if key else None, quoted is not None)


def quoted(text: str) -> str:
    """Return a text in quotes, so that it is one word and never understood as a filter."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_value(value: str) -> str:
    """Return the value of a filter as it is written after its key: in quotes where that is needed."""
    return quoted(value) if re.search(r'[\s"]|,\Z', value) or not value else value


def understood(words: Sequence[Word], keys: Container[str], names: Names, verbs: Verbs) -> list[Word | Term]:
    """Return the words in order, with a filter in place of each phrase that means one.

    A phrase whose filter has a key that is not in `keys` remains as it is, and so does a phrase in quotes. A verb
    before “by” that is not in `verbs` remains a word.
    """
    parts: list[Word | Term] = []
    at = 0
    while at < len(words):
        ahead = words[at : at + LONGEST_PHRASE]
        found = _meant(_up_to_comma(ahead), names) or _meant(ahead, names)
        if found is None or found[0].removeprefix(NOT) not in keys:
            parts.append(words[at])
            at += 1
            continue
        parts += _parts(found, words[at : at + found[2]], verbs)
        at += found[2]
    return parts


def _parts(found: Found, typed: Sequence[Word], verbs: Verbs) -> list[Word | Term]:
    """Return the parts that replace the words `typed`, which mean the filter `found`.

    This filter is one part. If a verb and “by” come first, as in “approved by Ada”, the verb becomes a part before it:
    the filter that `verbs` has for the verb, or the verb as a word. If `verbs` has None for it, there is no such part.
    """
    key, value, _count = found
    at = 1 if typed[0].text.lower() == "not" else 0
    verb = typed[at].text.lower()
    if verb not in VERBS or (verb in verbs and verbs[verb] is None):
        return [Term(key, value, _written(typed))]
    meant = verbs.get(verb)
    own = Term(*meant, f"{meant[0]}:{meant[1]}") if meant else typed[at]
    return [*typed[:at], own, Term(key.removeprefix(NOT), value, _written(typed[at + 1 :]))]


def _written(words: Sequence[Word]) -> str:
    return " ".join(word.written for word in words)


def is_understood(typed: str) -> bool:
    """Return whether a text has a phrase that could mean a filter. Any word counts as a possible name of an agent."""
    parts = understood(list(words_in(typed)), _EVERY_KEY, lambda words: ("agent", words[0], 1), {})
    return any(isinstance(part, Term) for part in parts)


_EVERY_KEY = frozenset(("agent", "from", "is", "path", "to", "when"))


def _up_to_comma(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words up to the first one that ends with a comma, without this comma."""
    for number, word in enumerate(words):
        if word.is_plain and word.text.endswith(",") and len(word.text) > 1:
            return [*words[:number], replace(word, text=word.text[:-1])]
    return words


def _meant(words: Sequence[Word], names: Names) -> Found | None:
    return _phrase(words, names) or _negated(words, names)


def _negated(words: Sequence[Word], names: Names) -> Found | None:
    if not words[0].is_plain or words[0].text.lower() != "not" or len(words) < 2:
        return None
    found = _phrase(words[1:], names)
    if found is None or found[0] in ("from", "to"):
        return None
    key = found[0].removeprefix(NOT) if found[0].startswith(NOT) else NOT + found[0]
    return key, found[1], found[2] + 1


def _phrase(words: Sequence[Word], names: Names) -> Found | None:
    """Return the filter that the first words mean; None if they mean no filter."""
    plain = [word.text.lower() for word in words[:3] if word.is_plain]
    if not words[0].is_plain:
        return None
    for count in (3, 2, 1):
        meant = PHRASES.get(" ".join(plain[:count]))
        if meant and len(plain) >= count and all(word.is_plain for word in words[:count]):
            return *meant, count
    if plain[0] in VERBS and len(words) > 2 and words[1].is_plain and plain[1] == "by":
        found = _author(words[2:], names)
        return (*found[:2], found[2] + 2) if found else None
    if len(words) < 2 or words[1].key is not None:
        return None
    if plain[0] == "by":
        found = _author(words[1:], names)
        return (*found[:2], found[2] + 1) if found else None
    return _place_or_time(plain[0], words)


def _author(words: Sequence[Word], names: Names) -> Found | None:
    """Return the filter for the author whose name is at the start of `words`; None if there is none. A name in quotes
    is one word."""
    if words[0].key is not None:
        return None
    if words[0].is_quoted:
        return names([words[0].text])
    texts = []
    for word in words[:MOST_WORDS_OF_A_NAME]:
        if not word.is_plain:
            break
        texts.append(word.text)
    return names(texts)


def _place_or_time(first: str, words: Sequence[Word]) -> Found | None:
    second = words[1].text
    if first == "in" and len(second) > 1 and second.startswith("/"):
        return "path", second, 2
    if not words[1].is_plain:
        return None
    if first in ("since", "before"):
        return _edge(first, words[1:3])
    if first == "last" and (length := _length(words[1:])):
        return "when", length, 3
    if first == "older" and second.lower() == "than" and (length := _length(words[2:])):
        return f"{NOT}when", length, 4
    return None


def _edge(first: str, words: Sequence[Word]) -> Found | None:
    """Return the filter for a phrase such as “since 2026-01-31”; None if `words` do not begin with a day or time.

    `first` is the word before `words`: “since”, which means the filter `from`, or “before”, which means `to`.
    """
    second = words[0].text
    if _MOMENT.fullmatch(second):
        return "from" if first == "since" else "to", second, 2
    day = _day(second)
    if day is None or day == date.min:
        return None
    if len(words) > 1 and _TIME.fullmatch(words[1].written):
        return "from" if first == "since" else "to", f"{second}T{words[1].written:0>5}", 3
    return ("from", second, 2) if first == "since" else ("to", str(day - timedelta(days=1)), 2)


def _length(words: Sequence[Word]) -> str | None:
    """Return the length of time that the first two words name, such as 7d for “7 days” and 1w for “a week”; None if
    they name none."""
    if len(words) < 2 or not (words[0].is_plain and words[1].is_plain):
        return None
    count, unit = words[0].text.lower(), UNITS.get(words[1].text.lower())
    count = "1" if count in ONE else count
    return f"{count}{unit}" if unit and _COUNT.fullmatch(count) else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if is_date(text) else None
    except ValueError:
        return None

"""The text in which all detectors search, with facts that are cheap to compute and by which most searches can be
skipped."""

import re
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
BETWEEN_PAUSES = 500
"""The number of steps after which a search calls its `pause`, if it has one."""

Place = tuple[int, int]
"""A place in a text: [start, end) in code points."""

FIRST_WITHOUT_SPACES = "\u2e80"
"""From this character on, scripts (Chinese, Japanese, Korean) put no spaces between words."""

ALNUM_WITH_SPACES = "".join(filter(str.isalnum, map(chr, range(0x80, ord(FIRST_WITHOUT_SPACES)))))
"""The letters and digits outside of ASCII that continue a word."""


class Number(NamedTuple):
    """A stretch of digits and separators: its place [start, end), and the number of its digits."""

    start: int
    end: int
    digits: int


OPAQUE = "\x01"
"""A character that replaces each character of a masked value. Only patterns for words match it."""

_MASKED = re.compile(r"\[redacted(?::[a-z_]{1,20})?\]")
_ZEROS = "٠۰०０"
_OTHER_DIGIT = re.compile("[٠-٩۰-۹०-९０-９]")
_ASCII_DIGITS = {ord(zero) + digit: str(digit) for zero in _ZEROS for digit in range(10)} | {
    ord("－"): "-", ord("．"): ".", ord("　"): " ",
}  # fmt: skip
"""Maps digits of other scripts to those of ASCII, and separators of the same width to a hyphen, a dot or a space."""

_DIGIT = re.compile("[0-9]")
_DIGITS_ONLY = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
NUMBER_PART = "[0-9 ()./\\-\u00a0\u202f\u2011]"
_NUMBER = re.compile(f"[0-9](?={NUMBER_PART}{{6}}){NUMBER_PART}*[0-9]")
_AROUND = " ()./-\u00a0\u202f\u2011"
SHORTEST_LONG_WORD = 20
"""No key of a provider and no meaningful encoded text is shorter than this."""

_WORDS_ONLY = bytes(ord(" ") if byte < 128 and chr(byte).isspace() else ord("x") for byte in range(256))
_LONG_WORD = re.compile(f"[!-~](?<![!-~].)[!-~]{{{SHORTEST_LONG_WORD - 1},}}")
LETTERS_AND_DIGITS = re.compile("[A-Z](?<![0-9A-Za-z_].)[A-Z-]{0,5} ?[0-9][0-9]")
_BETWEEN = str.maketrans("", "", _AROUND)
FEWEST_DIGITS = 6
_NO_SECRET = (
    OPAQUE, "example", "placeholder", "redacted", "dummy", "your ", "your_", "your-", "changeme", "change me",
    "change_me", "change-me", "abcdefghijklm", "xxxx", "####", "...", "…", "***",
)  # fmt: skip
_COUNTED = re.compile(r"(.)\1{9}|(.{2,4})\2{4}|123456789012345", re.IGNORECASE)
"""Matches text that a random key does not contain: repetitions, or the digits in order."""


class TooMuch(Exception):
    """The search has used up all its steps, because the text has too much that looks like a `kind`."""

    def __init__(self, kind: str = "") -> None:
        super().__init__(kind)
        self.kind = kind


class fact(Generic[T]):  # noqa: N801 - it reads as a word where a fact is defined
    """A property that is computed once, without the lock of `functools.cached_property`."""

    # One thread searches a text, and most texts are so short that the lock would take a tenth of the search.
    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, text: Any, of: type) -> T:
        value = text.__dict__[self._name] = self._compute(text)
        return value


class Text:
    """A text to search. Each fact about it is computed when it is first needed."""

    def __init__(self, text: str, steps: float = inf, pause: Callable[[], None] | None = None) -> None:
        """Prepare a text that may be searched in at most `steps` steps. `pause` is called every BETWEEN_PAUSES
        steps."""
        self._steps, self._pause = steps, pause
        self._until = max(0, steps - BETWEEN_PAUSES)
        if "[redacted" in text:
            self._steps -= text.count("[redacted") // 2
            text = _MASKED.sub(lambda match: OPAQUE * len(match.group()), text)
        if not text.isascii() and _OTHER_DIGIT.search(text):
            self._steps -= len(text) // 20
            text = text.translate(_ASCII_DIGITS)
        self.text = text
        """The text with each masked value as one opaque word, so that masking creates no findings next to it. Digits of
        other scripts, and full-width digits, are replaced by those of ASCII."""

        self.low = self.text.replace("İ", "i").lower()
        """The text in lower case. Each character keeps its position: İ would become two characters, so it is replaced
        before."""

    def spend(self, steps: int) -> None:
        """Use up `steps` steps, of about a microsecond each. Raises TooMuch if too few are left."""
        self._steps -= steps
        if self._steps < self._until:
            if self._steps < 0:
                raise TooMuch
            self.rest()

    def rest(self) -> None:
        """Call the pause, and begin to count the steps towards the next one."""
        self._until = max(0, self._steps - BETWEEN_PAUSES)
        if self._pause:
            self._pause()

    def each(self, places: Iterable[T], steps: int) -> Iterator[T]:
        """Yield the places, and spend `steps` steps for each of them. Raises TooMuch, as `spend` does."""
        for place in places:
            self._steps -= steps
            if self._steps < self._until:
                self.spend(0)
            yield place

    @fact
    def is_ascii(self) -> bool:
        return self.text.isascii()

    @fact
    def digits(self) -> int:
        """The number of digits."""
        encoded = self.text.encode("utf-8", "replace")
        return len(encoded) - len(encoded.translate(None, b"0123456789"))

    @fact
    def digit_runs(self) -> int:
        """The number of stretches of digits."""
        if not self.digits:
            return 0
        return (b" " + self.text.encode("ascii", "replace").translate(_DIGITS_ONLY)).count(b" 0")

    @fact
    def digit_lines(self) -> str:
        """The lines that contain digits, in lower case. Only these lines can have a word that names a number."""
        if not self.digits:
            return ""
        return "\n".join(line for line in self.low.split("\n") if _DIGIT.search(line))

    @fact
    def long_words(self) -> list[Place]:
        """Stretches of at least SHORTEST_LONG_WORD characters of ASCII without white space, as in a key."""
        text, position = self.text, 0
        found: list[Place] = []
        if b"x" * SHORTEST_LONG_WORD not in text.encode("utf-8", "replace").translate(_WORDS_ONLY):
            return found  # most texts have no such word, and to see that so takes a fifth of the time
        for word in text.split():
            if len(word) >= SHORTEST_LONG_WORD:
                start = text.index(word, position)  # an earlier place would be inside a word that is as long
                position = start + len(word)
                if word.isascii() and word.isprintable():
                    found.append((start, position))
                elif len(word.encode("ascii", "ignore")) >= SHORTEST_LONG_WORD:
                    found += [match.span() for match in _LONG_WORD.finditer(text, start, position)]
        return found

    @fact
    def numbers(self) -> list[Number]:
        """Stretches of digits and separators with at least FEWEST_DIGITS digits."""
        if self.digits < FEWEST_DIGITS:
            return []
        found = []
        for match in _NUMBER.finditer(self.text):
            written = match.group()
            digits = len(written) if written.isdecimal() else len(written.translate(_BETWEEN))
            if digits >= FEWEST_DIGITS:
                found.append(Number(*match.span(), digits))
        return found

    @fact
    def has_letters_and_digits(self) -> bool:
        """Return whether digits follow capital letters somewhere in the text, as in `DE89` or `AB 12`."""
        return self.digits > 1 and LETTERS_AND_DIGITS.search(self.text) is not None

    def before(self, position: int) -> str:
        """Return the character before a position; "" at the beginning."""
        return self.text[position - 1] if position > 0 else ""

    def after(self, position: int) -> str:
        """Return the character at a position; "" at the end."""
        return self.text[position : position + 1]

    def stands_alone(self, start: int, end: int) -> bool:
        """Return whether no letter, digit or underscore is directly before or after a place.

        If the place is empty, only the character before it is examined.
        """
        return not (_is_word(self.before(start)) or (end > start and _is_word(self.after(end))))


Detector = Callable[[Text], Iterable[Place]]
"""A function that yields the places of one kind, in order and without overlaps. It takes time in proportion to the
text's length."""


def apart(places: Iterable[Place]) -> list[Place]:
    """Return places in order, without overlaps.

    If places overlap, the one that begins first is kept; if they begin together, the shortest.
    """
    kept: list[Place] = []
    for place in sorted(places):
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def is_placeholder(value: str) -> bool:
    """Return whether a value only takes the place of a secret: `<token>`, `${TOKEN}`, `***`, `AKIA…EXAMPLE`."""
    low = value.lower()
    return (
        low.startswith(("<", "[", "(", "{", "%", "$", "#"))
        or low.endswith(("}", ">"))
        or any(map(low.__contains__, _NO_SECRET))
        or (low != "" and not low.strip(low[0]))
    )


def is_random(value: str) -> bool:
    """Return whether a key may be random.

    It must have at least eight different characters. It must not be a placeholder, list the digits in order,
    repeat a character or a short group many times, or have letters of one case and no digits.
    """
    one_case = value.islower() or value.isupper()
    plain = one_case and not any(map(str.isdigit, value))
    return not plain and len(set(value)) >= 8 and not is_placeholder(value) and not _COUNTED.search(value)


def _is_word(character: str) -> bool:
    """Return whether a character continues a word.

    Letters of scripts without spaces between words do not: a number or key ends before them.
    """
    return character in {"_", OPAQUE} or (character.isalnum() and character < FIRST_WITHOUT_SPACES)

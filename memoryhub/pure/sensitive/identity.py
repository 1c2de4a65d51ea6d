"""National identity numbers. Each kind is found by its form, and by the check that its state defines."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memoryhub.pure.sensitive import checks
from memoryhub.pure.sensitive.text import ALNUM_WITH_SPACES, FEWEST_DIGITS, OPAQUE, Place, Text, apart

Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a number: how it is written (`shape`), its check, and the words that name it."""

    shape: str
    check: Check
    words: str = ""
    """One of these words must come before a number of this form, because the form alone is too common."""


_DIGITS_FIRST = (
    Form(r"\d{3}-\d\d-\d{4}", checks.us),
    Form(r"[1-478] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", checks.french),
    Form(r"\d\d\.?\d{3}\.?\d{3}(?:[ -]?[A-HJ-NP-TV-Z]|-?[a-hj-np-tv-z])", checks.spanish),
    Form(r"\d\d \d{3} \d{3} \d{3}", checks.german),
    Form(r"\d{3}\.\d{3}\.\d{3}-\d\d", checks.brazilian),
    Form(r"756\.?\d{4}\.?\d{4}\.?\d\d", checks.swiss),
    Form(r"\d{6}[-+]\d{4}", checks.swedish_or_finnish),
    Form(r"\d{6}(?:[A-FU-Ya-fu-y]\d{3}[0-9A-Ya-y]|[-+]\d{3}[A-Ya-y])", checks.finnish),
    Form(r"\d{6} ?\d{5}", checks.norwegian),
    Form(r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d", checks.belgian),
    Form(r"\d{17}[\dXx]", checks.chinese),
    Form(r"\d{6}-[1-8]\d{6}", checks.korean),
)
_LETTERS_FIRST = (
    Form(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?:\d{6}| \d\d \d\d \d\d )[A-D]", checks.uk),
    Form(r"[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]", checks.spanish),
    Form(r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", checks.italian),
    Form(r"[STFGM]\d{7}[A-Z]", checks.singaporean),
    Form(r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d", checks.mexican),
)
"""A number has at most one of these forms, and at most one of the forms above."""

_NAMED = (
    Form(r"\d{3}[ .-]?\d\d[ .-]?\d{4}", checks.us, "ssn|social security"),
    Form(r"9\d\d[ .-]?\d\d[ .-]?\d{4}", checks.us_taxpayer, "itin|individual taxpayer|tax id"),
    Form(r"\d\d ?\d{3} ?\d{3} ?\d{3}", checks.german_named, "steuer|idnr|id-nr|tin|tax id"),
    Form(r"\d\d ?\d{6} ?[A-Z] ?\d{3}", checks.german_pension, "rentenversicherung|sozialversicherung|rvnr|svnr"),
    Form(r"\d{4} ?\d{6}", checks.austrian, "sozialversicherung|svnr|sv-nummer"),
    Form(r"[A-CEGHJ-PR-TW-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]", checks.uk, "national insurance|nino|ni number"),
    Form(r"\d{3}[ -]?\d{3}[ -]?\d{4}", checks.british_patient, "nhs"),
    Form(r"\d{7,8}[ -]?[A-HJ-NP-TV-Z]", checks.spanish, "dni|nif"),
    Form(r"\d{7}[A-W][A-IW]?", checks.irish, "pps|ppsn"),
    Form(r"[1-478] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", checks.french, "nir|sécurité sociale"),
    Form(r"\d{11}|\d{3}[. ]\d{3}[. ]\d{3}[- ]\d\d", checks.brazilian, "cpf"),
    Form(r"\d{4}[ .]?\d\d[ .]?\d{3}|\d{3}[ .]\d{3}[ .]\d{3}", checks.dutch, "bsn|burgerservice|sofi"),
    Form(r"\d{11}", checks.polish, "pesel"),
    Form(r"\d{6}[- ]?\d{4}", checks.danish, "cpr"),
    Form(r"(?:\d\d)?\d{6}[-+]?\d{4}", checks.swedish, "personnummer|personal identity|samordningsnummer"),
    Form(r"\d{6} ?\d{5}", checks.norwegian, "fødselsnummer|fodselsnummer"),
    Form(r"\d\d[.]?\d\d[.]?\d\d[- ]?\d{3}[. ]?\d\d", checks.belgian, "rijksregister|registre national|niss|insz"),
    Form(r"\d{6}/?\d{3,4}", checks.czech, "rodné číslo|rodne cislo"),
    Form(r"\d{13}", checks.romanian, "cnp|cod numeric"),
    Form(r"\d{11}", checks.greek, "amka|αμκα"),
    Form(r"\d{4}[ -]?\d{4}[ -]?\d{4}", checks.japanese, "my number|mynumber|マイナンバー|個人番号"),
    Form(r"\d{4}[ -]?\d{4}[ -]?\d{4}", checks.indian, "aadhaar|aadhar|uidai|आधार"),
    Form(r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]", checks.by_form, "pan|permanent account"),
    Form(r"\d{6}[- ]?[1-8]\d{6}", checks.korean, "rrn|resident registration|주민등록번호|주민번호"),
    Form(r"\d{3}[ -]?\d{3}[ -]?\d{3}", checks.luhn, "sin|social insurance"),
    Form(r"\d{3} ?\d{3} ?\d{3}", checks.portuguese, "nif|contribuinte"),
    Form(r"\d{11}", checks.turkish, "tckn|tc kimlik|kimlik"),
    Form(r"\d{3}[ -]?\d{3}[ -]?\d{3}", checks.australian_tax, "tfn|tax file"),
    Form(r"[2-6]\d{3}[ -]?\d{5}[ -]?\d", checks.australian_patient, "medicare"),
    Form(r"[1-8][ -]?\d{4}[ -]?\d{5}[ -]?\d\d[ -]?\d", checks.thai, "thai|national id|บัตรประชาชน|ประจำตัวประชาชน"),
    Form(r"\d{13}", checks.south_african, "id number|sa id|south african"),
    Form(r"\d{11}", checks.indian, "nin|national identification"),
    Form(r"\d{1,2}\.?\d{3}\.?\d{3}-?[\dK]", checks.chilean, "rut|rol único"),
    Form(r"\d\d[- ]?\d{8}[- ]?\d", checks.argentinian, "cuit|cuil"),
)


_AS_WRITTEN = (checks.finnish, checks.swedish_or_finnish)
"""Checks that get a number with its separator, because the separator stands for the century."""

_BEFORE = f"[0-9A-Za-z_{OPAQUE}.+/-]"
"""The ASCII characters directly after which no number begins: it would continue a word or another number."""

_END = "(?![0-9A-Za-z_-])"


def _any_of(forms: Sequence[Form]) -> tuple[str, tuple[Check, ...]]:
    """Return one regular expression for all these forms, and the checks of its groups in the order of the groups.

    The expression has one group for each form. The group that matches ends where the number ends. The digits with which
    several forms begin are compared only once.
    """
    starts = {
        start: [form for form in forms if form.shape.startswith(start)] for start in (r"\d{6}", r"\d{3}", r"\d\d")
    }
    starts[""] = [form for form in forms if not form.shape.startswith(tuple(starts))]
    shapes = "|".join(
        f"{start}(?:{'|'.join(f'({form.shape[len(start) :]}){_END}' for form in some)})"
        for start, some in starts.items()
        if some
    )
    return shapes, tuple(form.check for some in starts.values() for form in some)


_DIGITS_SHAPE, _DIGITS_CHECKS = _any_of(_DIGITS_FIRST)
_LETTERS_SHAPE, _LETTERS_CHECKS = _any_of(_LETTERS_FIRST)
_BY_DIGITS = re.compile(f"[0-9](?<!{_BEFORE}.)(?<=(?={_DIGITS_SHAPE}).)", re.ASCII)
_AMONG_DIGITS = re.compile(
    f"[^{ALNUM_WITH_SPACES}{_BEFORE[1:]}(?:[0-9](?<=(?={_DIGITS_SHAPE}).)"
    "|[stfgmxyz][0-9]{7}[a-z]()|[xyz]-[0-9]{7}-?[a-z]()"
    "|[a-z]{6}[0-9]{2}[a-ehlmprst][0-9]{2}[a-z][0-9]{3}[a-z]())",
    re.ASCII,
)
"""The same forms, but with the character before the number. This is faster where most characters are digits. Numbers
that begin with letters in lower case are also matched, as in _SMALL."""

FEW = 8
"""A text has few digits if it has at least this many other characters for each digit."""

_BY_LETTERS = re.compile(f"[A-Z](?<!{_BEFORE}.)(?=[A-Z-]{{0,5}} ?[0-9]{{2}})(?<=(?={_LETTERS_SHAPE}).)", re.ASCII)
LONGEST_SHORT_NAME = 4
"""Names of numbers up to this length count only as whole words: `SIN`, but not `since`."""

AFTER_NAME = 26
"""How many characters after its name a number may begin, as in `SSN of the tenant: …`."""


def _name(name: str) -> re.Pattern[str]:
    """Return a pattern for the name of a number. It matches only if a digit follows in the same line, with at most
    AFTER_NAME characters between the name and the digit."""
    short = len(name) <= LONGEST_SHORT_NAME
    letter, name = r"[^\W\d_]", re.escape(name)
    whole = f"(?!{letter})" if short else ""
    return re.compile(f"{name}(?<!{letter}{name}){whole}(?=[^\\n]{{0,{AFTER_NAME}}}[0-9])")


def _named_number(form: Form) -> re.Pattern[str]:
    """Return a pattern for a number and the character before it. The last group is the number."""
    return re.compile(f"[^{_BEFORE[1:]}((?i:{form.shape}){_END})", re.ASCII)


_LETTERS_ONLY = bytes(byte if byte in b"abcdefghijklmnopqrstuvwxyz" else ord(" ") for byte in range(256))
START = 3
"""With how many of its first letters each word is compared, before a whole name is searched."""


def _starts(written: str) -> list[bytes]:
    """Return the first START letters of each word of `written`, a text in lower case. A shorter word is returned whole.

    A character outside of ASCII ends a word. If the text has such a character, the last item is empty.
    """
    encoded = written.encode("utf-8", "surrogatepass")
    starts = [word[:START] for word in encoded.translate(_LETTERS_ONLY).split()]
    return starts if encoded.isascii() else [*starts, b""]


def _starts_of_name(name: str) -> frozenset[bytes]:
    """Return those items of `_starts(name)` that are also in `_starts(text)` of every text that contains the name."""
    first, *others = _starts(name)
    kept = (start for start in others if len(start) in (0, START) or not name.endswith(start.decode()))
    return frozenset([first, *kept])


LONGEST_NUMBER = 30
_BY_NAME = [
    (_starts_of_name(name), _name(name), number, form.check)
    for form in _NAMED
    for number in (_named_number(form),)
    for name in form.words.split("|")
]

FEWEST_DIGITS_OF_ID = 4
"""An Indian PAN has only four digits; every other form has at least six."""

_LETTERS_AND_DIGITS = re.compile("[a-z]{2} ?[0-9]{2}")
"""Matches every text in lower case that has such an identity number but fewer than six digits."""
_SMALL = re.compile(
    "[0-9](?<=[a-z-].)(?:"
    f"(?<=[xyzstfgm].)(?<!{_BEFORE}[xyzstfgm].)[0-9]{{6}}[a-z]()|(?<=[xyz]-.)(?<!{_BEFORE}[xyz]-.)[0-9]{{6}}-?[a-z]()"
    f"|(?<=[a-z]{{6}}.)(?<!{_BEFORE}[a-z]{{6}}.)[0-9][a-ehlmprst][0-9]{{2}}[a-z][0-9]{{3}}[a-z]())"
)
"""Matches numbers that begin with letters in lower case; a match begins at the first digit. Their check letter
distinguishes these numbers from names."""

_LETTERS_BEFORE = (1, 2, 6)
"""For each group of the pattern above, how many characters of the number are before its first digit."""

_SMALL_FORMS = [(re.compile(form.shape.lower() + _END, re.ASCII), form.check) for form in _LETTERS_FIRST[1:4]]
_NOT_COUNTED = str.maketrans("", "", " .-+/\u00a0\u202f")


def national_ids(text: Text) -> Iterator[Place]:
    """Yield the places of numbers that pass their check.

    A number whose form is too common counts only after a word that names the kind of number.
    """
    tried: set[tuple[Place, Check]] = set()
    places = [*_by_digits(text, tried)]
    text.rest()
    if text.has_letters_and_digits:
        places += _by_letters(text)
    places += _by_name(text, tried)
    return iter(apart(places))


def _by_digits(text: Text, tried: set[tuple[Place, Check]]) -> Iterator[Place]:
    """Yield the places of numbers that begin with a digit or with letters in lower case. Add each checked place to
    `tried`."""
    text.spend(text.digit_runs // 5 + text.digits // 40)
    few = text.digits * FEW < len(text.text)
    pattern, searched = (_BY_DIGITS, text.text) if few else (_AMONG_DIGITS, "\n" + text.text)
    shifted = len(searched) - len(text.text)
    for number in text.each(pattern.finditer(searched), 2):
        start, group = number.start(), number.lastindex or 0
        if group > len(_DIGITS_CHECKS):
            yield from _in_small_letters(text, start)
            continue
        place, check = (start, number.end(group) - shifted), _DIGITS_CHECKS[group - 1]
        tried.add((place, check))
        if _is_right(text, *place, check):
            yield place
    for digits in text.each(_SMALL.finditer(text.text), 3) if few else ():
        yield from _in_small_letters(text, digits.start() - _LETTERS_BEFORE[(digits.lastindex or 0) - 1])


def _in_small_letters(text: Text, start: int) -> Iterator[Place]:
    for pattern, check in _SMALL_FORMS:
        match = pattern.match(text.text, start)
        if match and _is_right(text, *match.span(), check):
            yield match.span()


def _by_letters(text: Text) -> Iterator[Place]:
    for number in text.each(_BY_LETTERS.finditer(text.text), 3):
        group = number.lastindex or 0
        if _is_right(text, number.start(), number.end(group), _LETTERS_CHECKS[group - 1]):
            yield number.start(), number.end(group)


def _by_name(text: Text, tried: set[tuple[Place, Check]]) -> Iterator[Place]:
    """Yield the places of numbers after their names, except places that were already checked (`tried`)."""
    if text.digits < FEWEST_DIGITS and not _LETTERS_AND_DIGITS.search(text.digit_lines):
        return
    text.spend(text.low.count("\n") // 4 + len(text.digit_lines) // 60)
    starts = {*_starts(text.digit_lines)}
    for needed, pattern, number, check in _BY_NAME:
        if needed <= starts:
            for place in _after_name(text, pattern, number):
                again = (place, check) in tried
                text.spend(1 if again else 3)
                if not again and _is_right(text, *place, check):
                    yield place


def _after_name(text: Text, name: re.Pattern[str], number: re.Pattern[str]) -> Iterator[Place]:
    """Yield the places of numbers that begin at most AFTER_NAME characters after their name, in the same line."""
    position = 0
    for match in text.each(name.finditer(text.low), 2):
        position, last = max(position, match.end()), match.end() + AFTER_NAME
        end = text.text.find("\n", position, last + LONGEST_NUMBER)
        end = end if end >= 0 else last + LONGEST_NUMBER
        while position < last and (found := number.search(text.text, position - 1, end)) and found.start(1) < last:
            yield found.span(1)
            position = found.start(1) + 1


def _is_right(text: Text, start: int, end: int, check: Check) -> bool:
    """Return whether the number at [start, end) passes its check, and no letter or digit is directly before the
    number."""
    if not text.is_ascii:
        text.spend(2)
        if not text.stands_alone(start, start):
            return False
    return check(_bare(text.text[start:end], check))


def _bare(written: str, check: Check) -> str:
    """Return a number in upper case. Separators are removed, unless the check is one of _AS_WRITTEN."""
    if written.isdecimal():
        return written
    return written.upper() if check in _AS_WRITTEN else written.upper().translate(_NOT_COUNTED)

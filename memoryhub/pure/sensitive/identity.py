"""National identity numbers. Each is found by its form, and by the check that the state defines for it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memoryhub.pure.sensitive import checks
from memoryhub.pure.sensitive.text import LETTERS_AND_DIGITS, Place, Text, apart


@dataclass(frozen=True, slots=True)
class Form:
    """How a number is written, and the check for the number without its separators."""

    shape: str
    check: Callable[[str], bool]
    words: str = ""
    """One of these words must come before a number whose form alone is too common."""


_DIGITS_FIRST = (
    Form(r"\d{3}-\d\d-\d{4}", checks.us),
    Form(r"[1-478] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", checks.french),
    Form(r"\d\d\.?\d{3}\.?\d{3}(?:[ -]?[A-HJ-NP-TV-Z]|-?[a-hj-np-tv-z])", checks.spanish),
    Form(r"\d\d \d{3} \d{3} \d{3}", checks.german),
    Form(r"\d{3}\.\d{3}\.\d{3}-\d\d", checks.brazilian),
    Form(r"756\.?\d{4}\.?\d{4}\.?\d\d", checks.swiss),
    Form(r"\d{6}[-+]\d{4}", checks.swedish),
    Form(r"\d{6}[-+A-FU-Ya-fu-y]\d{3}[0-9A-Ya-y]", checks.finnish),
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


Checked = tuple[re.Pattern[str], Callable[[str], bool]]
_NUMBER_GOES_ON = {"-", ".", "+", "/"}
_END = "(?![0-9A-Za-z_])"


def _pattern(form: Form) -> re.Pattern[str]:
    return re.compile(f"(?:{form.shape}){_END}", re.ASCII | (re.IGNORECASE if form.words else 0))


_BY_DIGITS = [(_pattern(form), form.check) for form in _DIGITS_FIRST]
_ANY_BY_DIGITS = re.compile(
    "(?<![0-9])(?=" + "|".join(f"(?:{form.shape}){_END}" for form in _DIGITS_FIRST) + ")[0-9]", re.ASCII
)
"""The first digit of a number that may have one of these forms."""
LONGEST_FORM = 32
"""More characters than a number of these forms has, with the one behind it."""
_BY_LETTERS = [(_pattern(form), form.check) for form in _LETTERS_FIRST]
LONGEST_SHORT_NAME = 4
"""Names up to this length count only as whole words: `SIN`, not `since`."""

AFTER_NAME = 26
"""How many characters after its name a number may begin, as in `SSN of the tenant: …`."""


def _name(name: str) -> re.Pattern[str]:
    """Return a pattern for a name that is followed by a digit soon. The pattern begins with the name, because that is
    fast to search."""
    short = len(name) <= LONGEST_SHORT_NAME
    letter, name = r"[^\W\d_]", re.escape(name)
    whole = f"(?!{letter})" if short else ""
    return re.compile(f"{name}(?<!{letter}{name}){whole}(?=[^\\n]{{0,{AFTER_NAME}}}[0-9])")


_BY_NAME = [(name, _name(name), (_pattern(form), form.check)) for form in _NAMED for name in form.words.split("|")]


FEWEST_DIGITS_OF_ID = 4
"""An Indian PAN has only four digits; every other form has at least six."""
FEWEST_NAMED_DIGITS = 9
SHORTEST_NUMBER = 8
"""The least characters, from its first digit, of a number without a name."""

_NUMBER_AFTER_NAME = re.compile("(?<![0-9A-Za-z])(?:[0-9](?=(?:[ ./-]?[0-9]){5})|[A-Za-z](?=[A-Za-z]{1,4} ?[0-9]{2}))")
"""The first character of a number with a name: each form begins with six digits, or with letters and digits."""
LOOKED_AHEAD = 12
"""How many characters the pattern above looks ahead."""
_LETTER_FOLLOWS = re.compile("[ -]?[A-Z]|-?[a-z]")
_SMALL = re.compile(
    r"[0-9](?:(?<=[xyzstfgm].)[0-9]{6}[a-z]|(?<=[xyz]-.)[0-9]{6}-?[a-z]"
    r"|(?<=[a-z]{6}.)[0-9][a-ehlmprst][0-9]{2}[a-z][0-9]{3}[a-z])"
)
"""Numbers that begin with letters, written in lower case, from the first digit on. Their check letter distinguishes
them from other names."""

_SMALL_FORMS = [(re.compile(form.shape.lower() + _END, re.ASCII), form.check) for form in _LETTERS_FIRST[1:4]]
_FINNISH = re.compile(r"[0-9](?<![0-9].)[0-9]{5}[A-FU-Ya-fu-y][0-9]{3}[0-9A-Ya-y]" + _END)
"""A number with a letter for the century, which therefore is not a number with separators."""

_NOT_COUNTED = str.maketrans("", "", " .-+/\u00a0\u202f")


def national_ids(text: Text) -> Iterator[Place]:
    """Yield the places of numbers that pass their check. A number of a common form counts only after a word that names
    it."""
    places = [*_by_digits(text)] if text.numbers else []
    if text.has_letters_and_digits:
        places += _by_letters(text)
    places += _by_small_letters(text)
    places += _by_name(text)
    return iter(apart(places))


def _by_digits(text: Text) -> Iterator[Place]:
    for number in text.numbers:
        # With fewer digits a letter must follow; otherwise dates would be found.
        if number.digits < FEWEST_NAMED_DIGITS and not _LETTER_FOLLOWS.match(text.text, number.end):
            continue
        last = max(number.end - SHORTEST_NUMBER + 1, number.start + 1)
        for group in text.each(_ANY_BY_DIGITS.finditer(text.text, number.start, last + LONGEST_FORM), 5):
            if group.start() < last:
                yield from _first_right(text, group.start(), _BY_DIGITS)


def _by_letters(text: Text) -> Iterator[Place]:
    position = 0
    while candidate := LETTERS_AND_DIGITS.search(text.text, position):
        text.spend(5)
        position = candidate.start() + 1
        yield from _first_right(text, candidate.start(), _BY_LETTERS)


def _by_small_letters(text: Text) -> Iterator[Place]:
    if _SMALL.search(text.digit_lines):
        for digits in text.each(_SMALL.finditer(text.text), 8):
            for before in (1, 2, 6):
                yield from _first_right(text, max(digits.start() - before, 0), _SMALL_FORMS)
    if _FINNISH.search(text.digit_lines):
        for finnish in text.each(_FINNISH.finditer(text.text), 5):
            yield from _first_right(text, finnish.start(), [(_FINNISH, checks.finnish)])


def _by_name(text: Text) -> Iterator[Place]:
    for name, pattern, form in _BY_NAME:
        if name in text.digit_lines:
            for match in text.each(pattern.finditer(text.low), 5):
                yield from _after_name(text, match.end(), form)


def _after_name(text: Text, end: int, form: Checked) -> Iterator[Place]:
    line_end = text.text.find("\n", end, end + AFTER_NAME)
    last = line_end if line_end >= 0 else end + AFTER_NAME
    for group in _NUMBER_AFTER_NAME.finditer(text.text, end, last + LOOKED_AHEAD):
        if group.start() < last:
            text.spend(8)
            yield from _first_right(text, group.start(), [form])


def _first_right(text: Text, start: int, forms: list[Checked]) -> Iterator[Place]:
    """Yield at most one place: the place of the number that begins at `start`, if it has one of the forms and passes
    its check."""
    if not text.stands_alone(start, start) or text.before(start) in _NUMBER_GOES_ON:
        return
    for pattern, check in forms:
        match = pattern.match(text.text, start)
        if match and text.after(match.end()) != "-" and check(_bare(match.group(), check)):
            yield match.span()
            return


def _bare(written: str, check: Callable[[str], bool]) -> str:
    """Return a number without separators. A Finnish number keeps its separator, which stands for the century."""
    return written.upper() if check is checks.finnish else written.upper().translate(_NOT_COUNTED)

"""Numbers that a state gives to a person, each by its form and the check that the state defines."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from memoryhub.sensitive_text import LETTERS_AND_DIGITS, Place, Text, apart

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_LETTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
         10, 22, 25, 24, 23),
        strict=True,
    )
)  # fmt: skip
"""What letters and digits at odd places of an Italian codice fiscale count."""

_VERHOEFF_STEPS = [
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
]


def _weighted(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _six_digit_date(digits: str, order: str) -> bool:
    """Whether six digits are a day of either century, written `ymd` or `dmy`."""
    parts = {letter: int(digits[at * 2 : at * 2 + 2]) for at, letter in enumerate(order)}
    return any(_is_date(century + parts["y"], parts["m"], parts["d"]) for century in (1900, 2000))


def _us(value: str) -> bool:
    return not (value[:3] in {"000", "666"} or value[0] == "9" or value[3:5] == "00" or value[5:] == "0000")


def _uk(value: str) -> bool:
    return value[:2] not in {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"}


def _french(value: str) -> bool:
    number = int(value[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(value[13:]) and (1 <= int(value[3:5]) <= 12 or int(value[3:5]) >= 20)


def _spanish(value: str) -> bool:
    number = value[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return value[-1] == _DNI_LETTERS[int(number) % 23]


def _german(value: str) -> bool:
    counts = sorted(value[:10].count(digit) for digit in set(value[:10]))
    rest = 10
    for digit in value[:10]:
        rest = ((int(digit) + rest) % 10 or 10) * 2 % 11
    return value[0] != "0" and counts[-1] in {2, 3} and counts[-2] == 1 and (11 - rest) % 10 == int(value[10])


def _italian(value: str) -> bool:
    total = sum(_ODD[letter] for letter in value[:15:2])
    total += sum(int(letter) if letter.isdigit() else ord(letter) - ord("A") for letter in value[1:15:2])
    return chr(ord("A") + total % 26) == value[15]


def _brazilian(value: str) -> bool:
    if len(set(value)) == 1:
        return False
    first = _weighted(value[:9], tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighted(value[:10], tuple(range(11, 1, -1))) * 10 % 11 % 10
    return value[9:] == f"{first}{second}"


def _dutch(value: str) -> bool:
    return int(value) > 0 and _weighted(value.zfill(9), (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _polish(value: str) -> bool:
    month = int(value[2:4]) % 20
    check = -_weighted(value[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10
    return 1 <= month <= 12 and 1 <= int(value[4:6]) <= 31 and check == int(value[10])


def _swiss(value: str) -> bool:
    return -_weighted(value[:12], (1, 3) * 6) % 10 == int(value[12])


def _luhn(value: str) -> bool:
    doubled = (int(digit) * (2 - at % 2) for at, digit in enumerate(value[:-1][::-1]))
    return -sum(number // 10 + number % 10 for number in doubled) % 10 == int(value[-1])


def _swedish(value: str) -> bool:
    return _six_digit_date(value[:6], "ymd") and _luhn(value)


def _finnish(value: str) -> bool:
    number = int(value[:6] + value[7:10])
    return _six_digit_date(value[:6], "dmy") and value[10] == _HETU_LETTERS[number % 31]


def _norwegian(value: str) -> bool:
    first = -_weighted(value[:9], (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11
    second = -_weighted(value[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return _six_digit_date(value[:6], "dmy") and value[9:] == f"{first}{second}"


def _danish(value: str) -> bool:
    return _six_digit_date(value[:6], "dmy")


def _belgian(value: str) -> bool:
    check = int(value[9:])
    return any(97 - int(century + value[:9]) % 97 == check for century in ("", "2")) and int(value[2:4]) <= 12


def _chinese(value: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    check = "10X98765432"[_weighted(value[:17], weights) % 11]
    return check == value[17] and _is_date(int(value[6:10]), int(value[10:12]), int(value[12:14]))


def _korean(value: str) -> bool:
    return _six_digit_date(value[:6], "ymd") and value[6] in "12345678"


def _japanese(value: str) -> bool:
    rest = _weighted(value[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return int(value[11]) == (0 if rest <= 1 else 11 - rest)


def _indian(value: str) -> bool:
    """Verhoeff's check: a product in the group of the symmetries of a pentagon."""
    check = 0
    for at, digit in enumerate(reversed(value)):
        check = _turned(check, int(_VERHOEFF_STEPS[at % 8][int(digit)]))
    return value[0] not in "01" and check == 0


def _turned(one: int, other: int) -> int:
    if one < 5:
        return (one + other) % 5 if other < 5 else 5 + (one + other - 5) % 5
    return 5 + (one - 5 - other) % 5 if other < 5 else (one - other) % 5


def _portuguese(value: str) -> bool:
    rest = _weighted(value[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return int(value[8]) == (0 if rest < 2 else 11 - rest)


def _turkish(value: str) -> bool:
    odd, even = sum(map(int, value[0:9:2])), sum(map(int, value[1:8:2]))
    return (
        value[0] != "0" and (odd * 7 - even) % 10 == int(value[9]) and sum(map(int, value[:10])) % 10 == int(value[10])
    )


def _singaporean(value: str) -> bool:
    rest = (_weighted(value[1:8], (2, 7, 6, 5, 4, 3, 2)) + (4 if value[0] in "TG" else 0)) % 11
    return value[8] == ("JZIHGFEDCBA" if value[0] in "ST" else "XWUTRQPNMLK")[rest]


@dataclass(frozen=True, slots=True)
class Form:
    """How a number is written, and what has to be true of it without its separators."""

    shape: str
    check: Callable[[str], bool]
    words: str = ""
    """One of them must stand before a number whose form is too common."""


_DIGITS_FIRST = (
    Form(r"\d{3}-\d\d-\d{4}", _us),
    Form(r"[1-478] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", _french),
    Form(r"\d\d\.?\d{3}\.?\d{3}[ -]?[A-HJ-NP-TV-Z]", _spanish),
    Form(r"\d\d \d{3} \d{3} \d{3}", _german),
    Form(r"\d{3}\.\d{3}\.\d{3}-\d\d", _brazilian),
    Form(r"756\.?\d{4}\.?\d{4}\.?\d\d", _swiss),
    Form(r"\d{6}[-+]\d{4}", _swedish),
    Form(r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]", _finnish),
    Form(r"\d{6} ?\d{5}", _norwegian),
    Form(r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d", _belgian),
    Form(r"\d{17}[\dXx]", _chinese),
    Form(r"\d{6}-[1-8]\d{6}", _korean),
)
_LETTERS_FIRST = (
    Form(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?:\d{6}| \d\d \d\d \d\d )[A-D]", _uk),
    Form(r"[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]", _spanish),
    Form(r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", _italian),
    Form(r"[STFG]\d{7}[A-Z]", _singaporean),
)
_NAMED = (
    Form(r"\d{3} ?\d\d ?\d{4}", _us, "ssn|social security|itin"),
    Form(r"\d{11}", _german, "steuer|idnr|id-nr|tin|tax id"),
    Form(r"\d{11}", _brazilian, "cpf"),
    Form(r"\d{4}[ .]?\d\d[ .]?\d{3}|\d{3}[ .]\d{3}[ .]\d{3}", _dutch, "bsn|burgerservice|sofi"),
    Form(r"\d{11}", _polish, "pesel"),
    Form(r"\d{6}-?\d{4}", _danish, "cpr"),
    Form(r"\d{4}[ -]?\d{4}[ -]?\d{4}", _japanese, "my number|mynumber|マイナンバー|個人番号"),
    Form(r"\d{4}[ -]?\d{4}[ -]?\d{4}", _indian, "aadhaar|aadhar|uidai|आधार"),
    Form(r"\d{3}[ -]?\d{3}[ -]?\d{3}", _luhn, "sin|social insurance"),
    Form(r"\d{3} ?\d{3} ?\d{3}", _portuguese, "nif|contribuinte"),
    Form(r"\d{11}", _turkish, "tckn|tc kimlik|kimlik"),
)


Checked = tuple[re.Pattern[str], Callable[[str], bool]]
_NUMBER_GOES_ON = {"-", ".", "+", "/"}
_END = "(?![0-9A-Za-z_])"


def _pattern(form: Form) -> re.Pattern[str]:
    return re.compile(f"(?:{form.shape}){_END}", re.ASCII)


_BY_DIGITS = [(_pattern(form), form.check) for form in _DIGITS_FIRST]
_ANY_BY_DIGITS = re.compile("|".join(f"(?:{form.shape}){_END}" for form in _DIGITS_FIRST), re.ASCII)
_BY_LETTERS = [(_pattern(form), form.check) for form in _LETTERS_FIRST]
_BY_NAME = [(name, (_pattern(form), form.check)) for form in _NAMED for name in form.words.split("|")]
LONGEST_SHORT_NAME = 4
"""So short a name is one only as a whole word: `SIN`, not `since`."""

FEWEST_NAMED_DIGITS = 9
SHORTEST_NUMBER = 8
"""Characters from its first digit that a number without a name has at least."""

_GROUP = re.compile("(?<![0-9])[0-9]")
_LETTER_FOLLOWS = re.compile("[ -]?[A-Z]")
_NOT_COUNTED = str.maketrans("", "", " .-+\u00a0\u202f")
AFTER_NAME = 26
"""How far after its name a number may begin, as in `SSN of the tenant: …`."""


def national_ids(text: Text) -> Iterator[Place]:
    """The numbers that pass their check; one whose form is common counts only after a word that names it."""
    places = [*_by_digits(text)] if text.numbers else []
    if text.has_letters_and_digits:
        places += _by_letters(text)
    if any(number.digits >= FEWEST_NAMED_DIGITS for number in text.numbers):
        places += _by_name(text)
    return iter(apart(places))


def _by_digits(text: Text) -> Iterator[Place]:
    for number in text.numbers:
        # With fewer digits only letters that follow make a number: a date is none.
        if number.digits < FEWEST_NAMED_DIGITS and not _LETTER_FOLLOWS.match(text.text, number.end):
            continue
        for group in _GROUP.finditer(text.text, number.start, max(number.end - SHORTEST_NUMBER + 1, number.start + 1)):
            if _ANY_BY_DIGITS.match(text.text, group.start()):
                yield from _first_right(text, group.start(), _BY_DIGITS)


def _by_letters(text: Text) -> Iterator[Place]:
    position = 0
    while candidate := LETTERS_AND_DIGITS.search(text.text, position):
        position = candidate.start() + 1
        yield from _first_right(text, candidate.start(), _BY_LETTERS)


def _by_name(text: Text) -> Iterator[Place]:
    for name, form in _BY_NAME:
        position = text.low.find(name)
        while position >= 0:
            end = position + len(name)
            if not text.before(position).isalpha() and (
                len(name) > LONGEST_SHORT_NAME or not text.after(end).isalpha()
            ):
                yield from _after_name(text, end, form)
            position = text.low.find(name, end)


def _after_name(text: Text, end: int, form: Checked) -> Iterator[Place]:
    line_end = text.text.find("\n", end, end + AFTER_NAME)
    for group in _GROUP.finditer(text.text, end, line_end if line_end >= 0 else min(end + AFTER_NAME, len(text.text))):
        yield from _first_right(text, group.start(), [form])


def _first_right(text: Text, start: int, forms: list[Checked]) -> Iterator[Place]:
    """The place that begins here and has a form whose check it passes, if there is one."""
    if not text.stands_alone(start, start) or text.before(start) in _NUMBER_GOES_ON:
        return
    for pattern, check in forms:
        match = pattern.match(text.text, start)
        if match and text.after(match.end()) != "-" and check(_bare(match.group(), check)):
            yield match.span()
            return


def _bare(written: str, check: Callable[[str], bool]) -> str:
    """Without separators, but a Finn's, which says the century."""
    return written.upper() if check is _finnish else written.upper().translate(_NOT_COUNTED)

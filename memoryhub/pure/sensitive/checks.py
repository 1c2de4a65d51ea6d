"""Checks of national identity numbers, as each state defines them. Each function checks one kind of number."""

from datetime import date
from operator import mul

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
"""The values of letters and digits at odd positions of an Italian codice fiscale."""

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

_DAYS = frozenset(f"{date.fromordinal(date(2000, 1, 1).toordinal() + day):%m%d}" for day in range(366))
"""Month and day of each day of a leap year."""

_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
"""For each digit, the sum of the digits of twice this digit, as in Luhn's method: 5 for 7, because twice 7 is 14."""

_BRAZILIAN = tuple(range(11, 1, -1))


def weighted(digits: str, weights: tuple[int, ...]) -> int:
    total: int = sum(map(mul, digits.encode(), weights))
    return total - ord("0") * sum(weights[: len(digits)])


def is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def six_digit_date(digits: str, order: str) -> bool:
    """Return whether six digits can be a date without its century. `order` is `ymd` or `dmy`."""
    year, day = (digits[:2], digits[2:6]) if order == "ymd" else (digits[4:6], digits[2:4] + digits[:2])
    return day in _DAYS and (day != "0229" or int(year) % 4 == 0)


def us(value: str) -> bool:
    """Check a social security number. Numbers that begin with 9 are refused: they are taxpayer numbers."""
    return not (value[:3] in {"000", "666"} or value[0] == "9" or value[3:5] == "00" or value[5:] == "0000")


def uk(value: str) -> bool:
    return value[:2] not in {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"}


def french(value: str) -> bool:
    number = int(value[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(value[13:]) and (1 <= int(value[3:5]) <= 12 or int(value[3:5]) >= 20)


def spanish(value: str) -> bool:
    number = value[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return value[-1] == _DNI_LETTERS[int(number) % 23]


def german(value: str) -> bool:
    """Check a tax number. Of its first ten digits, one occurs two or three times; no other occurs twice."""
    counts = sorted(value[:10].count(digit) for digit in set(value[:10]))
    return counts[-1] in {2, 3} and counts[-2] == 1 and german_named(value)


def german_named(value: str) -> bool:
    """Check only the check digit. This is for a number that is called a tax number by a word before it."""
    rest = 10
    for digit in value[:10]:
        rest = ((int(digit) + rest) % 10 or 10) * 2 % 11
    return value[0] != "0" and (11 - rest) % 10 == int(value[10])


def italian(value: str) -> bool:
    total = sum(_ODD[letter] for letter in value[:15:2])
    total += sum(int(letter) if letter.isdigit() else ord(letter) - ord("A") for letter in value[1:15:2])
    return chr(ord("A") + total % 26) == value[15]


def brazilian(value: str) -> bool:
    if weighted(value[:9], _BRAZILIAN[1:]) * 10 % 11 % 10 != int(value[9]) or len(set(value)) == 1:
        return False
    return weighted(value[:10], _BRAZILIAN) * 10 % 11 % 10 == int(value[10])


def dutch(value: str) -> bool:
    return int(value) > 0 and weighted(value.zfill(9), (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def polish(value: str) -> bool:
    month = int(value[2:4]) % 20
    check = -weighted(value[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10
    return 1 <= month <= 12 and 1 <= int(value[4:6]) <= 31 and check == int(value[10])


def swiss(value: str) -> bool:
    return -weighted(value[:12], (1, 3) * 6) % 10 == int(value[12])


def luhn(value: str) -> bool:
    """Return whether the last digit is the right check digit by Luhn's method."""
    digits = value.encode()[::-1]
    return (sum(digits[::2]) + sum(digits[1::2].translate(_DOUBLED)) - ord("0") * len(digits)) % 10 == 0


def swedish(value: str) -> bool:
    """Check a number with or without the century."""
    short = value[-10:]
    return six_digit_date(short[:6], "ymd") and luhn(short)


def finnish(value: str) -> bool:
    number = int(value[:6] + value[7:10])
    return six_digit_date(value[:6], "dmy") and value[10] == _HETU_LETTERS[number % 31]


def swedish_or_finnish(value: str) -> bool:
    """Check a number with its separator. Both states write their numbers in this form."""
    return swedish(value[:6] + value[7:]) or finnish(value)


def norwegian(value: str) -> bool:
    if not six_digit_date(value[:6], "dmy"):
        return False
    first = -weighted(value[:9], (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11
    second = -weighted(value[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return value[9:] == f"{first}{second}"


def danish(value: str) -> bool:
    return six_digit_date(value[:6], "dmy")


def belgian(value: str) -> bool:
    check = int(value[9:])
    return any(97 - int(century + value[:9]) % 97 == check for century in ("", "2")) and int(value[2:4]) <= 12


def chinese(value: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    check = "10X98765432"[weighted(value[:17], weights) % 11]
    return check == value[17] and is_date(int(value[6:10]), int(value[10:12]), int(value[12:14]))


def korean(value: str) -> bool:
    return six_digit_date(value[:6], "ymd") and value[6] in "12345678"


def japanese(value: str) -> bool:
    rest = weighted(value[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return int(value[11]) == (0 if rest <= 1 else 11 - rest)


def indian(value: str) -> bool:
    """Check a number by Verhoeff's method, a product in the symmetry group of a pentagon."""
    check = 0
    for at, digit in enumerate(reversed(value)):
        check = _turned(check, int(_VERHOEFF_STEPS[at % 8][int(digit)]))
    return value[0] not in "01" and check == 0


def _turned(one: int, other: int) -> int:
    if one < 5:
        return (one + other) % 5 if other < 5 else 5 + (one + other - 5) % 5
    return 5 + (one - 5 - other) % 5 if other < 5 else (one - other) % 5


def portuguese(value: str) -> bool:
    rest = weighted(value[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return int(value[8]) == (0 if rest < 2 else 11 - rest)


def turkish(value: str) -> bool:
    odd, even = sum(map(int, value[0:9:2])), sum(map(int, value[1:8:2]))
    return (
        value[0] != "0" and (odd * 7 - even) % 10 == int(value[9]) and sum(map(int, value[:10])) % 10 == int(value[10])
    )


def singaporean(value: str) -> bool:
    rest = (weighted(value[1:8], (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(value[0], 0)) % 11
    letters = "JZIHGFEDCBA" if value[0] in "ST" else "XWUTRQPNJLK" if value[0] == "M" else "XWUTRQPNMLK"
    return value[8] == letters[rest]


def us_taxpayer(value: str) -> bool:
    group = int(value[3:5])
    return value[0] == "9" and (50 <= group <= 65 or 70 <= group <= 88 or (90 <= group <= 99 and group != 93))


def british_patient(value: str) -> bool:
    check = -weighted(value[:9], tuple(range(10, 1, -1))) % 11
    return check == int(value[9]) and len(set(value)) > 1


def irish(value: str) -> bool:
    total = weighted(value[:7], (8, 7, 6, 5, 4, 3, 2))
    total += 9 * (ord(value[8]) - ord("A") + 1) if value[8:9].isalpha() and value[8] != "W" else 0
    return value[7] == "WABCDEFGHIJKLMNOPQRSTUV"[total % 23]


def austrian(value: str) -> bool:
    check = weighted(value[:3] + value[4:], (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11
    return check == int(value[3]) and 1 <= int(value[4:6]) <= 31


def german_pension(value: str) -> bool:
    digits = f"{value[:8]}{ord(value[8]) - ord('A') + 1:02}{value[9:11]}"
    products = (int(digit) * weight for digit, weight in zip(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True))
    return sum(product // 10 + product % 10 for product in products) % 10 == int(value[11])


def czech(value: str) -> bool:
    """Check a number. Numbers from before 1954 have nine digits and no check digit."""
    return int(value[2:4]) % 50 <= 32 and (len(value) == 9 or int(value) % 11 == 0 or int(value[:9]) % 11 % 10 == 0)


def romanian(value: str) -> bool:
    check = weighted(value[:12], (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return value[0] != "0" and 1 <= int(value[3:5]) <= 12 and int(value[12]) == (1 if check == 10 else check)


def greek(value: str) -> bool:
    return six_digit_date(value[:6], "dmy") and luhn(value)


def australian_tax(value: str) -> bool:
    return weighted(value, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0 and len(set(value)) > 1


def australian_patient(value: str) -> bool:
    return weighted(value[:8], (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(value[8])


def thai(value: str) -> bool:
    return value[0] != "0" and (11 - weighted(value[:12], tuple(range(13, 1, -1))) % 11) % 10 == int(value[12])


def south_african(value: str) -> bool:
    return six_digit_date(value[:6], "ymd") and value[10] in "012" and luhn(value)


def chilean(value: str) -> bool:
    weights = (2, 3, 4, 5, 6, 7, 2, 3)
    check = 11 - weighted(value[-2::-1], weights) % 11
    return value[-1] == {10: "K", 11: "0"}.get(check, str(check))


def argentinian(value: str) -> bool:
    check = 11 - weighted(value[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return int(value[10]) == (0 if check == 11 else 9 if check == 10 else check)


_CURP = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"


def mexican(value: str) -> bool:
    total = sum(_CURP.index(letter) * (18 - at) for at, letter in enumerate(value[:17]))
    return six_digit_date(value[4:10], "ymd") and -total % 10 == int(value[17])


def by_form(value: str) -> bool:
    """Accept every number. Its form was checked before, and numbers of this form have no check digit."""
    return bool(value)

"""Decides whether a value after a keyword is a secret, or only a remark about a secret."""

import math
import re
from typing import NamedTuple

from memoryhub.pure.sensitive.text import is_placeholder, is_random

PASSWORD, PASS, TOKEN, PIN, NAMED = "password", "pass", "token", "pin", "named"
"""The sorts of keywords; NAMED is a word such as `key` or `auth`, after which only a random-looking value is a
secret."""

_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|\w+(?:\.\w+)+\(|\$|%[({s]|@\{|\{\{|<[^>]*>|&\w+;|\w+::")
_PLAIN = re.compile(r"[^\W\d_]+(?:[-_./:| '’][^\W\d_]+)*[.!?…]*")
_ALGORITHM = re.compile(
    r"(?:(?:sha|md|base|utf-?|argon|bcrypt|scrypt|pbkdf|oauth|aes|rsa|ed)-?\d.{0,20}|1password.{0,20}|[vn]\d+|n/a)$",
    re.IGNORECASE,
)
_DATE_OR_NUMBER = re.compile(
    r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\.?|\d{1,2}:\d{2}(?::\d{2})?|v?\d+(?:\.\d+)+|[\d.,]+\s?[%€$]"
)
_TOKEN_VALUE = re.compile(r"[A-Za-z0-9_\-+/=.~!@#$%^&*]{8,}|[0-9a-f]{8}:[0-9a-f]{8}")
SHORTEST_DRAWN = 16
_DRAWN = re.compile(rf"[A-Za-z0-9_\-+/=.:~%]{{{SHORTEST_DRAWN},}}")
_NO_DIGITS = str.maketrans("", "", "0123456789")
_NEXT_SETTING = re.compile(r"[\w.-]+=")
_SEPARATOR = re.compile(r"[-_./:]")
_MIXED_TWICE = re.compile(r"[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d")
_MIXED_PART = re.compile(r"[A-Za-z]\w*?\d|\d\w*?[A-Za-z]")
_WORD_ENDING = re.compile(r"(?:ed|ing|able|ible|ory|ional|atoire|orio|oria|ado|ada|ato|ata|lich|isch|bar)$")
_IS_NAMED_ONLY = re.compile("pass|kennwort|contrase|senha|secret")
_COMMON_WORDS = """
string str text number int integer bool boolean true false null none nil undefined optional required mandatory empty
blank missing wrong correct incorrect invalid valid weak strong secret hidden password passwort passwd pass unknown
unchanged same different public private safe secure bad good ok fine long short too not never always only no yes
here there below above see ask in on at for from by with and or the a an my your his her our their this that object
array any field input value char varchar bytes secretstr label type token env vault keychain lastpass bitwarden
default admin login user username email now new old old. very really still also case part one what where how when
hashed gone up down out over to it be as stored kept sent set reset changed nicht kein falsch richtig leer geheim
sicher neu alt nie noch im der die das bei obligatoire requis vide oublié dans le la un une obligatoria incorrecta
vacía correcta en el una obrigatória errada correta vazia na um uma obbligatoria errata verplicht fout leeg wymagane
"""
COMMON = frozenset(_COMMON_WORDS.split())
"""Words that describe a password or are written in its place, in the languages of the keywords."""

LEAST_DRAWN = 3.2
"""The least entropy, in bits per character, of a random value after a NAMED keyword. Names and paths have less."""

_TIMES_LOGARITHM = [0.0, *(count * math.log2(count) for count in range(1, 2_049))]
"""For each number up to 2,048: the number times its logarithm."""

LONGEST_ID = 14
"""The most digits of an identifier or a timestamp. A number with more digits counts as random."""


class Given(NamedTuple):
    """A value after a keyword.

    `quoted`: it is in quotation marks. `setting`: it is assigned, as in a setting. `ends`: the sentence or line ends
    after it. `phrase`: it may consist of several words.
    """

    value: str
    quoted: bool
    setting: bool
    ends: bool
    phrase: bool


def gives_away(sort: str, given: Given, *, beside: bool) -> bool:
    """Return whether the value `given` is a secret. `sort` is the sort of its keyword.

    `beside`: only a space is between the keyword and the value.
    """
    return _may_be(sort, given, beside=beside) and not _says_something_else(given)


def _may_be(sort: str, given: Given, *, beside: bool) -> bool:
    value = given.value
    if sort == PIN:
        return value.isdecimal() and 4 <= len(value) <= 8 and given.ends
    if sort == TOKEN:
        return is_token(value) or (given.setting and _is_long_number(value))
    if sort == NAMED:
        return given.setting and is_drawn(value)
    return _is_password(given) and (not (beside or sort == PASS) or _stands_out(given))


def _says_something_else(given: Given) -> bool:
    """Return whether a value is a common word, a date, a placeholder or code."""
    value = given.value
    if value.lower() in COMMON or _ALGORITHM.match(value) or is_placeholder(value):
        return True
    if value.isalnum():  # neither a date nor code
        return False
    if _DATE_OR_NUMBER.fullmatch(value):
        return True
    return not given.quoted and bool(_CODE.match(value) or _NEXT_SETTING.fullmatch(value))


def is_token(value: str) -> bool:
    """Return whether a value mixes letters and digits within its words.

    `db-credentials-2` does not mix them, nor do paths: they are names, not secrets.
    """
    if value.isalnum() and value.isascii():
        return len(value) >= 8 and _MIXED_PART.search(value) is not None
    if not _TOKEN_VALUE.fullmatch(value) or value.startswith(("/", "./", "~/")) or value.isdecimal() or "://" in value:
        return False
    parts = _SEPARATOR.split(value)
    for part in parts:
        if len(part) >= 6 and _MIXED_PART.search(part):
            return True
    return len(parts) > 1 and sum(_MIXED_TWICE.search(part) is not None for part in parts) >= 2


def is_drawn(value: str) -> bool:
    """Return whether a value looks like random characters. After a NAMED keyword, only such a value is a secret."""
    if not _DRAWN.fullmatch(value) or len(value) - len(value.translate(_NO_DIGITS)) < 2:
        return False
    if max(map(len, _SEPARATOR.split(value))) < 8 or not is_token(value):
        return False
    return _bits(value) >= LEAST_DRAWN and is_random(value)


def _bits(value: str) -> float:
    """Return Shannon's entropy of a value, in bits per character."""
    return math.log2(len(value)) - sum(map(_TIMES_LOGARITHM.__getitem__, map(value.count, set(value)))) / len(value)


def _is_long_number(value: str) -> bool:
    return value.isdecimal() and len(value) > LONGEST_ID and len(set(value)) >= 5


def _is_password(given: Given) -> bool:
    value = given.value
    if len(value) < (3 if given.quoted or given.setting else 4) or value.lower() in {"...", "n/a"}:
        return False
    if value.isdecimal():
        return len(value) >= 4 and given.ends
    if _PLAIN.fullmatch(value):
        return _is_word_as_password(given)
    return True


def _is_word_as_password(given: Given) -> bool:
    """Return whether a value without digits is a password.

    It must be either one word that stands alone and does not describe a password, or a phrase of at least four words.
    """
    value = given.value.lower()
    if not value.isalpha() or _WORD_ENDING.search(value) or _IS_NAMED_ONLY.search(value):
        return given.phrase and value.count(" ") >= 3
    return given.ends and (given.quoted or given.value.islower()) and value.isascii() and len(value) >= 5


def _stands_out(given: Given) -> bool:
    """Return whether a value is surely meant as a secret although only a space separates it from its keyword.

    Such a value must have both letters and digits.
    """
    value = given.value
    return given.ends and len(value) >= 6 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))

"""Passwords and secrets that a text gives away in words, `the password is …`, or as a setting, `PASSWORD=…`."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memoryhub.sensitive_text import Place, Text, apart, is_placeholder

_PASSWORD, _PASS, _TOKEN, _PIN = "password", "pass", "token", "pin"
_KEY_BEFORE = ("api", "access", "secret", "auth", "signing", "encryption", "clave", "clé", "chave")
_KEYWORDS = tuple(
    (mark, re.compile(mark + rest), sort)
    for mark, rest, sort in (
        ("pass", r"(?:wor[dt]s?|wd|phrase|code)(?![a-z])", _PASSWORD), ("pwd", "(?![a-z])", _PASSWORD),
        ("pass", "(?![a-z])", _PASS), ("clave", "(?![a-z])", _PASS),
        ("pw", r"(?![a-z])", _PASSWORD), ("kennwort", "", _PASSWORD), ("mot de passe", "", _PASSWORD),
        ("mdp", "(?![a-z])", _PASSWORD), ("contrase", "(?:ñ|n)a", _PASSWORD), ("senha", "(?![a-z])", _PASSWORD),
        ("palavra-passe", "", _PASSWORD), ("wachtwoord", "", _PASSWORD), ("hasło", "", _PASSWORD),
        ("пароль", "", _PASSWORD), ("パスワード", "", _PASSWORD), ("密码", "", _PASSWORD), ("密碼", "", _PASSWORD),
        ("비밀번호", "", _PASSWORD), ("şifre", "", _PASSWORD), ("lösenord", "", _PASSWORD),
        ("clave de acceso", "", _PASSWORD), ("identified by", "", _PASSWORD),
        ("secret", "(?![a-z])", _TOKEN), ("token", "(?![a-z])", _TOKEN), ("key", "(?:[ _-]base)?(?![a-z])", _TOKEN),
        ("api-schlüssel", "", _TOKEN), ("clé api", "", _TOKEN), ("clave api", "", _TOKEN), ("apiキー", "", _TOKEN),
        ("トークン", "", _TOKEN), ("pin", "(?: code|-code)?(?![a-z])", _PIN),
    )
)  # fmt: skip
"""A word that every keyword begins with, which is quickly looked for, how the keyword goes on, and what it is for."""

_ASCII_KEYWORDS = tuple(row for row in _KEYWORDS if row[0].isascii())


@dataclass(frozen=True, slots=True)
class Keyword:
    """Where a word that names a secret stands."""

    start: int
    end: int
    sort: str
    phrase: bool


_ABOUT = (
    r"(?:\s{1,2}\(?(?:for|of|to|on|at|in|für|zum|zur|von|vom|im|de|del|della|per|du|da|do|pour|para|voor|för|dla|для)"
    r"\s[^\n:=|]{1,40}?)?"
)
_CONNECTOR = re.compile(
    r"[0-9]{0,2}[\"'`\])]{0,2}" + _ABOUT + r"(?:"
    r"(?P<setting>\**\s{0,3}(?::=|=>|[:=|：＝](?![:=]))\**\s{0,3})"
    r"|\s{1,2}(?P<prose>(?:is|was|has been|ist|war|lautet|wurde|est|es|era|è|é|foi|jest|это|set|changed|reset|now)"
    r"(?:\s(?:now|currently|set|changed|reset|still|jetzt|nun|auf|maintenant|ahora|agora|adesso))?(?:\sto|\sauf|\sà|\sa)?"
    r":?\s{1,2})"
    r"|(?P<joined>\s?(?:は|为|是|為|는|은)[:：]?\s?))"
)
_BESIDE = re.compile(r"(?P<setting>(?!))?\s(?=\S)")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_BARE = re.compile(r"[\x01!-\"$-&(-~#£€§À-ɏЀ-ӿ][\x01!-&(-~£€§À-ɏЀ-ӿ']{0,255}")
_NEXT_PARAMETER = re.compile(r"&\w{1,40}=")
_CLAUSE_END = re.compile(r"[ \t]*[.,;!)|*」。、]?[ \t]*(?:\n|$|\.|,|;|です|だ)")
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|\w+(?:\.\w+)+\(|\$|%[({s]|@\{|\{\{|<[^>]*>|&\w+;|\w+::")
_PLAIN = re.compile(r"[^\W\d_]+(?:[-_./:| '’][^\W\d_]+)*[.!?…]*")
_ALGORITHM = re.compile(
    r"(?:sha|md|base|utf-?|argon|bcrypt|scrypt|pbkdf|oauth|aes|rsa|ed)-?\d|1password|[vn]\d+$|n/a$", re.IGNORECASE
)
_DATE_OR_NUMBER = re.compile(
    r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\.?|\d{1,2}:\d{2}(?::\d{2})?|v?\d+(?:\.\d+)+|[\d.,]+\s?[%€$]"
)
_TOKEN_VALUE = re.compile(r"[A-Za-z0-9_\-+/=.~!@#$%^&*]{8,}")
_MIXED_TWICE = re.compile(r"[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d")
_MIXED_PART = re.compile(r"[A-Za-z]\w*?\d|\d\w*?[A-Za-z]")
_WORD_ENDING = re.compile(r"(?:ed|ing|able|ible|ory|ional|atoire|orio|oria|ado|ada|ato|ata|lich|isch|bar)$")
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
_COMMON = frozenset(_COMMON_WORDS.split())
"""What a text says about a password, or has in its place, in the languages of the keywords."""

_BEARER = re.compile(r"bearer\s{1,2}([a-z0-9._~+/=-]{16,2000})")
_BASIC = re.compile(r"basic\s{1,2}([a-z0-9+/=]{8,400})")
_OPTION = re.compile(r"--pass(?:word|phrase|wd)?[ =][\"']?([^\s\"']{3,128})")
_LOGIN = re.compile(r"login \S{1,64} password (\S{3,128})")
_CURL_USER = re.compile(r"(?:\s-u|--user)[ =]?[\"']?[^\s:\"'/]{1,64}:([^\s\"']{1,128})")


@dataclass(frozen=True, slots=True)
class Given:
    """A value that stands where a secret would.

    How it was given, whether the sentence or line ends after it, and whether it may have several words.
    """

    value: str
    quoted: bool
    setting: bool
    ends: bool
    phrase: bool


def passwords(text: Text) -> Iterator[Place]:
    """The values alone. What only names a password (`password: str`, `$PASSWORD`, `is required`) is none."""
    return iter(apart([*_after_keywords(text), *_on_command_lines(text)]))


def _keywords(text: Text) -> list[Keyword]:
    found = [
        Keyword(match.start(), match.end(), sort, match.group() == "passphrase")
        for mark, pattern, sort in _KEYWORDS if mark in text.low
        for match in pattern.finditer(text.low)
    ]  # fmt: skip
    return sorted((keyword for keyword in found if _begins_well(text, keyword)), key=lambda keyword: keyword.start)


def _begins_well(text: Text, keyword: Keyword) -> bool:
    """`adminpassword` and `dbToken` name secrets; `spin:` and `the key is` do not."""
    start = keyword.start
    before = text.before(start)
    if text.low.startswith("key", start):
        return text.low[max(0, start - 11) : start].rstrip(" _-").endswith(_KEY_BEFORE)
    return keyword.sort == _PASSWORD or not before.isalpha() or (text.text[start].isupper() and before.islower())


def _after_keywords(text: Text) -> Iterator[Place]:
    end = 0
    for keyword in _keywords(text):
        connector = _CONNECTOR.match(text.low, keyword.end) if keyword.start >= end else None
        for wanted in (connector, _BESIDE.match(text.low, keyword.end) if keyword.sort == _PASSWORD else None):
            if wanted is None:
                continue
            place, given = _value(text.text, wanted, phrase=keyword.phrase)
            if given and _gives_away(keyword.sort, given, beside=wanted is not connector):
                end = place[1]
                yield place
                break


def _value(text: str, connector: re.Match[str], *, phrase: bool) -> tuple[Place, Given | None]:
    start, setting = connector.end(), connector["setting"] is not None
    closing = _QUOTES.get(text[start : start + 1])
    if closing:
        end = text.find(closing, start + 1, start + 258)
        if end > start + 1 and "\n" not in text[start:end]:
            ends = _CLAUSE_END.match(text, end + 1) is not None
            return (start + 1, end), Given(text[start + 1 : end], True, setting, ends, phrase or not setting)
    bare = _BARE.match(text, start)
    value = _NEXT_PARAMETER.split(bare.group())[0].rstrip(".,;:)]}\"'?>|*`") if bare else ""
    end = start + len(value)
    ends = _CLAUSE_END.match(text, end) is not None
    return (start, end), Given(value, False, setting, ends, False) if value else None


def _gives_away(keyword: str, given: Given, *, beside: bool) -> bool:
    value = given.value
    if is_placeholder(value) or value.lower() in _COMMON or _ALGORITHM.match(value) or _DATE_OR_NUMBER.fullmatch(value):
        return False
    if not given.quoted and _CODE.match(value):
        return False
    if keyword == _PIN:
        return value.isdecimal() and 4 <= len(value) <= 8 and given.ends
    if keyword == _TOKEN:
        return _is_token(value)
    return _is_password(given) and (not (beside or keyword == _PASS) or _stands_out(given))


def _is_token(value: str) -> bool:
    """Letters and digits mixed within one word: `db-credentials-2` and a path are names, no secrets."""
    if not _TOKEN_VALUE.fullmatch(value) or value.startswith(("/", "./", "~/")) or value.isdecimal():
        return False
    parts = re.split(r"[-_./]", value)
    long = any(len(part) >= 6 and _MIXED_PART.search(part) for part in parts)
    return long or sum(_MIXED_TWICE.search(part) is not None for part in parts) >= 2


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
    """One word of letters alone: a password where it is all that is said, and says nothing about the password."""
    value = given.value.lower()
    if not value.isalpha() or _WORD_ENDING.search(value) or re.search("pass|kennwort|contrase|senha|secret", value):
        return given.phrase and value.count(" ") >= 3
    return given.ends and (given.quoted or given.value.islower()) and value.isascii() and len(value) >= 5


def _stands_out(given: Given) -> bool:
    """Whether a value that nothing but a space connects to its keyword can only be meant as one."""
    value = given.value
    return given.ends and len(value) >= 6 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _on_command_lines(text: Text) -> Iterator[Place]:
    """What headers and the options of commands give away."""
    for mark, pattern, is_meant in _COMMAND_LINES:
        if mark in text.low:
            for match in pattern.finditer(text.low):
                place = match.span(match.lastindex or 0)
                if is_meant(text.text[slice(*place)]):
                    yield place


def _is_header_value(value: str) -> bool:
    if is_placeholder(value):
        return False
    try:
        return b":" in b64decode(value, validate=True) or _is_token(value)
    except ValueError:
        return _is_token(value)


def _is_option(value: str) -> bool:
    return (
        not is_placeholder(value)
        and not value.isdecimal()
        and not value.startswith("-")
        and value.lower() not in _COMMON
    )


_COMMAND_LINES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("bearer", _BEARER, _is_header_value),
    ("basic", _BASIC, _is_header_value),
    ("--pass", _OPTION, _is_option),
    ("login", _LOGIN, _is_option),
    ("curl", _CURL_USER, _is_option),
)

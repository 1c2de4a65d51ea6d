"""Passwords and secrets in prose, `the password is …`, or in settings, `PASSWORD=…`."""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from operator import itemgetter
from typing import NamedTuple

from memoryhub.pure.sensitive.commands import on_command_lines
from memoryhub.pure.sensitive.text import Place, Text, apart
from memoryhub.pure.sensitive.values import NAMED, PASS, PASSWORD, PIN, SHORTEST_DRAWN, TOKEN, Given, gives_away

_KEY_BEFORE = ("api", "access", "secret", "auth", "signing", "encryption", "clave", "clé", "chave")
_NAME_BEFORE = re.compile(r"(?<![A-Z])([A-Z]?[a-z0-9]{1,30}|[A-Z0-9]{1,30})[ _.-]?$")
_PUBLIC_WORDS = """
public pub primary foreign cache sort partition object bucket idempotency natural unique hash index map dict
row col column storage registry host license licence group search shortcut translation locale i18n s3 blob file
known artifact composite surrogate csrf xsrf authenticity next page cursor continuation sync resume anti request etag
publishable site
"""
_PUBLIC = frozenset(_PUBLIC_WORDS.split())
"""Words before `key` or `token` that mark a public value."""

_PUBLIC_ENDINGS = tuple(_PUBLIC)

_KEYWORDS = tuple(
    (mark, re.compile(mark + rest), sort)
    for mark, rest, sort in (
        ("pass", r"(?:wor[dt]s?|wd|phrase|code)(?![a-z])", PASSWORD), ("pwd", "(?![a-z])", PASSWORD),
        ("pass", "(?![a-z])", PASS), ("clave", "(?![a-z])", PASS),
        ("pw", r"(?![a-z])", PASSWORD), ("kennwort", "", PASSWORD), ("mot de passe", "", PASSWORD),
        ("mdp", "(?![a-z])", PASSWORD), ("contrase", "(?:ñ|n)a", PASSWORD), ("senha", "(?![a-z])", PASSWORD),
        ("palavra-passe", "", PASSWORD), ("wachtwoord", "", PASSWORD), ("hasło", "", PASSWORD),
        ("пароль", "", PASSWORD), ("パスワード", "", PASSWORD), ("密码", "", PASSWORD), ("密碼", "", PASSWORD),
        ("비밀번호", "", PASSWORD), ("şifre", "", PASSWORD), ("lösenord", "", PASSWORD),
        ("clave de acceso", "", PASSWORD), ("identified by", "", PASSWORD),
        ("secret", "(?![a-z])", TOKEN), ("token", "(?:[ _-]?[0-9]{1,4})?(?![a-z])", TOKEN),
        ("key", "(?:[ _-]base)?(?![a-z])", TOKEN),
        ("api-schlüssel", "", TOKEN), ("clé api", "", TOKEN), ("clave api", "", TOKEN), ("apiキー", "", TOKEN),
        ("トークン", "", TOKEN), ("pin", "(?: code|-code)?(?![a-z])", PIN),
        ("cred", "(?:s|entials?)(?![a-z])", NAMED), ("auth", "(?![a-z])", NAMED),
    )
)  # fmt: skip
"""For each keyword: its fixed beginning, which is fast to find, the pattern of the whole keyword, and its sort."""

Pattern = tuple[str, re.Pattern[str], str]


def _by_least_mark(keywords: Iterable[Pattern]) -> list[tuple[str, list[Pattern]]]:
    """Return (mark, keywords) for groups of keywords. A text without the mark of a group has no keyword of the group.

    The mark of a keyword is its fixed beginning. If the mark of a keyword contains marks of other keywords, the keyword
    is in the group of the shortest of these marks: `mot de passe` is in the group of `pass`.
    """
    marks = {mark for mark, _, _ in keywords}
    groups: dict[str, list[Pattern]] = {}
    for keyword in keywords:
        least = min((mark for mark in marks if mark in keyword[0]), key=lambda mark: (len(mark), mark))
        groups.setdefault(least, []).append(keyword)
    return [*groups.items()]


_ALL = _by_least_mark(_KEYWORDS)
_IN_ASCII = _by_least_mark([keyword for keyword in _KEYWORDS if keyword[0].isascii()])


class Keyword(NamedTuple):
    """A word such as `password`, after which a secret may follow. The word is at [start, end) in the text."""

    start: int
    end: int
    sort: str
    phrase: bool


_AFTER_KEYWORD = r"[0-9]{0,2}[\"'`\])]{0,2}"
_PROSE = "is|was|has been|ist|war|lautet|wurde|est|es|era|è|é|foi|jest|это|set|changed|reset|now"
_CONNECTION = (
    r"(?:"
    r"(?P<setting>\**\s{0,3}(?:(?::\s?)?str(?:ing)?\s{1,2}(?==))?(?::{1,3}=|[.?+]=|=>|[:=|：＝](?![:=]))\**\s{0,3}"
    r"|(?<=[\"'])(?:,\s{0,12}[\"']value[\"']\s?:\s?|,\s{0,2}(?=[\"'])|\s{1,3}value\s?=\s?)"
    r"|(?P<tag>>\s{0,40}))"
    rf"|\s{{1,2}}(?P<prose>(?:{_PROSE})"
    r"(?:\s(?:now|currently|set|changed|reset|still|jetzt|nun|auf|maintenant|ahora|agora|adesso))?(?:\sto|\sauf|\sà|\sa)?"
    r":?\s{1,2})"
    r"|(?P<joined>\s?(?:は|为|是|為|는|은)[:：]?\s?))"
)
_CONNECTOR = re.compile(_AFTER_KEYWORD + _CONNECTION)
_ABOUT = re.compile(
    _AFTER_KEYWORD + r"\s{1,2}\(?"
    r"(?:for|of|to|on|at|in|für|zum|zur|von|vom|im|de|del|della|per|du|da|do|pour|para|voor|för|dla|для)\s"
)
"""The beginning of the words that say what a secret is for, as in `password for the database`: the connector comes some
words later."""

_CONNECTOR_LATER = re.compile(r"[^\n:=|]{1,40}?(?=[*\s:=|：＝.?+>,sは为是為는은])" + _CONNECTION)
_MAY_CONNECT = re.compile(rf"[*:=|：＝>は为是為는은\"'\s](?:(?<=[^\"'\s])|(?<=[\"'])[,\s]|(?<=\s)(?:{_PROSE})[\s:])")
"""Matches a part that every connector has in its first LONGEST_BEFORE characters."""

LONGEST_BEFORE = 12
_BESIDE = re.compile(r"(?P<setting>(?!))?(?P<tag>(?!))?\s(?=\S)")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_BARE = re.compile(r"[\x01!-\"$-&(-~#£€§À-ɏЀ-ӿ][\x01!-&(-~£€§À-ɏЀ-ӿ']{0,255}")
_NEXT = re.compile(r"&\w{1,40}=|\\[nr](?=[\w.-]{1,60}\s?[=:]|[\s\"'}\\]|$)|</")
"""The end of a value without quotes that a parameter, an escaped line end or a tag follows without a space."""

_TAG_AFTER = re.compile(r"\s{0,40}</")
_TAG_BEFORE = re.compile(r"<[\w:.-]{0,40}$")
LONGEST_VALUE = 256
SHORTEST_NARROW = 5
"""The least characters between two keywords that leave room for a value, in a text full of keywords."""
_CLAUSE_END = re.compile(r"[ \t]*[.,;!)|*」。、]?[ \t]*(?:\n|$|\.|,|;|です|だ)")


def passwords(text: Text) -> Iterator[Place]:
    """Yield the places of passwords, without the words before them.

    A text that only mentions a password has none: `password: str`, `$PASSWORD`, `is required`.
    """
    return iter(apart([*_after_keywords(text), *on_command_lines(text)]))


def _keywords(text: Text) -> list[Keyword]:
    found = (
        _begins_well(text, Keyword(match.start(), match.end(), sort, match.group() == "passphrase"))
        for least, keywords in (_IN_ASCII if text.is_ascii else _ALL)
        if least in text.low
        for mark, pattern, sort in keywords
        if mark in text.low
        for match in text.each(pattern.finditer(text.low), 2)
    )
    return sorted(filter(None, found), key=itemgetter(0))


def _begins_well(text: Text, keyword: Keyword) -> Keyword | None:
    """Return the keyword if it counts at its position, otherwise None.

    Most keywords must begin a word or a part of a name: `pin` begins a part of `cardPin`, but no part of `spin:`.
    Keywords of the sort PASSWORD, and those that begin with `token` or `secret`, count everywhere, as in `dbtoken`.
    Keywords that begin with `key` are left to `_named_key`.
    """
    start, sort = keyword.start, keyword.sort
    if sort == PASSWORD:
        return keyword
    before, first = text.before(start), text.text[start : start + 2]
    camel = first[:1].isupper() and (before.islower() or first[1:].islower())
    if text.low.startswith("key", start):
        return _named_key(text, keyword, joined=camel or before in {"_", "-", "."})
    if text.low.startswith(("token", "secret"), start):
        return keyword
    return keyword if not before.isalpha() or camel else None


def _named_key(text: Text, keyword: Keyword, *, joined: bool) -> Keyword | None:
    """Return the keyword `key` if a word of _KEY_BEFORE is before it, as in `api key`.

    If another word is `joined` to the keyword, return the keyword with the sort NAMED: a value after it must look
    random to be a secret. Otherwise return None.
    """
    start = keyword.start
    if text.low[max(0, start - 11) : start].rstrip(" _-").endswith(_KEY_BEFORE):
        return keyword
    return keyword._replace(sort=NAMED) if joined else None


def _is_public(text: Text, keyword: Keyword) -> bool:
    """Return whether the word before the keyword says that the value is public, as in `public_key` or `csrf-token`."""
    before = text.text[max(0, keyword.start - 32) : keyword.start] if keyword.sort in (TOKEN, NAMED) else ""
    if not before.rstrip(" _.-\n").lower().endswith(_PUBLIC_ENDINGS):
        return False
    name = _NAME_BEFORE.search(before)
    return name is not None and name[1].lower() in _PUBLIC


def _after_keywords(text: Text) -> Iterator[Place]:
    """Yield the places of the values that follow keywords.

    A possible value can contain further keywords, so some characters are examined more than once. The examined
    characters are counted. When their number exceeds the length of the text by a fixed margin, each further value ends
    at the next keyword. So even in the worst case, a character is examined only a few times on average.
    """
    end, looked_at = 0, 0
    keywords = _keywords(text)
    for keyword, following in zip_longest(text.each(keywords, 1), [keyword.start for keyword in keywords[1:]]):
        narrow = looked_at > len(text.text) + LONGEST_VALUE * 16
        limit = following or len(text.text)
        if keyword.start < end or (narrow and limit - keyword.end < SHORTEST_NARROW):
            continue
        for connector, beside in text.each(_connectors(text, keyword), 4):
            place, given = _value(text.text, connector, limit if narrow else None, phrase=keyword.phrase)
            looked_at += place[1] - place[0]
            text.spend(_steps_of(place[1] - place[0], keyword.sort))
            if given and gives_away(keyword.sort, given, beside=beside) and not _is_public(text, keyword):
                end = place[1]
                yield place
                break


def _steps_of(length: int, sort: str) -> int:
    """Return the cost, in steps, of deciding whether a value of this length after such a keyword is a secret."""
    return 8 + length // 5 if sort == NAMED and length >= SHORTEST_DRAWN else length // 16


def _connectors(text: Text, keyword: Keyword) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield (connector, beside) for each possible connector between a keyword and its value.

    `beside`: only a space is between the keyword and the value.
    """
    connector = _CONNECTOR.match(text.low, keyword.end) or _connector_later(text, keyword.end)
    if connector and not (
        connector["tag"] and not _TAG_BEFORE.search(text.low[max(0, keyword.start - 41) : keyword.start])
    ):
        yield connector, False
    if keyword.sort == PASSWORD and (beside := _BESIDE.match(text.low, keyword.end)):
        yield beside, True


def _connector_later(text: Text, end: int) -> re.Match[str] | None:
    about = _ABOUT.match(text.low, end)
    if about is None or not _MAY_CONNECT.search(text.low, about.end(), about.end() + 40 + LONGEST_BEFORE):
        return None
    text.spend(3)
    return _CONNECTOR_LATER.match(text.low, about.end())


def _value(text: str, connector: re.Match[str], limit: int | None, *, phrase: bool) -> tuple[Place, Given | None]:
    start, setting = connector.end(), connector["setting"] is not None
    closing = _QUOTES.get(text[start : start + 1])
    if closing:
        end = text.find(closing, start + 1, start + 2 + LONGEST_VALUE)
        if end > start + 1 and "\n" not in text[start:end]:
            ends = _CLAUSE_END.match(text, end + 1) is not None
            return (start + 1, end), Given(text[start + 1 : end], True, setting, ends, phrase or not setting)
    bare = _BARE.match(text, start, len(text) if limit is None else max(start, limit))
    value = bare.group() if bare else ""
    if "&" in value or "\\" in value or "</" in value:
        value = _NEXT.split(value, 1)[0]
    value = value.rstrip(".,;:)]}\"'?>|*`")
    end = start + len(value)
    if text.startswith("...", end) or (connector["tag"] and not _TAG_AFTER.match(text, end)):
        return (start, end), None
    ends = _CLAUSE_END.match(text, end) is not None
    return (start, end), Given(value, False, setting, ends, False) if value else None

"""Secrets that are recognised by their form: private keys, keys of this hub, web tokens, and logins in URLs."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator

from memoryhub.pure.sensitive.text import OPAQUE, Place, Text, apart, is_placeholder

_PEM_BEGIN = re.compile(r"-{4,5} ?BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?) ?-{4,5}")
_PEM_BODY = re.compile(r"(?:(?:\\[nr]|\s){1,8}[A-Za-z0-9+/=]{16,2000})+")
_PEM_LETTERS = re.compile(r"[A-Za-z0-9+/]{12}")
LONGEST_PRIVATE_KEY = 32_000
"""How many characters are searched for the end of a private key. A key of 16,384 bits needs 13,000."""

_BARE_PRIVATE = re.compile(
    r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=\s]{16,8000}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{58}"
    r"|PrivateKey ?= ?[A-Za-z0-9+/]{43}="
)
_PUTTY = "PuTTY-User-Key-File-"
_PUTTY_END = re.compile(r"Private-MAC: ?[0-9a-f]{32,64}")
_BARE_MARKS = ("b3BlbnNzaC1rZXktdjE", "AGE-SECRET-KEY-1", "PrivateKey", _PUTTY)
PRIVATE_KEY_MARKS = ("PRIVATE KEY", *_BARE_MARKS)
_HUB_KEY = re.compile(r"mh_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")
_TOKEN_PART = re.compile(r"[A-Za-z0-9_-]+")
SHORTEST_TOKEN_HEADER, LONGEST_TOKEN_HEADER = 12, 2_000
_LOGIN = re.compile(r"://([^\s/@:\"'<>|]{0,128}):([^\s/\"'<>|]{1,256})@(?=[\w\[])")
_LONE_TOKEN = re.compile(r"://([A-Za-z0-9_-]{20,256})@(?=[\w\[])")
_USERS = frozenset({"user", "username", "usr", "login", "name", "me"})
_PASSWORDS = frozenset({"password", "pass", "passwd", "pwd", "pw", "secret"})


def private_keys(text: Text) -> Iterator[Place]:
    """Yield the places of private keys: PEM blocks from their first line to their last, and bodies of keys without
    these lines."""
    blocks = [*text.each(_blocks(text.text), 10)] if "PRIVATE KEY" in text.text else []
    if not any(mark in text.text for mark in _BARE_MARKS):
        return iter(blocks)
    bare = (match.span() for match in _BARE_PRIVATE.finditer(text.text))
    return iter(apart([*blocks, *bare, *_putty_keys(text.text)]))


def _blocks(text: str) -> Iterator[Place]:
    """Yield the places of PEM blocks."""
    begins = list(_PEM_BEGIN.finditer(text))
    ends = [*(begin.start() for begin in begins[1:]), len(text)]
    for begin, following in zip(begins, ends, strict=False):
        limit = min(following, begin.end() + LONGEST_PRIVATE_KEY)
        end = text.find(f"END {begin[1]}", begin.end(), limit)
        if end >= 0:
            body = text[begin.end() : end]
            if _PEM_LETTERS.search(body) and not (len(body) < 64 and is_placeholder(body.strip(" \n\r\t-"))):
                yield begin.start(), _after_dashes(text, end + len(f"END {begin[1]}"))
        elif body_found := _PEM_BODY.match(text, begin.end(), limit):
            yield begin.start(), body_found.end()


def _putty_keys(text: str) -> Iterator[Place]:
    begin = text.find(_PUTTY)
    while begin >= 0:
        following = text.find(_PUTTY, begin + 1)
        limit = min(following if following >= 0 else len(text), begin + LONGEST_PRIVATE_KEY)
        if end := _PUTTY_END.search(text, begin, limit):
            yield begin, end.end()
        begin = following


def _after_dashes(text: str, position: int) -> int:
    while position < len(text) and text[position] in " -":
        position += 1
    return position if text[position - 1] == "-" else position - 1


def hub_keys(text: Text) -> Iterator[Place]:
    """Yield the places of keys of this hub: `mh_` and 32 random bytes in base64url."""
    if "mh_" in text.text:
        for match in text.each(_HUB_KEY.finditer(text.text), 2):
            if text.stands_alone(*match.span()) or text.before(match.start()) == "_":
                yield match.span()


def jwts(text: Text) -> Iterator[Place]:
    """Yield the places of JSON Web Tokens, signed or encrypted. The first part of such a token is a header with an
    algorithm."""
    position = text.text.find("eyJ") if text.long_words else -1
    while position >= 0:
        text.spend(4)
        ends = _token_parts(text.text, position)
        if len(ends) >= 3 and _is_header(text, text.text[position : ends[0]]):
            yield position, ends[min(len(ends), 5) - 1]
        position = text.text.find("eyJ", ends[-1])


def _token_parts(text: str, start: int) -> list[int]:
    """Return the end positions of a token's parts, which are joined by dots. A part may be empty."""
    ends: list[int] = []
    position = start
    while len(ends) < 5:
        match = _TOKEN_PART.match(text, position)
        if match is None and text[position : position + 1] != ".":
            break
        ends.append(match.end() if match else position)
        if text[ends[-1] : ends[-1] + 1] != ".":
            break
        position = ends[-1] + 1
    return ends


def _is_header(text: Text, part: str) -> bool:
    if not SHORTEST_TOKEN_HEADER <= len(part) <= LONGEST_TOKEN_HEADER:
        return False
    text.spend(10 + len(part) // 50)
    try:
        header = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and ("alg" in header or "typ" in header)


def url_credentials(text: Text) -> Iterator[Place]:
    """Yield the place of the password in a URL, as in `://user:password@`, or of a token that is alone there, as in
    `://token@`."""
    position = text.text.find("://") if "@" in text.text else -1
    while position >= 0:
        text.spend(4)
        if match := _LOGIN.match(text.text, position):
            if not _only_shown(match[1], match[2]):
                yield match.span(2)
        elif (match := _LONE_TOKEN.match(text.text, position)) and any(map(str.isdigit, match[1])):
            yield match.span(1)
        position = text.text.find("://", match.end() if match else position + 3)


def _only_shown(user: str, password: str) -> bool:
    return is_placeholder(password) or OPAQUE in user or (user.lower() in _USERS and password.lower() in _PASSWORDS)

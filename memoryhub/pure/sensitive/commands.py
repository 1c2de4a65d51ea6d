"""Secrets in request headers, command options and the configuration of tools."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from itertools import zip_longest

from memoryhub.pure.sensitive.text import Place, Text, is_placeholder
from memoryhub.pure.sensitive.values import COMMON, is_token

_BEARER = re.compile(r"bearer\s{1,2}([a-z0-9._~+/=-]{16,2000})")
_BASIC = re.compile(r"basic\s{1,2}([a-z0-9+/=]{8,400})")
_AUTHORIZATION = re.compile(
    r"authorization[\"']?\s{0,2}[:=]\s{0,3}[\"']?(?:(?:api-?)?(?:token|key)\s{1,2})?([a-z0-9~.+/=_-]{16,400})"
)
_OPTION = re.compile(r"--pass(?:word|phrase|wd)?[ =][\"']?([^\s\"']{3,128})")
_LOGIN = re.compile(r"login \S{1,64} password (\S{3,128})")
_CURL_USER = re.compile(
    r"(?:\s-u|--user)[ =]{0,4}(?:\"([^\"\n:]{0,128}):([^\"\n]{0,128})\"(?!:)|'([^'\n:]{0,128}):([^'\n]{0,128})'"
    r"|([^\s:\"'/]{1,64}|\"[^\"\n]{1,64}\"):([^\s\"']{1,128}|\"[^\"\n]{1,128}\"|'[^'\n]{1,128}'))"
)
_CURL = re.compile(r"\bcurl\b")
LONGEST_COMMAND = 1_000
"""How many characters after `curl` are searched for its option."""

_DOCKER = re.compile(r"\"auth\"\s{0,3}:\s{0,3}\"([a-z0-9+/=]{8,400})\"")
_SHOWN = COMMON | {"test", "changeme", "changeit", "pwd", "key", "apikey"}
_VARIABLE = re.compile(r"[$%]\w|\$[({]|[{<\[]")


def on_command_lines(text: Text) -> Iterator[Place]:
    """Yield the places of secrets, without the words that name them. Variables and placeholders are not yielded."""
    for mark, pattern, is_meant in _COMMAND_LINES:
        if mark in text.low:
            for match in text.each(pattern.finditer(text.low), 8):
                place = match.span(match.lastindex or 0)
                if is_meant(text.text[slice(*place)]):
                    yield place
    if "curl" in text.low:
        yield from _curl_logins(text)


def _curl_logins(text: Text) -> Iterator[Place]:
    """Yield the place of the password in `-u user:password`, or of the user if there is no password."""
    commands = [match.end() for match in text.each(_CURL.finditer(text.low), 4)]
    for start, following in zip_longest(commands, commands[1:], fillvalue=len(text.low)):
        for match in text.each(_CURL_USER.finditer(text.low, start, min(following, start + LONGEST_COMMAND)), 8):
            user, password = (match.span(group) for group in range(1, 7) if match.start(group) >= 0)
            place = _unquoted(text.text, password) if password[0] < password[1] else user
            shown = _VARIABLE.match(text.text, user[0]) and text.text[user[0]] == "<"
            if place[0] < place[1] and not shown and _is_login(text.text[slice(*place)]):
                yield place


def _unquoted(text: str, place: Place) -> Place:
    start, end = place
    return (start + 1, end - 1) if text[start] in "\"'" and text[start] == text[end - 1] and end - start > 2 else place


def _is_login(value: str) -> bool:
    if _VARIABLE.match(value) and not (value.endswith("}") and is_token(value.strip("{}"))):
        return False
    inner = value.strip("{}")
    return not is_placeholder(inner) and inner.lower() not in _SHOWN


def _is_header_value(value: str) -> bool:
    if is_placeholder(value):
        return False
    try:
        return b":" in b64decode(value, validate=True) or is_token(value)
    except ValueError:
        return is_token(value)


def _is_login_pair(value: str) -> bool:
    """Return whether a value is Base64 of a name and a password, as Docker stores it."""
    try:
        name, colon, password = b64decode(value, validate=True).partition(b":")
    except ValueError:
        return False
    return bool(name and colon and password) and password.decode("utf-8", "replace").lower() not in _SHOWN


def _is_option(value: str) -> bool:
    return (
        not is_placeholder(value)
        and not value.isdecimal()
        and not value.startswith("-")
        and value.lower() not in COMMON
    )


_COMMAND_LINES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("bearer", _BEARER, _is_header_value),
    ("basic", _BASIC, _is_header_value),
    ("authorization", _AUTHORIZATION, _is_header_value),
    ("--pass", _OPTION, _is_option),
    ("login", _LOGIN, _is_option),
    ('"auth"', _DOCKER, _is_login_pair),
)

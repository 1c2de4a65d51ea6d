"""Text that a model can read and a person cannot: base64, hexadecimal and escaped letters."""

import re
from base64 import b64decode
from collections.abc import Iterator

from memoryhub.pure.sensitive.text import Place, Text

_BLOB = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEXADECIMAL = re.compile(r"(?:[0-9a-f]{2}){12,}|(?:[0-9A-F]{2}){12,}")
_ESCAPED = re.compile(
    r"(?:%[0-9a-fA-F]{2}){6,}|(?:\\x[0-9a-fA-F]{2}){6,}|(?:\\u00[0-9a-fA-F]{2}){6,}|(?:&#x?[0-9a-fA-F]{2,4};){6,}"
)
_ESCAPE_MARKS = ("%", "\\x", "\\u", "&#")
_ESCAPE = re.compile(r"(?:%|\\x|\\u00|&#x)([0-9a-fA-F]{2});?|&#(\d{2,3});")
_WORDS = re.compile(r"[A-Za-z ]")
LOOKED_AT = 4_096
"""How many characters of a blob are decoded; a blob that is text for that long counts as text."""


def encoded(text: Text) -> Iterator[Place]:
    """Yield the places that decode to text. Hashes, identifiers and pictures do not."""
    if not text.long_words:
        return
    places = [*_decoding(text, _BLOB)]
    if any(mark in text.text for mark in _ESCAPE_MARKS):
        places = sorted([*places, *_decoding(text, _ESCAPED)])
    yield from places


def _decoding(text: Text, pattern: re.Pattern[str]) -> Iterator[Place]:
    for place in text.long_words:
        for match in pattern.finditer(text.text, *place):
            if _decodes(text, match):
                yield match.span()


def _decodes(text: Text, match: re.Match[str]) -> bool:
    blob = match.group()[:LOOKED_AT]
    text.spend(3 + len(blob) // 20)
    if match.re is _ESCAPED:
        return _is_text(bytes(int(pair or number, 16 if pair else 10) & 255 for pair, number in _ESCAPE.findall(blob)))
    if _HEXADECIMAL.fullmatch(match.group()):
        return _is_text(bytes.fromhex(blob[: len(blob) // 2 * 2]))
    if blob.islower() or blob.isupper():  # a path or a name: base64 of text has upper and lower case
        return False
    plain = blob.rstrip("=").replace("-", "+").replace("_", "/")
    return any(_is_text(b64decode(plain[skipped : skipped + (len(plain) - skipped) // 4 * 4])) for skipped in range(4))


def _is_text(content: bytes) -> bool:
    """Return whether the bytes are printable UTF-8 text, at least half of it letters and spaces."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if error.start < len(content) - 4:
            return False
        text = content[: error.start].decode()
    if len(text) < 6:
        return False
    readable = sum(letter.isprintable() or letter in "\n\r\t" for letter in text)
    return readable == len(text) and len(_WORDS.findall(text)) + sum(map(_is_foreign, text)) >= 0.5 * len(text)


def _is_foreign(letter: str) -> bool:
    return letter.isalpha() and not letter.isascii()

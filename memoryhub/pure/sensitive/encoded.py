"""Text that a model can read and a person cannot: base64, hexadecimal and escaped letters."""

import re
from binascii import a2b_base64
from collections.abc import Iterator

from memoryhub.pure.sensitive.text import Place, Text

_BLOB = re.compile(r"[A-Za-z0-9+/_-](?<![A-Za-z0-9+/_-].)[A-Za-z0-9+/_-]{23,}={0,2}")
_HEXADECIMAL = re.compile(r"(?:[0-9a-f]{2}){12,}|(?:[0-9A-F]{2}){12,}")
_ESCAPED = re.compile(
    r"%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2}){5,}|\\x[0-9a-fA-F]{2}(?:\\x[0-9a-fA-F]{2}){5,}"
    r"|\\u00[0-9a-fA-F]{2}(?:\\u00[0-9a-fA-F]{2}){5,}|&#x?[0-9a-fA-F]{2,4};(?:&#x?[0-9a-fA-F]{2,4};){5,}"
)
_ESCAPE_MARKS = ("%", "\\x", "\\u00", "&#")
_ESCAPE = re.compile(r"&#x([0-9a-fA-F]{2});?|&#(\d{2,3});")
_CONTROLS = bytes({*range(32)} - {*b"\n\r\t"}) + b"\x7f"
_LETTERS = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LINE_ENDS = str.maketrans("", "", "\n\r\t")
LOOKED_AT = 4_096
"""How many characters of a blob are decoded; a blob that is text for that long counts as text."""


def encoded(text: Text) -> Iterator[Place]:
    """Yield the places that decode to text. Hashes, identifiers and pictures do not decode to text."""
    if not text.long_words:
        return
    places = [*_decoding(text, _BLOB)]
    if any(mark in text.text for mark in _ESCAPE_MARKS):
        places = sorted([*places, *_decoding(text, _ESCAPED)])
    yield from places


def _decoding(text: Text, pattern: re.Pattern[str]) -> Iterator[Place]:
    for place in text.each(text.long_words, 1):
        for match in pattern.finditer(text.text, *place):
            blob = match.group()[:LOOKED_AT]
            text.spend(1 + len(blob) // 40)
            if _is_escaped_text(text, blob) if pattern is _ESCAPED else _decodes(text, blob, match.group()):
                yield match.span()


def _is_escaped_text(text: Text, blob: str) -> bool:
    text.spend(1 + len(blob) // 40)
    for mark in _ESCAPE_MARKS[:3]:
        if blob.startswith(mark):
            digits = blob.replace(mark, "")
            return _is_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    return _is_text(bytes(int(pair or number, 16 if pair else 10) & 255 for pair, number in _ESCAPE.findall(blob)))


def _decodes(text: Text, blob: str, whole: str) -> bool:
    if _HEXADECIMAL.fullmatch(whole):
        return _is_text(bytes.fromhex(blob[: len(blob) // 2 * 2]))
    if blob.islower() or blob.isupper():  # a path or a name: base64 of text has upper and lower case
        return False
    text.spend(4 + len(blob) // 16)
    plain = blob.rstrip("=").replace("-", "+").replace("_", "/")
    return any(_is_text(a2b_base64(plain[skipped : skipped + (len(plain) - skipped) // 4 * 4])) for skipped in range(4))


def _is_text(content: bytes) -> bool:
    """Return whether the bytes are printable UTF-8 text, at least half of it letters and spaces."""
    if len(content[:-4].translate(None, _CONTROLS)) < len(content) - 4:
        return False
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if error.start < len(content) - 4:
            return False
        content = content[: error.start]
        text = content.decode()
    if len(text) < 6 or not text.translate(_LINE_ENDS).isprintable():
        return False
    letters = len(content) - len(content.translate(None, _LETTERS))
    return letters + (0 if text.isascii() else sum(map(_is_foreign, text))) >= 0.5 * len(text)


def _is_foreign(letter: str) -> bool:
    return letter.isalpha() and not letter.isascii()

"""Makes hidden and bidirectional characters visible, as boxes with labels.

A person must see what an agent reads. Invisible characters can carry instructions, and characters that change the
direction of writing can make a text look like another one.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby

MOST_BOXES = 32
"""The most boxes for a sequence of hidden characters; the last box says how many more characters follow."""

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0020-\U000e007f"
# Controls except TAB and LF, formats, line and paragraph separators, surrogates, spaces other than U+0020 and U+3000
# (the visible space of Japanese), fillers, noncharacters, and characters that Unicode says not to draw.
_HIDDEN = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\xa0\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u1680"
    "\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3164\\ud800-\\udfff\\ufdd0-\\ufdef"
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\U000110bd\\U000110cd\\U00013430-\\U0001343f\\U00016fe4"
    "\\U0001bca0-\\U0001bca3\\U0001d159\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
    + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 17))
)
_EMOJI = (
    "\\u00a9\\u00ae\\u203c\\u2049\\u2122\\u2139\\u2190-\\u21ff\\u2300-\\u23ff\\u24c2\\u25a0-\\u27bf\\u2900-\\u297f\\u2b00-\\u2bff"
    "\\u3030\\u303d\\u3297\\u3299\\U0001f000-\\U0001faff"
)
_HAN = "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\U00020000-\\U0003ffff"
_JOINED = "\\u0620-\\u064a\\u066e-\\u06d3\\u0750-\\u077f\\u08a0-\\u08c9\\u0904-\\u0939\\u093c-\\u094d\\u0980-\\u0ddf"
_FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))

# Hidden characters that are legitimate and visible in their context: in emoji and the flags of England, Scotland and
# Wales, in variants of Han letters, between joined letters of Persian and Indian scripts, and in Mongolian.
_FINE = (
    "[0-9#*]\ufe0f\u20e3",
    f"\U0001f3f4(?:{_FLAGS})\U000e007f",
    rf"[{_EMOJI}](?:(?:\ufe0f?[\U0001f3fb-\U0001f3ff]?\u200d[{_EMOJI}])+\ufe0f?|[\ufe0e\ufe0f])",
    rf"[{_HAN}][\ufe00-\ufe02\U000e0100-\U000e01ef]",
    rf"(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])",
    "[\u1820-\u18aa][\u180b-\u180d\u180f]",
)
FINE = "|".join(_FINE)

# The same, after the first hidden character: those of one hidden character, and those that go on.
FINE_ALONE = (
    rf"(?<=[{_EMOJI}]\ufe0e)|(?<=[{_EMOJI}]\ufe0f)(?![\U0001f3fb-\U0001f3ff]?\u200d[{_EMOJI}])|(?<=[0-9#*]\ufe0f)\u20e3"
    rf"|(?<=[{_HAN}][\ufe00-\ufe02\U000e0100-\U000e01ef])|(?<=[{_JOINED}][\u200c\u200d])(?=[{_JOINED}])"
    "|(?<=[\u1820-\u18aa][\u180b-\u180d\u180f])"
)
FINE_FROM_HIDDEN = (
    f"(?:(?<=\U0001f3f4\U000e0067)(?:{'|'.join(region[1:] for region in _FLAGS.split('|'))})\U000e007f"
    rf"|(?:(?<=[{_EMOJI}]\ufe0f)[\U0001f3fb-\U0001f3ff]?\u200d[{_EMOJI}]|(?<=[{_EMOJI}]\u200d)[{_EMOJI}])"
    rf"(?:\ufe0f?[\U0001f3fb-\U0001f3ff]?\u200d[{_EMOJI}])*\ufe0f?)"
)
_ANY = re.compile(f"[{_HIDDEN}]")
_PARTS = re.compile(f"(?P<fine>{FINE})|(?P<hidden>[{_HIDDEN}]+)")
_MASKED = re.compile(r"\[redacted:([a-z_]{1,20})\]")
_BLANKS = re.compile("(?P<spaces> +)|(?P<tabs>\t+)|(?P<wide>\u3000+)")
_BLANK_SIGNS = {" ": "·", "\t": "→", "\u3000": "□"}

_CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS "
    "US DEL PAD HOP BPH NBH IND NEL SSA ESA HTS HTJ VTS PLD PLU RI SS2 SS3 DCS PU1 PU2 STS CCH MW SPA EPA SOS SGC SCI "
    "CSI ST OSC PM APC"
)
_SHORT = dict(zip(map(chr, [*range(0x20), *range(0x7F, 0xA0)]), _CONTROLS.split(), strict=True)) | {
    "\xa0": "NBSP", "\xad": "SHY", "\u034f": "CGJ", "\u061c": "ALM", "\u180e": "MVS", "\u200b": "ZWSP",
    "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u200e": "LRM", "\u200f": "RLM", "\u2028": "LSEP", "\u2029": "PSEP",
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO", "\u202f": "NNBSP",
    "\u205f": "MMSP", "\u2060": "WJ", "\u2066": "LRI", "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI",
    "\ufeff": "BOM",
}  # fmt: skip
_CONTROL_NAMES = {
    "\0": "NULL", "\x07": "BELL", "\x08": "BACKSPACE", "\x0b": "LINE TABULATION", "\x0c": "FORM FEED",
    "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x7f": "DELETE", "\x85": "NEXT LINE",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text.

    Plain text has no label. A hidden character has a short label and a full name. A blank has a sign as its label, and
    no name.
    """

    text: str
    label: str | None = None
    name: str = ""


def has_hidden(text: str) -> bool:
    """Return whether a text has a character that would be shown as a box."""
    return _ANY.search(text) is not None and any(match["hidden"] for match in _PARTS.finditer(text))


def segments(text: str, *, show_whitespace: bool = False) -> list[Segment]:
    """Return a text, cut into segments at its hidden characters.

    With `show_whitespace`, it is also cut at spaces and tabs.
    """
    if _ANY.search(text) is None and not show_whitespace:
        return [Segment(text)] if text else []
    parts = list(_hidden_segments(text))
    if not show_whitespace:
        return parts
    return [piece for part in parts for piece in ([part] if part.label else _blank_segments(part.text))]


def to_html(text: str, *, show_whitespace: bool = False) -> str:
    """Return a text, escaped for HTML, with a box in place of each hidden character.

    The mark of a masked value (`[redacted:card]`) is put into a box too.
    """
    if _ANY.search(text) is None and not show_whitespace:
        return _plain(text)
    return "".join(_segment_html(segment) for segment in segments(text, show_whitespace=show_whitespace))


def without_hidden(text: str) -> str:
    """Return a text with U+FFFD in place of each hidden character, for output that cannot show a box."""
    if _ANY.search(text) is None:
        return text
    return _PARTS.sub(lambda match: match["fine"] or "\ufffd" * len(match[0]), text)


def _plain(text: str) -> str:
    """Return a text, escaped for HTML, with the marks of masked values in boxes."""
    html = escape(text)
    return _MASKED.sub(r'<span class="masked-value masked-\1">\g<0></span>', html) if "[redacted" in text else html


def _segment_html(segment: Segment) -> str:
    if segment.label is None:
        return _plain(segment.text)
    if not segment.name:
        return f'<span class="shown-blank">{segment.label}</span>'
    return f'<span class="hidden-character" title="{escape(segment.name)}">{escape(segment.label)}</span>'


def _hidden_segments(text: str) -> Iterator[Segment]:
    at = 0
    for match in _PARTS.finditer(text):
        if not match["hidden"]:
            continue
        if at < match.start():
            yield Segment(text[at : match.start()])
        yield from _boxes(match["hidden"])
        at = match.end()
    if at < len(text):
        yield Segment(text[at:])


def _boxes(run: str) -> Iterator[Segment]:
    """Yield boxes for a sequence of hidden characters.

    Neighbours share a box if they are equal, if both are Unicode tag characters, or if both are variation selectors.
    If more than MOST_BOXES boxes were needed, the last box is for all remaining characters.
    """
    groups = ["".join(group) for _, group in groupby(run, key=_family)]
    yield from map(_box, groups[: MOST_BOXES - 1])
    if len(groups) == MOST_BOXES:
        yield _box(groups[-1])
    elif rest := "".join(groups[MOST_BOXES - 1 :]):
        yield Segment(rest, f"+{len(rest)}", f"{_code(rest[0])} to {_code(rest[-1])}: {len(rest)} HIDDEN CHARACTERS")


def _family(character: str) -> str:
    """Return a key that is equal for characters that share a box.

    So a message that is written in Unicode tag characters, or in variation selectors, is one box.
    """
    if _TAGS[0] <= character <= _TAGS[-1]:
        return "tags"
    if _SELECTORS[0] <= character <= _SELECTORS[2] or _SELECTORS[3] <= character <= _SELECTORS[-1]:
        return "selectors"
    return character


def _box(group: str) -> Segment:
    family = _family(group[0])
    if family == "tags":
        spelt = "".join(chr(ord(tag) - 0xE0000) for tag in group).replace("\x7f", "")
        return Segment(group, f"TAG {spelt}".rstrip(), f"{_range(group)} TAG CHARACTERS, which spell: {spelt}")
    if family == "selectors" and len(group) > 1:
        return Segment(group, f"VS \u00d7{len(group)}", f"{_range(group)} {len(group)} VARIATION SELECTORS")
    times = f" \u00d7{len(group)}" if len(group) > 1 else ""
    return Segment(group, _label(group[0]) + times, f"{_code(group[0])} {_name(group[0])}{times}")


def _label(character: str) -> str:
    if _family(character) == "selectors":
        code = ord(character)
        return f"VS{code - 0xFE00 + 1 if code < 0xFF00 else code - 0xE0100 + 17}"
    return _SHORT.get(character) or _code(character)


def _name(character: str) -> str:
    if name := _CONTROL_NAMES.get(character) or unicodedata.name(character, ""):
        return name
    category = unicodedata.category(character)
    if category == "Cc":
        return f"CONTROL {_SHORT[character]}"
    return "UNPAIRED SURROGATE" if category == "Cs" else "NOT A CHARACTER"


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _range(group: str) -> str:
    return _code(group[0]) if len(group) == 1 else f"{_code(group[0])}…{_code(group[-1])}"


def _blank_segments(text: str) -> Iterator[Segment]:
    """Yield a text with signs for its spaces and tabs. A run of equal blanks is one segment."""
    at = 0
    for match in _BLANKS.finditer(text):
        if at < match.start():
            yield Segment(text[at : match.start()])
        yield Segment(match[0], _BLANK_SIGNS[match[0][0]] * len(match[0]))
        at = match.end()
    if at < len(text):
        yield Segment(text[at:])

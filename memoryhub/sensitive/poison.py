"""Signs of poisoning: text hidden from the person who reads it, or text that impersonates a speaker to the model."""

import re
from collections.abc import Iterator

from memoryhub.sensitive.text import Place, Text
from memoryhub.text import visible

_TURNS = "\u202a-\u202e\u2066-\u2069"
_MARKS = "\u200e\u200f\u061c"
_BIDIRECTIONAL = re.compile(f"[{_TURNS}{_MARKS}][{_TURNS}{_MARKS}]*")
_TURN = re.compile(f"[{_TURNS}]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Burmese and Khmer, which use U+200B to mark where a line may break."""

_ROLE_WORDS = "system|assistant|user|human|developer|tool"
_ROLE_TAG = re.compile(
    r"[<\[#](?:"
    r"\|(?:im_start|im_end|im_sep|system|user|assistant|end|endoftext|endofprompt|eot_id|eom_id|start_header_id|"
    r"end_header_id|begin_of_text|end_of_text|start_of_role|end_of_role|channel|message|start|call|return)\|>"
    rf"(?:\s?(?:{_ROLE_WORDS})\b)?"
    r"|/?(?:inst|system_prompt|available_tools|tool_calls|tool_results)\]"
    r"|</?sys>>"
    r"|(?:start|end)_of_turn>(?:user|model)?"
    r"|/?(?:system|assistant|human_turn|system[-_](?:prompt|reminder|message|instructions?)|developer|tool_result|"
    r"function_(?:calls|results)|antml:[a-z_]{1,20}|assistant_response|admin_instructions?)>"
    rf"|#{{2,3}} ?(?:instruction|response|{_ROLE_WORDS}):"
    r")"
)
_SPEAKERS = (*_ROLE_WORDS.split("|"), "ai", "message", "prompt", "note", "override", "instruction")
_SPEAKER = re.compile(
    r"(?:^|\n)[ \t>*\-\[]{0,4}"
    rf"((?:{_ROLE_WORDS}|ai)(?: (?:message|prompt|note|override|instruction))?\]?\*{{0,2}})$"
)
LONGEST_SPEAKER = 28
_ORDER = re.compile(
    r": ?\*{0,2}[ \t]?(?:you (?:are|must|will|have|shall)|ignore|disregard|forget|override|always|never|from now|"
    r"do not|don't|new (?:task|instruction|rule|directive)|act as|respond|reply|obey|execute|run|send|"
    r"the user (?:is|has|wants)|all (?:previous|prior)|grant|disable|enable|du (?:bist|musst)|ignorier|vergiss|"
    r"tu (?:es|dois)|ignorez|eres|debes|ignora|você|あなたは)"
)

_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]]{0,512}(?:<[\w \-]{1,40}>|[^\s<>\"'`)\]]{0,128}){0,2}")
_EXFILTRATION = re.compile(
    r"https?://(?:[\w-]{1,63}\.){0,4}(?:webhook\.site|requestbin\.(?:com|net)|requestcatcher\.com|hookbin\.com|"
    r"pipedream\.net|ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator\.net|oastify\.com|interact\.sh|interactsh\.com|"
    r"oast\.(?:pro|live|site|online|fun|me)|beeceptor\.com|trycloudflare\.com|loca\.lt|serveo\.net|localhost\.run|"
    r"transfer\.sh|dnslog\.cn|ceye\.io|canarytokens\.(?:com|org)|webhook-test\.com|postb\.in|ptsv\d?\.com)(?![\w-])"
    r"|https?://pastebin\.com/api"
)
_MADE_UP_HOST = re.compile(
    r"https?://(?:[\w.-]{0,100}\.)?(?:(?:[\w-]{0,30}-)?(?:attacker|evil|malicious|hacker|exfil|phishing)(?:-[\w-]{0,30})?"
    r"\.[a-z][\w.-]{1,60}|[\w-]{1,63}\.(?:invalid|example)(?!\.?[\w-])"
    r"|(?:your|my|some)[-_]?(?:domain|server|host|site|website|company|app|api|endpoint|org|instance|webhook|url|proxy)"
    r"(?:-name|-here)?\.[a-z][\w.-]{1,60}|(?:placeholder|domain\.tld|website\.tld))"
)
_HOLE = r"(?:\$?\{{1,2}[^{}\s]{1,60}\}{1,2}|<[\w \-]{1,40}>|%7b[^%\s]{1,60}%7d|\[[a-z_ ]{3,40}\])"
_HOLE_IN_QUERY = re.compile(r"[?&#][\w.\[\]-]{0,40}=?[^\s&]{0,100}?" + _HOLE)
_STOLEN = re.compile(
    r"data|secret|conversation|chat|history|message|prompt|memor|token|passw|credential|api_?key|cookie|session|"
    r"user_?(?:info|input|name|mail|message)|e-?mail|context|summary|content|leak|exfil|answer|response|transcript"
)


def bidirectional(text: Text) -> Iterator[Place]:
    """Yield characters that change the direction of writing. On a line of Hebrew or Arabic, direction marks are
    legitimate."""
    if text.text.isascii():
        return
    for match in _BIDIRECTIONAL.finditer(text.text):
        if _TURN.search(match.group()) or not _RIGHT_TO_LEFT.search(_line_around(text.text, *match.span())):
            yield match.span()


def _line_around(text: str, start: int, end: int) -> str:
    """Return what is on the same line before and after a place, up to 200 characters on each side."""
    before = text[max(0, start - 200) : start].rpartition("\n")[2]
    return before + text[end : end + 200].partition("\n")[0]


def invisible(text: Text) -> Iterator[Place]:
    """Yield invisible characters, except those that a script or an emoji needs, and a byte order mark at the start."""
    if text.text.isascii() or not _UNSEEN.search(text.text):
        return
    start, end = 0, 0
    for place in _unseen(text.text):
        if place[0] != end and end > start:
            yield start, end
        start, end = (start, place[1]) if place[0] == end and end > start else place
    if end > start:
        yield start, end


def _unseen(text: str) -> Iterator[Place]:
    position = 0
    for segment in visible.segments(text):
        end = position + len(segment.text)
        if segment.label and _UNSEEN.match(segment.text) and not _is_fine(text, position, end):
            yield position, end
        position = end


def _is_fine(text: str, start: int, end: int) -> bool:
    if text[start:end] == "\ufeff":
        return start == 0
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return text[start] == "\u200b" and _WITHOUT_SPACES.search(around) is not None


def role_tags(text: Text) -> Iterator[Place]:
    """Yield tags that separate the speakers of a conversation, and lines that begin with the name of a speaker and an
    order."""
    low = text.low
    places = [match.span() for match in _ROLE_TAG.finditer(low)] if "<" in low or "[" in low or "###" in low else []
    return iter(sorted([*places, *_speakers(low)]))


def _speakers(low: str) -> Iterator[Place]:
    position = low.find(":")
    while position >= 0:
        before = low[max(0, position - LONGEST_SPEAKER) : position]
        if before.rstrip("*]").endswith(_SPEAKERS) and (order := _ORDER.match(low, position)):
            speaker = _SPEAKER.search(before)
            # `before` may begin in the middle of a line.
            if speaker and (before.startswith("\n") or speaker.start() or len(before) == position):
                yield speaker.start(1) + position - len(before), order.end()
        position = low.find(":", position + 1)


def placeholder_urls(text: Text) -> Iterator[Place]:
    """Yield URLs made to carry data away: hosts that capture requests, made-up hosts, and queries with a placeholder.

    A placeholder counts if its name suggests data that the reader has. In a Markdown image every placeholder counts,
    because showing the image sends the data.
    """
    if "http" not in text.low:
        return
    for match in _ADDRESS.finditer(text.low):
        address = match.group().rstrip(".,;:")
        if _leads_away(address, in_image=_is_in_image(text.low, match.start())):
            yield match.start(), match.start() + len(address)


def _is_in_image(text: str, position: int) -> bool:
    before = text[max(0, position - 80) : position]
    return before.endswith("](") and "![" in before


def _leads_away(address: str, *, in_image: bool) -> bool:
    if _EXFILTRATION.match(address) or _MADE_UP_HOST.match(address):
        return True
    hole = _HOLE_IN_QUERY.search(address)
    return hole is not None and (in_image or _STOLEN.search(hole.group()) is not None)

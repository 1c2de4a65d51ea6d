"""Signs of poisoning: text hidden from the person who reads it, or text that impersonates a speaker to the model."""

import re
from collections.abc import Iterable, Iterator

from memoryhub.pure.sensitive.text import Place, Text
from memoryhub.pure.text import visible

_TURNS = "\u202a-\u202e\u2066-\u2069"
_MARKS = "\u200e\u200f\u061c"
_BIDIRECTIONAL = re.compile(f"[{_TURNS}{_MARKS}]")
_TURN = re.compile(f"[{_TURNS}]")
_RIGHT_TO_LEFT = "\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_DIRECTIONS = re.compile(
    rf"[\n{_TURNS}{_MARKS}{_RIGHT_TO_LEFT}](?:(?<=[{_TURNS}{_MARKS}])(?P<signs>[{_TURNS}{_MARKS}]*)"
    rf"|(?<=[{_RIGHT_TO_LEFT}])(?P<letters>[{_RIGHT_TO_LEFT}]*)|(?<=\n)[^{_RIGHT_TO_LEFT}{_TURNS}{_MARKS}]*)"
)
NEAR = 200
"""Within how many characters before or after a direction mark a letter of Hebrew or Arabic makes the mark
legitimate."""

_UNSEEN = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WITHOUT_SPACES = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
"""The scripts Thai, Lao, Burmese and Khmer: they use U+200B to mark where a line may break."""

_ANY_UNSEEN = re.compile(_UNSEEN)
_RUN = re.compile(
    rf"{_UNSEEN}(?!{visible.FINE_ALONE}|(?<={_WITHOUT_SPACES}\u200b)(?!\u200b)|(?<=\A\ufeff)(?!\ufeff))"
    rf"(?:{visible.FINE_FROM_HIDDEN}(?P<after>[\ufe0e\U000e0067]{_UNSEEN}*)?|(?<={_WITHOUT_SPACES}\u200b)\u200b+"
    rf"|(?P<run>{_UNSEEN}*))"
)
"""An invisible character, and the characters after it that belong to it. The pattern begins with this character, which
is rare and fast to find, and looks back for what makes it legitimate. The group `after` has invisible characters that
follow an emoji but do not belong to the emoji."""

_BREAK_BEFORE = re.compile(_WITHOUT_SPACES)

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
_HOLES = ("{", "<", "%7b", "[")
"""How a placeholder in a URL begins."""
_HOLE_IN_QUERY = re.compile(r"[?&#][\w.\[\]-]{0,40}=?[^\s&]{0,100}?" + _HOLE)
_STOLEN = re.compile(
    r"data|secret|conversation|chat|history|message|prompt|memor|token|passw|credential|api_?key|cookie|session|"
    r"user_?(?:info|input|name|mail|message)|e-?mail|context|summary|content|leak|exfil|answer|response|transcript"
)


def bidirectional(text: Text) -> Iterable[Place]:
    """Return the places of characters that change the direction of writing.

    Direction marks near Hebrew or Arabic letters of their line are left out.
    """
    if text.text.isascii() or not _BIDIRECTIONAL.search(text.text):
        return []
    found: list[Place] = []
    waiting: list[Place] = []
    letters_end = -NEAR
    for match in text.each(_DIRECTIONS.finditer(text.text), 1):
        start, end = match.span()
        if match.lastgroup == "letters":
            found += [place for place in waiting if start - place[1] >= NEAR]
            waiting, letters_end = [], end
        elif match.lastgroup is None:  # the line ends
            found += waiting
            waiting, letters_end = [], -NEAR
        elif _TURN.search(text.text, start, end):
            found.append((start, end))
        elif start - letters_end >= NEAR:
            waiting.append((start, end))
    return sorted([*found, *waiting])


def invisible(text: Text) -> Iterator[Place]:
    """Yield the places of invisible characters.

    Those that a script or an emoji needs, and a byte order mark, are left out.
    """
    if text.text.isascii() or not _ANY_UNSEEN.search(text.text):
        return
    for match in text.each(_RUN.finditer(text.text), 1):
        start, end = match.span() if match.lastgroup == "run" else match.span("after")
        if start >= 0 and text.text[end - 1] == "\u200b" and _BREAK_BEFORE.match(text.text, end):
            end = start + len(text.text[start:end].rstrip("\u200b"))
        if start < end:
            yield start, end


def role_tags(text: Text) -> Iterator[Place]:
    """Yield the places of tags that separate the speakers of a conversation, and of line beginnings that name a speaker
    and then give an order, as `system: ignore`."""
    low = text.low
    beginnings = sum(map(low.count, "<[#"))
    text.spend(beginnings // 12)
    places = [match.span() for match in _ROLE_TAG.finditer(low)] if beginnings else []
    return iter(sorted([*places, *_speakers(text)]))


def _speakers(text: Text) -> Iterator[Place]:
    low = text.low
    text.spend(low.count(":") // 6)
    for order in text.each(_ORDER.finditer(low), 2):
        position = order.start()
        before = low[max(0, position - LONGEST_SPEAKER) : position]
        if before.rstrip("*]").endswith(_SPEAKERS):
            speaker = _SPEAKER.search(before)
            # `before` may begin in the middle of a line.
            if speaker and (before.startswith("\n") or speaker.start() or len(before) == position):
                yield speaker.start(1) + position - len(before), order.end()


def placeholder_urls(text: Text) -> Iterator[Place]:
    """Yield the places of URLs that are made to carry data away.

    Such a URL has a host that captures requests, a made-up host, or a query with a placeholder for data that the model
    knows, as in `?history={…}`. In a Markdown image every placeholder counts, because showing the image sends the data.
    """
    if "http" not in text.low:
        return
    for match in text.each(_ADDRESS.finditer(text.low), 5):
        address = match.group().rstrip(".,;:")
        holes = any(map(address.__contains__, _HOLES))
        if holes:
            text.spend(25 * sum(map(address.count, "?&#")))
        if _leads_away(address, holes=holes, in_image=_is_in_image(text.low, match.start())):
            yield match.start(), match.start() + len(address)


def _is_in_image(text: str, position: int) -> bool:
    before = text[max(0, position - 80) : position]
    return before.endswith("](") and "![" in before


def _leads_away(address: str, *, holes: bool, in_image: bool) -> bool:
    if _EXFILTRATION.match(address) or _MADE_UP_HOST.match(address):
        return True
    hole = _HOLE_IN_QUERY.search(address) if holes else None
    return hole is not None and (in_image or _STOLEN.search(hole.group()) is not None)

"""Markdown of a memory as safe HTML: without scripts, styles, external images or ids.

The text may be hostile: the parser passes no HTML through, and an allow-list cleans its output.
What Markdown hides from a reader (titles, definitions of links …) is shown as text, because agents read it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from functools import partial
from html import unescape
from time import thread_time
from typing import Any

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_block.table import escapedSplit, getLine
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token
from pygments import format as format_tokens
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from memoryhub.pure.text import visible

# The library that encodes addresses fills its tables at first use; meanwhile, other threads can read incomplete tables.
MarkdownIt("commonmark").render("<https://example.com/ü%20>")

LARGEST = 200 * 1024
"""The largest text that is rendered, in bytes of UTF-8."""

MOST_CELLS = 20_000
"""The most table cells in one text. Even a row of one character has a cell for each column of its table."""

MOST_BRACKETS = 20_000
"""The most brackets in one text that are tried as the beginning of a link or an image. Hostile brackets take twenty
times as long as other characters."""

MOST_CODE = 10_000
"""The most characters of code that are highlighted in one text."""

PATIENCE = 0.1
"""The CPU seconds for highlighting one block of code, because for some texts the lexers need unbounded time."""

# Only lexers that took at most half a second for a hostile block (long runs of blanks are excluded separately).
_LANGUAGES = (
    "bash css diff docker dockerfile go html javascript js json markdown md py python rb rs ruby rust sh shell sql toml"
    " ts typescript xml yaml yml"
)
_TAGS = (
    "a blockquote br code del div em h2 h3 h4 h5 h6 hr input li ol p pre s span strong table tbody td th thead tr ul"
)

_ADDRESS = re.compile(r"https?://[^\W_][^\s<>\"`\[\]{}|\\^\u3001\u3002\u300c-\u3011\uff08\uff09]*", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\](?=\s)\s*")
_PUNCTUATION = "?!.,:;*_~'"
_LONG_BLANK = re.compile(r"\s{100}")
_TAG = re.compile(r"(<[^>]*>)")
LANGUAGES = frozenset(_LANGUAGES.split())
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="hl-")

_CLEANER = nh3.Cleaner(
    tags=set(_TAGS.split()),
    clean_content_tags=set(),
    attributes={
        "*": set(),
        "a": {"href"},
        "div": {"tabindex"},
        "input": {"checked", "disabled", "aria-label"},
        "ol": {"start"},
        "span": {"title"},
    },
    tag_attribute_values={"input": {"type": {"checkbox"}}},
    allowed_classes={
        "div": {"markdown-table"},
        "li": {"task"},
        "span": {f"hl-{name}" for name in STANDARD_TYPES.values() if name} | {"hidden-character", "image-not-loaded"},
        "td": {"align-left", "align-center", "align-right"},
        "th": {"align-left", "align-center", "align-right"},
    },
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="nofollow noopener noreferrer",
)


def render(text: str) -> SafeString:
    """Return the text as HTML for an element of class `markdown`; headings start at `h2`."""
    if len(text) > LARGEST or len(text.encode("utf-8", "replace")) > LARGEST:
        return format_html("<p>{}</p>", _("This text is larger than 200 KB, so it is not rendered. Read it as text."))
    env: dict[str, Any] = {}
    html = mark_safe(_CLEANER.clean(_with_boxes(_PARSER.render(text, env))))
    if env.get("brackets", 0) < MOST_BRACKETS:
        return html
    reason = _("This text has too many brackets: after some of them, links are not rendered. Read it as text.")
    return format_html("<p>{}</p>{}", reason, html)


def _with_boxes(html: str) -> str:
    """Return the HTML with a box around each hidden character."""
    if not visible.has_hidden(html):
        return html
    return "".join(
        visible.without_hidden(part) if part.startswith("<") else visible.to_html(unescape(part))
        for part in _TAG.split(html)
    )


class _Parser(MarkdownIt):
    """A parser that shows addresses as they are written, because a decoded address would differ from the link."""

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802 - the library's name
        return link


def _parser() -> MarkdownIt:
    # a rule of the hub finds links: the library's takes minutes for 200 KB of hostile text
    parser = _Parser("gfm-like", {"html": False, "linkify": False, "xhtmlOut": False, "highlight": _highlight})
    parser.block.ruler.at("table", _bounded_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.disable("reference")
    parser.inline.ruler.at("link", partial(_bounded, link))
    parser.inline.ruler.at("image", partial(_bounded, image))
    parser.core.ruler.push("hub", _adapt)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


def _highlight(code: str, language: str, _attributes: str) -> str:
    """Return code as HTML with highlighting classes, or an empty string to leave the code plain."""
    if language.lower() not in LANGUAGES or _LONG_BLANK.search(code):
        return ""
    lexer = get_lexer_by_name(language.lower(), stripnl=False)
    try:
        return str(format_tokens(_in_time(lexer.get_tokens(code)), _FORMATTER))
    except TimeoutError:
        return ""


def _in_time(tokens: Iterable[tuple[object, str]]) -> Iterator[tuple[object, str]]:
    end = thread_time() + PATIENCE
    for token in tokens:
        if thread_time() > end:
            raise TimeoutError
        yield token


def _bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table and return True. Return False if the text is not a table.

    Return False also if this table and the tables before it have more than MOST_CELLS cells together. Then this table
    and all tables after it stay plain text.
    """
    if "tables_are_text" in state.env or not table(state, start, end, True):
        return False
    if silent:
        return True
    columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
    left = (MOST_CELLS - state.env.get("cells", 0)) // columns
    rows = next((row for row in range(min(left, end - start)) if state.isEmpty(start + row)), min(left, end - start))
    if rows == left:
        state.env["tables_are_text"] = True
        return False
    state.env["cells"] = state.env.get("cells", 0) + columns * rows
    first = len(state.tokens)
    table(state, start, end, False)
    _keep_all_cells(state, state.tokens[first:])
    return True


def _keep_all_cells(state: StateBlock, tokens: Iterable[Token]) -> None:
    """If a row has more cells than the table has columns, add the surplus cells to the cell in the last column."""
    rows: dict[int, list[Token]] = {}
    for token in tokens:
        if token.type == "inline" and token.map:
            rows.setdefault(token.map[0], []).append(token)
    for line, shown in rows.items():
        cells = [cell.strip() for cell in escapedSplit(getLine(state, line).strip().removeprefix("|"))]
        while not cells[-1] and len(cells) > len(shown):
            cells.pop()
        if len(cells) > len(shown):
            shown[-1].content = " | ".join(cells[len(shown) - 1 :])


def _bounded(rule: Callable[[StateInline, bool], bool], state: StateInline, silent: bool) -> bool:
    """Parse a link or an image and return True. Return False if there is none, or after MOST_BRACKETS attempts."""
    if not state.src.startswith(("[", "!["), state.pos) or state.env.get("brackets", 0) >= MOST_BRACKETS:
        return False
    state.env["brackets"] = state.env.get("brackets", 0) + 1
    return rule(state, silent)


def _adapt(state: StateCore) -> None:
    """Change the tokens: lower the headings, make task lists, link plain addresses, and replace styles by classes."""
    code = 0
    for position, token in enumerate(state.tokens):
        if token.type == "fence":
            code += len(token.content) + 100
            token.meta["written"] = token.info.strip()
            token.info = token.info if code <= MOST_CODE else ""
        elif token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        elif token.type in ("td_open", "th_open") and "style" in token.attrs:
            token.attrs = {"class": str(token.attrs["style"]).replace("text-align:", "align-")}
        elif token.type == "inline" and token.children:
            if position > 1 and state.tokens[position - 2].type == "list_item_open":
                _make_task(state.tokens[position - 2], token.children)
            token.children = _with_links(state.md, token.children)


def _make_task(item: Token, children: list[Token]) -> None:
    """Turn a list item that starts with `[ ]` or `[x]` into a task with a disabled checkbox."""
    found = _TASK.match(children[0].content) if children[0].type == "text" else None
    if not found:
        return
    done = found[1] != " "
    item.attrs["class"] = "task"
    children[0].content = children[0].content[found.end() :]
    label = _("done") if done else _("to do")
    box = '<input type="checkbox" disabled{} aria-label="{}"> '
    children.insert(0, Token("html_inline", "", 0, content=format_html(box, mark_safe(" checked" * done), label)))


def _with_links(parser: MarkdownIt, tokens: Sequence[Token]) -> list[Token]:
    """Turn plain addresses in the text into links, except inside existing links. If a link has a title, show the title
    after the link. If a link has no text, show its address."""
    result: list[Token] = []
    opened: list[int] = []
    for token in tokens:
        if token.type == "text" and not opened and "://" in token.content:
            result += _linked(parser, token.content)
            continue
        if token.type == "link_open":
            opened.append(len(result))
        elif token.type == "link_close" and opened:
            at = opened.pop()
            if not any(one.content.strip() or one.type == "image" for one in result[at + 1 :]):
                result.append(_text(str(result[at].attrs["href"])))
            if title := result[at].attrs.get("title"):
                result += [token, _text(f' "{title}"')]
                continue
        result.append(token)
    return result


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _linked(parser: MarkdownIt, text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    for match in _ADDRESS.finditer(text):
        address = _without_end(match[0])
        href = parser.normalizeLink(address)
        if parser.validateLink(href):
            tokens += [
                _text(text[at : match.start()]),
                Token("link_open", "a", 1, attrs={"href": href}),
                _text(address),
                Token("link_close", "a", -1),
            ]
            at = match.start() + len(address)
    return [*tokens, _text(text[at:])]


def _without_end(address: str) -> str:
    """Remove punctuation from the end of an address."""
    end = len(address)
    closing = address.count(")") - address.count("(")
    while address[end - 1] in _PUNCTUATION or (closing > 0 and address[end - 1] == ")"):
        closing -= address[end - 1] == ")"
        end -= 1
    return address[:end]


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """Return the description, address and title of an image instead of the image."""
    image = tokens[index]  # loading it would tell its server who reads which memory and when
    name = renderer.renderInlineAsText(image.children or [], options, env)
    title = f' "{image.attrs["title"]}"' if image.attrs.get("title") else ""
    words = {"name": name, "address": f"{image.attrs.get('src', '')}{title}"}
    text = _("%(name)s (image not loaded: %(address)s)") if name else _("image not loaded: %(address)s")
    return format_html('<span class="image-not-loaded">{}</span>', text % words)


def _fence(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """Return a block of code. The words beside its opening ``` are shown above it, unless they are only the name of a
    known language."""
    code, written = renderer.fence(tokens, index, options, env), tokens[index].meta.get("written", "")
    return code if not written or written.lower() in LANGUAGES else format_html("<p>{}</p>{}", written, mark_safe(code))


def _table_open(*_arguments: object) -> str:
    return '<div class="markdown-table" tabindex="0"><table>\n'


def _table_close(*_arguments: object) -> str:
    return "</table></div>\n"


_PARSER = _parser()

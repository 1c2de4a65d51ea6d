"""The rows of a comparison as table rows, built in Python because templates are too slow for thousands of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _, ngettext

from memoryhub.pure.text.diffs import Diff, Gap, Row, Span, split, unified
from memoryhub.pure.text.visible import to_html
from memoryhub.web.common.texts.highlights import label
from memoryhub.web.common.versions.comparisons import NOWHERE, Heads, Lined, Sides

register = template.Library()

MOST_BYTES = 1_000_000
"""The most bytes of HTML of all comparisons on one page together; further rows are on further pages."""
MOST_OF_LINE = 60_000
"""The most bytes of HTML for one side of one line. Hidden characters that are made visible can make the HTML much
longer than the text."""
_PIECE = 500

NO_CELLS = '<td class="diff-void" colspan="3"></td>'


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of a comparison as HTML. `prefix` is what comes before the number in the id of a change."""

    rows: SafeString
    prefix: str


@register.simple_tag(takes_context=True)
def comparison(
    context: template.Context, diff: Diff, mode: str, expand_url: str = "", rest_url: str = "", after: int = 0
) -> Comparison:
    """Return the rows of a table of four columns (unified) or six (split); `mode` says which.

    Unified rows have two numbers, a sign and the text. Split rows have a number, a sign and the text for each side.
    The ids of the changes are `change-1`, `change-2` …, and in the second comparison of a page `diff-2-change-1` ….
    The first `after` rows are left out. If the page has no room for all the other rows, the last row links to the next
    piece at `rest_url`.

    The context may have `sides` (the pages of the two texts), `heads` (a row above each unified change), and `lined`
    (HTML for each unified line); see `web.common.versions.comparisons`.
    """
    number = next_piece(context)
    prefix = "change-" if number == 1 else f"diff-{number}-change-"
    sides = context.get("sides") or NOWHERE
    heads, columns = context.get("heads"), 6 if mode == "split" else 4
    lined = context.get("lined")
    frame = _Frame(diff, prefix, expand_url, _Labels.translated(), sides, columns=columns, heads=heads, lined=lined)
    rows = _split_rows(frame) if mode == "split" else _unified_rows(frame)
    rest_url = rest_url or sides.address
    if rest_url and number > 1:
        rest_url += f"&piece={number}"
    return Comparison(mark_safe("".join(_in_room(context.dicts[0], frame, rows, rest_url, after))), prefix)


@register.simple_tag(takes_context=True)
def next_piece(context: template.Context) -> int:
    """Return the number of the page's next comparison. The comparisons of a page are counted over all its templates.

    If this page is a piece that will be loaded into another page, counting starts with the parameter `piece`.
    """
    page = context.dicts[0]
    if "_comparisons" not in page:
        request = context.get("request")
        piece = request.GET.get("piece", "") if request is not None else ""
        page["_comparisons"] = int(piece) - 1 if piece.isascii() and piece.isdigit() and 0 < len(piece) < 6 else 0
    page["_comparisons"] += 1
    number: int = page["_comparisons"]
    return number


def _in_room(page: dict[str, Any], frame: "_Frame", rows: Iterable[str], rest_url: str, after: int) -> Iterator[str]:
    """Yield the rows without the first `after` rows, until the HTML of the page's tables reaches MOST_BYTES.

    If rows at the end are left out, the last row says which lines are missing. If `after` is not 0, the first row links
    to the beginning.
    """
    left: int = page.get("_comparison_room", MOST_BYTES)
    if after:
        yield _before(frame, rest_url)
    shown = 0
    for number, row in enumerate(rows):
        if number < after:
            continue
        size = len(row.encode("utf-8", "surrogatepass"))
        if size > left and (shown or left < MOST_BYTES):
            yield _rest(frame, rest_url, number)
            break
        left, shown = left - size, shown + 1
        frame.shown_old, frame.shown_new = frame.old_number, frame.new_number
        yield row
    page["_comparison_room"] = left


def _before(frame: "_Frame", rest_url: str) -> str:
    link = f'<a href="{escape(rest_url)}">{escape(_("Show from the beginning"))}</a>'
    return f'<tr class="diff-gap diff-before"><td colspan="{frame.columns}">{link}</td></tr>\n'


def _rest(frame: "_Frame", rest_url: str, after: int) -> str:
    """Return the row that says which lines do not fit on the page.

    The row links to the next piece, in which the first `after` rows are left out. Without a `rest_url`, it links to the
    new text.
    """
    diff = frame.diff
    words = _("Not shown here: lines %(old)s to %(old_last)s before, lines %(new)s to %(new_last)s after.") % {
        "old": min(frame.shown_old + 1, diff.old_lines),
        "old_last": diff.old_lines,
        "new": min(frame.shown_new + 1, diff.new_lines),
        "new_last": diff.new_lines,
    }
    link = ""
    if rest_url:
        url = escape(f"{rest_url}&after={after}")
        more = 'hx-target="closest tr" hx-swap="outerHTML" hx-select=".diff tbody tr:not(.diff-before)"'
        link = f' <a href="{url}" hx-get="{url}" {more}>{escape(_("Show more"))}</a>'
    elif frame.sides.new_url:
        url = escape(_at_line(frame.sides.new_url, min(frame.shown_new + 1, diff.new_lines)))
        link = f' <a href="{url}">{escape(_("Show the text"))}</a>'
    return f'<tr class="diff-gap diff-rest"><td colspan="{frame.columns}">{escape(words)}{link}</td></tr>\n'


@dataclass(frozen=True, slots=True)
class _Labels:
    """HTML that many rows repeat, in the reader's language."""

    added: str
    removed: str
    unended: str
    previous: str
    next: str

    @classmethod
    def translated(cls) -> "_Labels":
        return cls(
            added=_sign("+", _("added")),
            removed=_sign("\N{MINUS SIGN}", _("removed")),
            unended=f' <span class="diff-unended">{escape(_("no newline at the end"))}</span>',
            previous=escape(_("Previous change")),
            next=escape(_("Next change")),
        )


@dataclass(slots=True)
class _Frame:
    """The state that all rows of one table share; `position` counts the changes that have begun."""

    diff: Diff
    prefix: str
    expand_url: str
    labels: _Labels
    sides: Sides
    columns: int
    heads: Heads | None = None
    lined: Lined | None = None
    position: int = 0
    in_change: bool = False
    old_number: int = 0
    new_number: int = 0
    shown_old: int = 0
    shown_new: int = 0

    def at(self, part: Row | Gap) -> None:
        """Record the numbers of the last old and the last new line up to and including `part`."""
        if isinstance(part, Gap):
            self.old_number, self.new_number = part.old_first + part.count - 1, part.new_first + part.count - 1
        else:
            self.old_number, self.new_number = part.old_number or self.old_number, part.new_number or self.new_number

    def start(self, changes: bool) -> tuple[str, str]:
        """Return the id attribute of a row and the links to the neighbouring changes; empty unless a change begins at
        the row.

        `changes`: the row belongs to a change.
        """
        starts = changes and not self.in_change
        self.in_change = changes
        if not starts:
            return "", ""
        self.position += 1
        return f' id="{self.prefix}{self.position}"', self._jumps()

    def body(self, changes: bool) -> str:
        """If a change begins or ends before the next row, return HTML that ends a body of the table and starts another.

        Otherwise, or without `heads`, return "". `changes` is whether the next row belongs to a change.
        """
        if self.heads is None or changes == self.in_change:
            return ""
        if not changes:
            return "</tbody><tbody>"
        head = self.heads.head(self.position + 1)
        return f'</tbody><tbody class="diff-hunk"><tr class="diff-head"><td colspan="{self.columns}">{head}</td></tr>\n'

    def numbers(self, row: Row) -> tuple[str, str, str]:
        """Return the cells with the numbers of a unified row, and the HTML of an extra row below it; "" if there is no
        extra row."""
        old, new = str(row.old_number or ""), str(row.new_number or "")
        if self.lined is None:
            return old, new, ""
        is_old = row.kind == "removed"
        line = (row.old_number if is_old else row.new_number) or 0
        below = self.lined.below(line, is_old=is_old)
        below = below and f'<tr class="diff-below"><td colspan="{self.columns}">{below}</td></tr>\n'
        number = self.lined.number(line, is_old=is_old)
        return (number, new, below) if is_old else (old, number, below)

    def _jumps(self) -> str:
        if self.diff.changes < 2:
            return ""
        before = self._jump(self.position - 1, "\N{UPWARDS ARROW}", self.labels.previous)
        after = self._jump(self.position + 1, "\N{DOWNWARDS ARROW}", self.labels.next)
        return f'<span class="diff-jumps">{before}{after}</span>'

    def _jump(self, to: int, arrow: str, label: str) -> str:
        if not 1 <= to <= self.diff.changes:
            return ""
        return f'<a href="#{self.prefix}{to}" aria-label="{label}" title="{label}">{arrow}</a>'

    def old_text(self, row: Row) -> str:
        unended = self.diff.old_no_newline and self._end_differs(row.old_number, self.diff.old_lines)
        url = self.sides.old_url and _at_line(self.sides.old_url, row.old_number)
        return self.labelled(row.old or (), "del", url) + (self.labels.unended if unended else "")

    def new_text(self, row: Row) -> str:
        unended = self.diff.new_no_newline and self._end_differs(row.new_number, self.diff.new_lines)
        url = self.sides.new_url and _at_line(self.sides.new_url, row.new_number)
        return self.labelled(row.new or (), "ins", url) + (self.labels.unended if unended else "")

    def labelled(self, spans: tuple[Span, ...], mark: str, url: str = "") -> str:
        """Return a line as HTML, followed by the labels of this line. `url` is the page that shows the whole line."""
        beside = self.diff.labels.get("".join(span.text for span in spans), ()) if self.diff.labels else ()
        return _text(spans, mark, url) + "".join(map(label, beside))

    def _end_differs(self, number: int | None, last: int) -> bool:
        """Return whether line `number` is the last line of its text, and only one of the two texts ends with a line
        feed.

        `last` is the number of the last line. If one of the texts is empty, return False.
        """
        diff = self.diff
        return number == last and diff.old_no_newline != diff.new_no_newline and min(diff.old_lines, diff.new_lines) > 0


def _unified_rows(frame: _Frame) -> Iterator[str]:
    for part in unified(frame.diff):
        frame.at(part)
        if isinstance(part, Gap):
            yield frame.body(changes=False) + _gap(part, frame)
            continue
        body = frame.body(part.kind != "same")
        name, jumps = frame.start(part.kind != "same")
        sign = {"added": frame.labels.added, "removed": frame.labels.removed}.get(part.kind, "")
        text = frame.old_text(part) if part.kind == "removed" else frame.new_text(part)
        old, new, below = frame.numbers(part)
        yield (
            f'{body}<tr class="diff-{part.kind}"{name}><td class="diff-number">{old}</td>'
            f'<td class="diff-number">{new}</td><td class="diff-sign">{sign}</td>'
            f'<td class="diff-text">{jumps}{text}</td></tr>\n{below}'
        )


def _split_rows(frame: _Frame) -> Iterator[str]:
    for part in split(frame.diff):
        frame.at(part)
        if isinstance(part, Gap):
            yield _gap(part, frame)
        elif part.kind == "same":
            frame.start(changes=False)
            old = _cells("", part.old_number, "", frame.labelled(part.old or (), "del"))
            new = _cells("", part.new_number, "", frame.labelled(part.new or (), "ins"))
            yield f'<tr class="diff-same">{old}{new}</tr>\n'
        else:
            name, jumps = frame.start(changes=True)
            old = NO_CELLS if part.old is None else _old_cells(frame, part, jumps if part.new is None else "")
            new = NO_CELLS if part.new is None else _new_cells(frame, part, jumps)
            yield f'<tr class="diff-changed"{name}>{old}{new}</tr>\n'


def _old_cells(frame: _Frame, row: Row, jumps: str) -> str:
    return _cells(" diff-removed", row.old_number, frame.labels.removed, jumps + frame.old_text(row))


def _new_cells(frame: _Frame, row: Row, jumps: str) -> str:
    return _cells(" diff-added", row.new_number, frame.labels.added, jumps + frame.new_text(row))


def _cells(kind: str, number: int | None, sign: str, text: str) -> str:
    return (
        f'<td class="diff-number{kind}">{number}</td><td class="diff-sign{kind}">{sign}</td>'
        f'<td class="diff-text{kind}">{text}</td>'
    )


def _gap(gap: Gap, frame: _Frame) -> str:
    """Return the row for equal lines that are left out. With an `expand_url`, it links to the page that shows them."""
    frame.in_change = False
    words = ngettext("%(count)s unchanged line", "%(count)s unchanged lines", gap.count) % {"count": gap.count}
    text: str = escape(words)
    if frame.expand_url:
        target = f"{frame.expand_url}#{frame.prefix}{min(frame.position + 1, frame.diff.changes)}"
        label = escape(_("Show %(lines)s") % {"lines": words})
        text = f'<a href="{escape(target)}" aria-label="{label}">{text}</a>'
    return f'<tr class="diff-gap"><td colspan="{frame.columns}">{text}</td></tr>\n'


def _sign(sign: str, meaning: str) -> str:
    return f'<span aria-hidden="true">{sign}</span><span class="visually-hidden">{escape(meaning)}</span>'


def _at_line(url: str, number: int | None) -> str:
    """Return the URL of a text with a fragment that leads to a line."""
    return f"{url}?first={number}#L{number}" if number else url


def _text(spans: tuple[Span, ...], mark: str, url: str = "") -> str:
    """Return a line as HTML, with signs for blanks that were added or removed.

    A line that is too long for the page is cut; `url` is the page that shows the whole line.
    """
    made: list[str] = []
    left = MOST_OF_LINE
    for number, span in enumerate(spans):
        html = _span(span, span.text, mark)
        if (size := len(html.encode("utf-8", "surrogatepass"))) > left:
            shown, html = _beginning(span, mark, left)
            rest = len(span.text) - shown + sum(len(later.text) for later in spans[number + 1 :])
            words = _("… %(count)s more characters of this line are not shown") % {"count": f"{rest:,}"}
            link = f' <a href="{escape(url)}">{escape(_("Show the line"))}</a>' if url else ""
            return f'{"".join(made)}{html} <span class="diff-unended">{escape(words)}{link}</span>'
        left -= size
        made.append(html)
    return "".join(made)


def _span(span: Span, text: str, mark: str) -> str:
    """Return `text`, which is the span's text or a piece of it, as HTML.

    If the span is marked, an element is put around the HTML; `mark` is the name of this element.
    """
    html = to_html(text, show_whitespace=span.marked and span.text.isspace())
    return f"<{mark}>{html}</{mark}>" if span.marked else html


def _beginning(span: Span, mark: str, room: int) -> tuple[int, str]:
    """Return the beginning of a span that fits in `room` bytes: the number of its characters, and its HTML."""
    shown = 0
    made: list[str] = []
    while shown < len(span.text):
        html = _span(span, span.text[shown : shown + _PIECE], mark)
        room -= len(html.encode("utf-8", "surrogatepass"))
        if room < 0:
            break
        shown += _PIECE
        made.append(html)
    return min(shown, len(span.text)), "".join(made)

"""The rows of a comparison as table rows: built in Python, since thousands of them are too slow as templates."""

from collections.abc import Iterator
from dataclasses import dataclass

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoryhub.diffs import Diff, Gap, Row, Span, split, unified
from memoryhub.visible import to_html
from memoryhub.web.findings_marks import label

register = template.Library()

NO_CELLS = '<td class="diff-void" colspan="3"></td>'


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows as HTML, and what stands before the number of a change in its id."""

    rows: SafeString
    prefix: str


@register.simple_tag(takes_context=True)
def comparison(context: template.Context, diff: Diff, mode: str, expand_url: str = "") -> Comparison:
    """The rows of a table of four columns (unified: two numbers, sign, text) or six (split: number, sign, text, twice).

    Changes have the ids `change-1`, `change-2` …; in the second comparison of a page `diff-2-change-1` …
    """
    prefix = _prefix(context)
    labels = _Labels.translated()
    frame = _Frame(diff, prefix, expand_url, labels, columns=6 if mode == "split" else 4)
    rows = _split_rows(frame) if mode == "split" else _unified_rows(frame)
    return Comparison(mark_safe("".join(rows)), prefix)


def _prefix(context: template.Context) -> str:
    """Comparisons are counted where all templates of one page look: no id may stand there twice."""
    page = context.dicts[0]
    page["_comparisons"] = number = page.get("_comparisons", 0) + 1
    return "change-" if number == 1 else f"diff-{number}-change-"


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
    """What all rows of one table share; `position` counts the changes that have begun."""

    diff: Diff
    prefix: str
    expand_url: str
    labels: _Labels
    columns: int
    position: int = 0
    in_change: bool = False

    def start(self, changes: bool) -> tuple[str, str]:
        """For a row: the attribute that names the change that starts here, and the links to those around it."""
        starts = changes and not self.in_change
        self.in_change = changes
        if not starts:
            return "", ""
        self.position += 1
        return f' id="{self.prefix}{self.position}"', self._jumps()

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
        return self.labelled(row.old or (), "del") + (self.labels.unended if unended else "")

    def new_text(self, row: Row) -> str:
        unended = self.diff.new_no_newline and self._end_differs(row.new_number, self.diff.new_lines)
        return self.labelled(row.new or (), "ins") + (self.labels.unended if unended else "")

    def labelled(self, spans: tuple[Span, ...], mark: str) -> str:
        """A line with what stands beside it."""
        beside = self.diff.labels.get("".join(span.text for span in spans), ()) if self.diff.labels else ()
        return _text(spans, mark) + "".join(map(label, beside))

    def _end_differs(self, number: int | None, last: int) -> bool:
        """Whether a line is the last one of a text that ends in another way than the other, neither being empty."""
        diff = self.diff
        return number == last and diff.old_no_newline != diff.new_no_newline and min(diff.old_lines, diff.new_lines) > 0


def _unified_rows(frame: _Frame) -> Iterator[str]:
    for part in unified(frame.diff):
        if isinstance(part, Gap):
            yield _gap(part, frame)
            continue
        name, jumps = frame.start(part.kind != "same")
        sign = {"added": frame.labels.added, "removed": frame.labels.removed}.get(part.kind, "")
        text = frame.old_text(part) if part.kind == "removed" else frame.new_text(part)
        yield (
            f'<tr class="diff-{part.kind}"{name}><td class="diff-number">{part.old_number or ""}</td>'
            f'<td class="diff-number">{part.new_number or ""}</td><td class="diff-sign">{sign}</td>'
            f'<td class="diff-text">{jumps}{text}</td></tr>\n'
        )


def _split_rows(frame: _Frame) -> Iterator[str]:
    for part in split(frame.diff):
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
    """The row for equal lines that are left out, with the link to the page that shows them."""
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


def _text(spans: tuple[Span, ...], mark: str) -> str:
    """A line as HTML; blanks that were added or removed have signs, since nobody sees them otherwise."""
    return "".join(
        f"<{mark}>{to_html(span.text, show_whitespace=span.text.isspace())}</{mark}>"
        if span.marked
        else to_html(span.text)
        for span in spans
    )

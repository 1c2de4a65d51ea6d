"""Comments on the lines of a proposal.

They are shown below the line or, if the line is not shown, beside the comparison.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from memoryhub.actions.comments.on_proposals import Draft, Place
from memoryhub.models import Comment, MemoryStore
from memoryhub.pure.text.diffs import Gap, unified
from memoryhub.web.comments.threads import Thread, for_forms
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.proposals.drafts import OPEN, Drafts, name_of
from memoryhub.web.proposals.preview import Row


@dataclass(frozen=True, slots=True)
class OfLines:
    """The lines of one comparison.

    `here` is the place of the compared texts, or None if the person may not comment. `html` is {(whether a line is in
    the old text, its number): the HTML below this line}.
    """

    here: Place | None
    html: Mapping[tuple[bool, int], SafeString] = field(default_factory=dict)

    def number(self, number: int, *, is_old: bool) -> str:
        if self.here is None:
            return str(number)
        words = _("Comment on the removed line %(number)s") if is_old else _("Comment on line %(number)s")
        return format_html(
            '<button class="diff-line" name="{}" value="{}" aria-label="{}">{}</button>',
            OPEN, name_of(self.here._replace(is_old=is_old, line=number)), words % {"number": number}, number,
        )  # fmt: skip

    def below(self, number: int, *, is_old: bool) -> str:
        return self.html.get((is_old, number), "")


def place_of(comment: Comment) -> Place | None:
    """Return the place of a comment's line, or None for a comment on the whole proposal."""
    if comment.change is None:
        return None
    return Place(comment.change, comment.base or "", comment.number, comment.is_old, comment.first or 0)


def with_lines(
    request: Request,
    store: MemoryStore,
    rows: Sequence[Row],
    threads: Sequence[Thread],
    drafts: Drafts,
    *,
    may_write: bool,
    agent: object,
) -> tuple[list[Row], list[Thread]]:
    """Return the rows with the conversations and drafts about their memories, and the conversations without a row.

    A conversation without a row is about the whole proposal, or about a memory that has no row.
    """
    by_change: dict[str, list[Thread]] = defaultdict(list)
    for thread in threads:
        by_change[thread.first.change or ""].append(thread)
    shared = context(request, store, agent=agent, opened=drafts.opened, **for_forms(request, store))
    made = []
    for row in rows:
        name = row.row.change.memory
        own = [draft for place, draft in drafts.lines.items() if place.change == name]
        made.append(_lined(request, row, by_change.pop(name, []), own, shared, may_write=may_write))
    return made, [thread for of_one in by_change.values() for thread in of_one]


def _lined(
    request: Request,
    row: Row,
    threads: Sequence[Thread],
    drafts: Sequence[Draft],
    shared: Mapping[str, object],
    *,
    may_write: bool,
) -> Row:
    here = Place(row.row.change.memory, row.row.change.head, row.outline.number, is_old=False, line=0)
    shown = _lines_of(row) if row.editor is None else frozenset()
    at: dict[tuple[bool, int], list[Thread]] = defaultdict(list)
    written: dict[tuple[bool, int], Draft] = {}
    rest, rest_drafts = [], []
    for thread in threads:
        line = _line_in(place_of(thread.first), here)
        if line in shown:
            at[line].append(thread)
        else:
            rest.append(thread)
    for draft in drafts:
        line = _line_in(draft.place, here)
        if line in shown:
            written[line] = draft
        else:
            rest_drafts.append(draft)
    html = {line: _html(request, shared, at.get(line, ()), written.get(line)) for line in {*at, *written}}
    others = [_html(request, shared, rest, None, is_apart=True)] if rest else []
    others += [_html(request, shared, (), draft, is_apart=True) for draft in rest_drafts]
    lined = OfLines(here if may_write and shown else None, html)
    return replace(row, lined=lined, beside=mark_safe("".join(others)))


def _lines_of(row: Row) -> frozenset[tuple[bool, int]]:
    """Return the lines that the comparison of a row shows."""
    if row.diff is None:
        return frozenset()
    lines = (part for part in unified(row.diff) if not isinstance(part, Gap))
    return frozenset(
        (part.kind == "removed", (part.old_number if part.kind == "removed" else part.new_number) or 0)
        for part in lines
    )


def _line_in(place: Place | None, here: Place) -> tuple[bool, int]:
    """Return (whether the line is in the old text, its number); (False, 0) for a line that is not in the texts
    `here`."""
    if place is None or place._replace(is_old=False, line=0) != here:
        return (False, 0)
    return (place.is_old, place.line)


def _html(
    request: Request,
    shared: Mapping[str, object],
    threads: Sequence[Thread],
    draft: Draft | None,
    *,
    is_apart: bool = False,
) -> SafeString:
    name = name_of(draft.place) if draft and draft.place else ""
    shown = {"threads": threads, "draft": draft, "name": name, "is_apart": is_apart}
    return mark_safe(render_to_string("proposals/_line.html", {**shared, **shown}, request))

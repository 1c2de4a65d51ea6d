"""The hunks of a proposal on its page, with checkboxes or, after a decision, with their outcomes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memoryhub.actions.core.plans import Change
from memoryhub.actions.proposals.selected import may_select, offered
from memoryhub.pure.text.diffs import Diff
from memoryhub.web.common.versions.comparisons import Heads

MOST_TICKS = 200
"""The most checkboxes for hunks on a page. If a memory's hunks have no checkboxes, the memory is merged or left out as
a whole."""

TICKED, OFFERED = "take", "offered"
"""The fields of a hunk; their value is `memory:number`. TICKED is the checkbox, which is sent only if it is ticked;
OFFERED is always sent."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """The heads of a memory's hunks, each with a checkbox. The hunks with numbers in `left_out` are not ticked."""

    memory: str
    title: str
    count: int
    left_out: Collection[int]

    def head(self, number: int) -> SafeString:
        return format_html(
            '<label><input type="checkbox" name="{}" value="{}:{}" aria-describedby="{}"{}> {}</label>'
            '<input type="hidden" name="{}" value="{}:{}">',
            TICKED, self.memory, number, self.title, "" if number in self.left_out else SafeString(" checked"),
            _("Place %(number)s of %(count)s") % {"number": number, "count": self.count},
            OFFERED, self.memory, number,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The heads of a memory's hunks after a decision. `had` says for each hunk whether the merged text contains it."""

    had: Sequence[bool]

    def head(self, number: int) -> SafeString:
        merged = number <= len(self.had) and self.had[number - 1]
        kind, words = ("approved", _("merged")) if merged else ("neutral", _("left out"))
        return format_html('<span class="badge badge-{}">{}</span>', kind, words)


def left_out_of(post: QueryDict) -> dict[str, set[int]]:
    """Return {memory: numbers of its hunks that had a checkbox and are not ticked}."""
    left: dict[str, set[int]] = {}
    for value in set(post.getlist(OFFERED)) - set(post.getlist(TICKED)):
        memory, _colon, number = value.rpartition(":")
        if memory and number.isascii() and number.isdigit() and len(number) < 9:
            left.setdefault(memory, set()).add(int(number))
    return left


def ticks(
    number: int, shown: Iterable[tuple[Change, Diff | None]], left_out: Mapping[str, Collection[int]]
) -> dict[str, Heads]:
    """Return {memory: heads of its hunks} for the hunks that can be left out, at most MOST_TICKS.

    `number` is the number of the proposal. `left_out` is {memory: the numbers of hunks that are not ticked}. The
    only hunk of a memory has no checkbox, unless the memory also moves.
    """
    room = MOST_TICKS
    heads: dict[str, Heads] = {}
    for change, diff in shown:
        count = diff.changes if diff is not None and may_select(change) else 0
        least = 2 if offered(change).path == change.now.path else 1
        if least <= count <= room:
            room -= count
            heads[change.memory] = Ticks(
                change.memory, f"title-{number}-{change.memory}", count, left_out.get(change.memory, ())
            )
    return heads

"""Finds new lines of a proposal that other memories of the store already contain, identical or similar.

The memories are read in the order of their paths for a limited time, and a button continues with the next ones.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actions.core.plans import Plan
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.proposals.selected import offered
from memoryhub.actions.review.verbs import WHO
from memoryhub.models import Memory, MemoryStore, MemoryText, Proposal
from memoryhub.pure.text.repeated import Lines, Repeated
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import number_of

SECONDS, SECONDS_OF_A_PRESS = 0.1, 1.5
"""The seconds for which memories are read: when the page is loaded, and after a press of the button that continues."""
MOST_LINES = 200
"""The most new lines that are compared with other memories."""
MOST_FOUND = 20
"""The most lines of other memories in one answer."""
BATCH, BATCH_BYTES = 100, 256 * 1024
"""The most memories that are read at once, and the most bytes of their texts."""


class Where(NamedTuple):
    """The position of a line of a proposed text: the memory's path, and the line's number."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A line of another memory that repeats the proposed line `new`: identical (`is_same`) or similar."""

    new: Where
    memory: str
    path: str
    line: int
    is_same: bool


class Other(NamedTuple):
    """A memory of the store: its id and path, and the id (None if redacted) and size in bytes of its text."""

    memory: str
    path: str
    text: str | None
    size: int


@require_safe
@in_store(WHO)
def page(request: Request, store: MemoryStore, number: int) -> HttpResponse:
    """Show which other memories already contain new lines of an open proposal.

    In the URL, `after` is the path of the last compared memory, `seen` the number of memories compared so far.
    """
    proposal = Proposal.objects.of_store(store.pk).filter(number=number).first()
    if proposal is None or not proposal.is_open:
        raise Http404
    plan, after, seen = proposal_plan(proposal), request.GET.get("after", ""), number_of(request, "seen") or 0
    where, lines, is_cut = _new_lines(plan)
    until = time.monotonic() + (SECONDS_OF_A_PRESS if after or not request.htmx else SECONDS)
    found: list[Elsewhere] = []
    known, last = {change.memory for change in plan.changes}, None
    for other, text in _others(store.pk, after) if lines else ():
        if other.memory not in known:
            repeated = islice(lines.found_in(text), MOST_FOUND - len(found))
            found += (_elsewhere(where, other, one) for one in repeated)
            seen += 1
        if len(found) >= MOST_FOUND or time.monotonic() > until:
            last = other.path
            break
    of = max(store.memory_count - sum(change.now.is_there for change in plan.changes), seen)
    shown = pages.context(
        request, store,
        proposal=proposal, found=found, seen=seen, compared=f"{seen:,}", others=f"{of:,}",
        last=last if seen < of else None, looked=bool(lines), began=bool(after), first=MOST_LINES if is_cut else None,
    )  # fmt: skip
    return render(request, "proposals/_elsewhere.html" if request.htmx else "proposals/elsewhere.html", shown)


def _new_lines(plan: Plan) -> tuple[Sequence[Where], Lines, bool]:
    """Return the positions of the new lines, the lines, and whether there are more than MOST_LINES new lines.

    In the returned Lines, the key of a line is the index of its position.
    """
    ids = {state.text for change in plan.changes for state in (change.now, offered(change)) if state.text}
    texts = MemoryText.objects.contents(plan.store, ids) if ids else {}
    where, lines, is_cut = list[Where](), dict[int, str](), False
    for change in plan.changes:
        new = offered(change)
        old = {*texts.get(change.now.text or "", "").split("\n")}
        text = texts.get(new.text or "", "") if new.content is None else new.content
        for number, line in enumerate(text.split("\n"), 1):
            if line in old:
                continue
            is_cut = is_cut or len(where) == MOST_LINES
            if not is_cut:
                lines[len(where)] = line
                where.append(Where(new.path or change.path, number))
    return where, Lines(lines), is_cut


def _elsewhere(where: Sequence[Where], other: Other, found: Repeated) -> Elsewhere:
    return Elsewhere(where[found.key], other.memory, other.path, found.line, found.is_same)


def _others(store_id: str, after: str) -> Iterator[tuple[Other, str]]:
    """Yield the live memories of a store whose path is after `after`, with their texts."""
    while True:
        memories = Memory.objects.live().filter(store_id=store_id, path__gt=after).order_by("path")
        rows = [Other(*row) for row in memories.values_list("pk", "path", "text_id", "size")[:BATCH]]
        texts: Mapping[str, str] = {}
        for at, row in enumerate(rows):
            if row.text and row.text not in texts:
                texts = MemoryText.objects.contents(store_id, _batch(rows[at:]))
            yield row, texts.get(row.text or "", "")
        if len(rows) < BATCH:
            return
        after = rows[-1].path


def _batch(rows: Sequence[Other]) -> list[str]:
    """Return the ids of the first texts, up to BATCH_BYTES together but at least one."""
    ids, size = list[str](), 0
    for row in rows:
        size += row.size
        if ids and size > BATCH_BYTES:
            break
        ids += [row.text] if row.text else []
    return ids

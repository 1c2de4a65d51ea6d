"""The versions of a memory: the timeline, and the page of each version."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from memoryhub.models import AuditEntry, Key, Memory, MemoryStore, MemoryVersion, Review, Role, Session
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure.protocol import paths
from memoryhub.pure.text.diffs import REQUEST_WORK, counts_within
from memoryhub.pure.text.matching import Work
from memoryhub.web.audit.merges import MergedWith, Proposed, merged_with, proposed_in
from memoryhub.web.audit.rows import by_actor
from memoryhub.web.comments.threads import beside, for_forms
from memoryhub.web.common import addresses
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.pages import context, entries
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_versions
from memoryhub.web.common.texts import masking
from memoryhub.web.common.texts.lines import numbered_lines, shown_lines
from memoryhub.web.common.texts.redaction_marks import Mark, mark_of
from memoryhub.web.common.versions import (
    memory_of,
    moved_from,
    number_of,
    origins,
    removed_history as removed,
    text_before,
    text_of,
    version_of,
)
from memoryhub.web.common.versions.comparisons import sides
from memoryhub.web.common.versions.decided import decided
from memoryhub.web.common.versions.origins import Origin
from memoryhub.web.common.versions.removed_history import Gap, newer_than, older_than
from memoryhub.web.memories import branches
from memoryhub.web.memories.facts import last_with_text

PAGE = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A version on the timeline.

    `added` and `removed` count lines against the previous version. Both are None if a text no longer exists, or if
    counting takes too long.
    """

    version: MemoryVersion
    entry: AuditEntry | None
    actor_query: str | None
    session: str | None
    key: Key | None
    added: int | None
    removed: int | None
    moved_from: str | None  # the previous path, if it differs
    is_current: bool
    merged: MergedWith | None
    redaction: Mark | None
    gap: Gap | None  # the removed versions below this one
    origin: Origin | None = None  # the author of an imported version
    proposed: Proposed | None = None  # the agent that proposed the version
    decided: Review | None = None  # the last decision
    compare_url: str = ""  # set if counting the lines takes too long


@require_GET
@in_store(Role.VIEWER)
def versions(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    memory = memory_of(store, memory_id)
    before, after = number_of(request, "before"), number_of(request, "after")
    of_memory = MemoryVersion.objects.of_memory(memory).select_related("text")
    found = _page(of_memory, before, after)
    shown = found[:PAGE]
    numbers = [version.number for version in shown]
    return render(
        request,
        "history/versions.html",
        page_context(
            request,
            store,
            memory,
            rows=_rows(store, memory, found),
            total=memory.version_count,
            kept=memory.version_count - memory.removed_versions,
            newer=numbers[0] if numbers and numbers[0] < memory.version_count else None,
            older=numbers[-1] if len(found) > PAGE else None,
            restorable=None if memory.is_live else last_with_text(memory),
        ),
    )


@require_GET
@in_store(Role.VIEWER)
def version(request: Request, store: MemoryStore, version_id: str) -> HttpResponse:
    found = version_of(store, version_id)
    memory = memory_of(store, found.memory_id)
    previous, following = older_than(memory, found.number).first(), newer_than(memory, found.number).first()
    missing = removed.gaps_between([found.number], previous.number if previous else 0)
    seen = masking.shown(found.content, masking.cover_of(store.id, memory.pk))
    content, by_seq = seen.text, entries(store, found.seq, found.redacted_seq)
    first = number_of(request, "first") or 1
    talks = beside(request, store, memory, (found.pk, found.number), shown_lines(content, first))
    shows_versions(request, store, [found])
    return render(
        request,
        "history/version.html",
        page_context(
            request,
            store,
            memory,
            version=found,
            entry=by_seq.get(found.seq),
            actor_query=by_actor(by_seq[found.seq]) if found.seq in by_seq else None,
            session=Session.objects.filter(pk=by_seq[found.seq].session).first() if found.seq in by_seq else None,
            redaction=mark_of(found, by_seq),
            is_current=found.pk == memory.head_id,
            content=content,
            total=memory.version_count,
            seen=seen,
            lines=None if content is None else numbered_lines(content, first, seen.signs, below=talks.below),
            talks=talks,
            **for_forms(request, store),
            origin=origins.of_versions([found]).get(found.pk),
            proposed=proposed_in(store.pk, [(entry.seq, entry.command) for entry in by_seq.values()]).get(found.seq),
            previous=previous,
            next=following,
            gap=next(iter(removed.with_entries(memory, missing)), None),
        ),
    )


def page_context(request: Request, store: MemoryStore, memory: Memory, **more: Any) -> dict[str, Any]:
    """Return the template context for a page about a memory's versions."""
    crumbs = addresses.crumbs(store.id, store.name, memory.path)
    directory = paths.parent(memory.path) if memory.is_live else paths.ROOT_DIRECTORY
    tree = branches.opened(store, directory, memory if memory.is_live else None)
    here = reverse("memory", args=[store.id, memory.pk])
    return context(
        request, store, memory=memory, crumbs=crumbs, tree=tree, name=memory.name, path=memory.path, here=here, **more
    )


def _page(found: MemoryVersionQuerySet, before: int | None, after: int | None) -> list[MemoryVersion]:
    """Return a page of versions, newest first, and one more version to compare the last one with."""
    if after is not None:
        newer = list(found.filter(number__gt=after).order_by("number").values_list("number", flat=True)[:PAGE])
        before = newer[-1] + 1 if newer else None
    if before is not None:
        found = found.filter(number__lt=before)
    return list(found.newest()[: PAGE + 1])


def _rows(store: MemoryStore, memory: Memory, found: Sequence[MemoryVersion]) -> list[Row]:
    """Return a row for each of the first PAGE versions in `found`."""
    shown = found[:PAGE]
    by_seq = entries(store, *(version.seq for version in shown), *(version.redacted_seq for version in shown))
    merges = merged_with(store.pk, by_seq.values())
    proposed = proposed_in(store.pk, ((entry.seq, entry.command) for entry in by_seq.values()))
    names = {entry.session for entry in by_seq.values() if entry.session}
    sessions = dict(Session.objects.filter(pk__in=names).values_list("id", "name"))
    keys = Key.objects.in_bulk({entry.actor_id for entry in by_seq.values() if entry.actor_id})
    gaps, authors, decisions = _gaps(memory, found), origins.of_versions(shown), decided(store.pk, shown)
    rows, work = [], Work(REQUEST_WORK)
    for version, older in zip(shown, [*found[1:], None][: len(shown)], strict=True):
        entry, gap = by_seq.get(version.seq), gaps.get(version.number - 1)
        before = None if gap else older
        counted = _counts(before, version, work)
        plus, minus = counted or (None, None)
        rows.append(
            Row(
                version=version,
                entry=entry,
                actor_query=by_actor(entry) if entry else None,
                session=sessions.get(entry.session or "", entry.session) if entry else None,
                key=keys.get(entry.actor_id or "") if entry else None,
                added=plus,
                removed=minus,
                moved_from=moved_from(before, version),
                is_current=version.pk == memory.head_id,
                merged=merges.get(version.seq),
                redaction=mark_of(version, by_seq),
                gap=gap,
                origin=authors.get(version.pk),
                proposed=proposed.get(version.seq),
                decided=decisions.get(version.pk),
                compare_url="" if counted else _compare_url(before, version),
            )
        )
    return rows


def _gaps(memory: Memory, found: Sequence[MemoryVersion]) -> dict[int, Gap]:
    """Return {number of the last version in a gap: the gap} for the gaps of removed versions on a page."""
    numbers = [version.number for version in found]
    low = numbers.pop() if len(found) > PAGE else 0
    return {gap.last: gap for gap in removed.with_entries(memory, removed.gaps_between(numbers, low))}


def _counts(before: MemoryVersion | None, version: MemoryVersion, work: Work) -> tuple[int, int] | None:
    if before is not None and version.text_id is not None and before.text_id == version.text_id:
        return 0, 0
    old, new = text_before(before, version), text_of(version)
    return None if old is None or new is None else counts_within(work, old, new)


def _compare_url(before: MemoryVersion | None, version: MemoryVersion) -> str:
    there = text_before(before, version) is not None and text_of(version) is not None
    return sides(before, version).address if there else ""

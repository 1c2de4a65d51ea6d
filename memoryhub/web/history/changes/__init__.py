"""The page of changes in a store between two moments: each changed memory once, with its diff."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.actions.review import viewed
from memoryhub.models import Agent, AuditEntry, MemoryStore, MemoryVersion, Role, Session
from memoryhub.pure.text.diffs import REQUEST_WORK, Diff, opened
from memoryhub.pure.text.matching import Work
from memoryhub.web.common import moment_addresses, pages
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_diff
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import comparisons, origins, removed_history
from memoryhub.web.common.versions.comparisons import Sides
from memoryhub.web.common.versions.origins import Origin
from memoryhub.web.history import moments
from memoryhub.web.history.changes import between
from memoryhub.web.history.changes.between import Difference, Kind, Wanted
from memoryhub.web.history.moments import choice, past

APPROVED = "approved"
"""The value of the URL's parameter `from` that means the person's newest approval in the store."""

MOST_AGENTS = 200
"""The most agents from which a person can choose on the page."""

MOST_DIFFS = 25
MOST_BYTES = 500_000
"""The most bytes of both sides of all diffs on a page. Further diffs are folded, with a link."""


@dataclass(frozen=True, slots=True)
class Row:
    """A changed memory with its diff.

    `diff` is None if it is folded, if only the path changed, or if a text was redacted.
    """

    of: Difference
    diff: Diff | None
    folded: bool  # the diff is on another page, to which `sides` links
    redacted: bool
    sides: Sides
    entry: AuditEntry | None
    viewed: bool = False
    origin: Origin | None = None  # the author of the newest version, if it was imported


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last entry of the comparison."""

    first: int
    last: int
    sentences: tuple[str, ...]  # why an end is not the requested entry
    since_approval: bool = False  # the first entry is the person's newest approval


@require_safe
@in_store(Role.VIEWER)
def changes(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the changes between two moments, `from` and `to` in the URL. Each is the number of an entry, or a date.

    `from` can be `approved`: the person's newest approval. The default for `to` is the newest entry. The default for
    `from` is the last entry that is at least a day older than the newest entry.
    """
    newest = past.last_seq(store.id)
    ends = _ends(request, store, newest)
    scope = choice.scope_of(store, request.GET)
    agent = _agent(store, request.GET.get("agent", ""))
    wanted = _wanted(store, ends, scope.path, agent, request.GET.get("kind", ""))
    before = request.GET.get("before", "")
    found = between.page(wanted, before)
    rows = _rows(request, store, found.rows)
    for row in rows:
        shows_diff(request, store, row.diff, [row.of.before, row.of.after])
    return render(
        request,
        "history/changes/page.html",
        pages.context(
            request,
            store,
            tab="moments",
            ends=ends,
            wanted=wanted,
            newest=newest,
            before=before,
            found=found,
            rows=rows,
            viewed_count=sum(row.viewed for row in rows),
            may_lack=_may_lack(store, ends, scope.path),
            counts=[(kind, found.counts.get(kind, 0)) for kind in Kind],
            is_all=not before and found.next is None,
            scope=scope,
            agent=agent,
            agents=Agent.objects.known_in([store.pk]).by_name()[:MOST_AGENTS],
            **_entries(store, ends),
            **_addresses(store, wanted, found.next),
        ),
    )


def _wanted(store: MemoryStore, ends: Ends, path: str, agent: Agent | None, kind: str) -> Wanted:
    return Wanted(store.id, ends.first, ends.last, path, _kind(kind), agent.pk if agent else "")


def _may_lack(store: MemoryStore, ends: Ends, path: str) -> bool:
    """Return whether changes may be missing from the page of the directory `path`."""
    is_removed = past.may_lack(store.id, ends.last) or past.lacks_memories(store.id, ends.first)
    return is_removed or bool(path and past.lacks_paths(store.id, ends.first, ends.last))


def _addresses(store: MemoryStore, wanted: Wanted, after: str | None) -> dict[str, Any]:
    def address(**more: str) -> str:
        kept = {"path": wanted.path, "kind": wanted.kind or "", "agent": wanted.agent}
        return moment_addresses.of_changes(store.id, wanted.first, wanted.last, **(kept | more))

    return {
        "here": address(),
        "next_url": address(before=after) if after else "",
        "all_url": address(kind=""),
        "kind_urls": {kind.value: address(kind=kind.value) for kind in Kind},
        "whole_url": address(path=""),
        "by_anyone_url": address(agent=""),
        "approved_url": address(**{"from": APPROVED, "to": ""}),
    }


def _ends(request: Request, store: MemoryStore, newest: int) -> Ends:
    given: QueryDict = request.GET
    sentences, ends = [], []
    start = removed_history.start_of(store.id)
    if given.get("from") == APPROVED:
        given, sentence = _from_approval(request, store)
        sentences += [sentence] if sentence else []
    for name, usual in (("from", None), ("to", newest)):
        written = given.get(name, "")
        seq = choice.number(written)
        if seq is not None:
            if start and 0 < seq < start.seq:
                sentences.append(removed_history.starts_at(start))
                seq = start.seq
            ends.append(min(seq, newest))
            if seq > newest:
                sentences.append(_("There is no entry %(seq)s yet.") % {"seq": seq})
            continue
        asked = choice.asked(store.id, newest, given, seq="", at=name)
        if asked.sentence:
            sentences.append(asked.sentence)
        ends.append(asked.seq if asked.seq is not None else _usual(store.id, newest) if usual is None else usual)
    first, last = ends
    if first > last:
        sentences.append(_("The two moments were swapped, so that the earlier one comes first."))
    since_approval = given is not request.GET and bool(given.get("from"))
    return Ends(min(first, last), max(first, last), tuple(sentences), since_approval)


def _from_approval(request: Request, store: MemoryStore) -> tuple[QueryDict, str]:
    """Return the parameters with the person's newest approval as `from`. Also return a sentence if there is no
    approval, else ""."""
    seq = viewed.last_approval(store.pk, person(request))
    given = request.GET.copy()
    given["from"] = str(seq or "")
    return given, "" if seq else _("You have not approved anything in this memory store yet.")


def _usual(store_id: str, newest: int) -> int:
    """Return the seq of the last entry at least a day older than the entry `newest`, or 0."""
    at = AuditEntry.objects.of_chain(store_id).filter(seq=newest).values_list("at", flat=True).first()
    return past.seq_at(store_id, at - moments.DAY) if at else 0


def _agent(store: MemoryStore, written: str) -> Agent | None:
    """Return the agent with the id `written` if it is known in the store, else None."""
    return Agent.objects.known_in([store.pk]).filter(pk=written.replace("\0", "")).first() if written else None


def _entries(store: MemoryStore, ends: Ends) -> dict[str, Any]:
    """Return, as template context, the entries at both `ends` and their sessions, each None if it does not exist."""
    first, last = (past.entry_at(store.id, seq) for seq in (ends.first, ends.last))
    sessions = Session.objects.in_bulk([entry.session for entry in (first, last) if entry and entry.session])
    of_first, of_last = (sessions.get(entry.session or "") if entry else None for entry in (first, last))
    return {"first": first, "last": last, "first_session": of_first, "last_session": of_last}


def _kind(written: str) -> Kind | None:
    return Kind(written) if written in list(Kind) else None


def _rows(request: Request, store: MemoryStore, found: Sequence[Difference]) -> list[Row]:
    marks = viewed.viewed(store.pk, [difference.memory for difference in found], person(request))
    made_by = pages.entries(store, *(difference.last.seq for difference in found))
    shown = list(_to_show(found))
    texts, work = _texts(store, shown), Work(REQUEST_WORK)
    rows = [
        _row(difference, difference in shown, texts, made_by.get(difference.last.seq), work) for difference in found
    ]
    imported = origins.of_versions(row.of.last for row in rows)
    return [
        replace(row, viewed=marks.get(row.of.memory) == row.of.last.pk, origin=imported.get(row.of.last.pk))
        for row in rows
    ]


def _to_show(found: Sequence[Difference]) -> Iterator[Difference]:
    """Yield the changes whose diffs are shown: at most MOST_DIFFS, with at most MOST_BYTES of texts."""
    rest, budget = MOST_DIFFS, MOST_BYTES
    for difference in found:
        size = sum(version.size or 0 for version in (difference.before, difference.after) if version)
        if rest and size <= budget and difference.kinds != (Kind.RENAMED,):
            rest, budget = rest - 1, budget - size
            yield difference


def _texts(store: MemoryStore, found: Sequence[Difference]) -> dict[str, str]:
    ids = {v.text_id for d in found for v in (d.before, d.after) if v is not None and v.text_id}
    return masking.texts(store.pk, ids)


def _row(difference: Difference, is_shown: bool, texts: dict[str, str], entry: AuditEntry | None, work: Work) -> Row:
    before, after = difference.before, difference.after
    texts_gone = any(version is not None and version.text_id is None for version in (before, after))
    redacted = texts_gone or difference.removed
    same = difference.kinds == (Kind.RENAMED,)
    diff = None
    if is_shown and not redacted and not same:
        diff = opened(work, _text(before, texts), _text(after, texts))  # the texts are already masked
    folded = diff is None and not redacted and not same
    return Row(difference, diff, folded, redacted, comparisons.sides(before, difference.last), entry)


def _text(version: MemoryVersion | None, texts: dict[str, str]) -> str:
    return texts.get(version.text_id or "", "") if version else ""

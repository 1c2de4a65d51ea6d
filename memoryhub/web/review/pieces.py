"""Approving more versions than one act can cover: each request approves one piece, and the page requests the next.

The form contains the whole state, so the hub stores nothing. The entries of all pieces have a common group and are
undone together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _

from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.review import decisions
from memoryhub.actions.review.decisions import MOST
from memoryhub.actions.review.verbs import Verb
from memoryhub.models import MemoryStore
from memoryhub.pure import ids
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.guards.access import act, person
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.pictures import number
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import why_not
from memoryhub.web.review import acts
from memoryhub.web.review.decided import MOST_ENTRIES, written
from memoryhub.web.review.filters import Filter, Wanted, resolved
from memoryhub.web.review.parts import claims_on, found_in, parts_of_rows, stores_to_decide, with_earlier
from memoryhub.web.review.progress import group_in, number_in, progress, signed_group
from memoryhub.web.review.queries import Page, page

PIECE = MOST
COUNTED = 10_000
"""The most versions that are counted before the decision. Further versions are decided too."""

WALK, WALK_ALL = 5_000, 50_000
"""The most versions that are scanned for one piece, and the most that are scanned to count the matching ones."""

_NEVER = 10**15

_ENTRY = re.compile(r"\w{1,64}:\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Work:
    """A decision about all versions that match a filter, with its progress."""

    verb: Verb
    words: str
    note: str
    group: str
    until: int  # milliseconds; later versions are left out
    total: int = 0  # versions to decide; 0 if there were too many to count
    place: str = ""  # where the next piece begins
    done: int = 0  # decided versions
    entries: tuple[tuple[str, int], ...] = ()  # the audit entries of the decisions

    @classmethod
    def of(cls, request: Request, verb: Verb) -> "Work":
        """Parse the form. A missing or invalid field gets its initial value, as if no piece was decided yet."""
        form, now = request.POST, timezone.now()
        return cls(
            verb,
            form.get("q", ""),
            form.get("note", "").strip(),
            group_in(form),
            min(number_in(form, "until") or _NEVER, ids.milliseconds(now) + 1),
            number_in(form, "total"),
            form.get("from", ""),
            number_in(form, "done"),
            _entries_in(form.get("entries", "")),
        )

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return {name: value} of the form fields for the next request."""
        return {
            "all": self.verb.name, "confirmed": "1", "q": self.words, "group": signed_group(self.group),
            "until": self.until, "total": self.total, "from": self.place, "done": self.done,
            "entries": written(self.entries),
        }  # fmt: skip

    def target(self, stores: Sequence[str], user: str) -> Wanted:
        """Return the conditions on the versions. Raise Malformed if the filter is invalid."""
        now, end = timezone.now(), datetime.fromtimestamp(self.until / 1000, UTC)
        zone = timezone.get_current_timezone()
        found = resolved(Filter.of({"q": self.words}), stores, now=now, zone=zone, user=user)
        return replace(found, end=min(found.end or end, end))


def _entries_in(written: str) -> tuple[tuple[str, int], ...]:
    """Return the entries that a form names, at most MOST_ENTRIES; none if the text is invalid."""
    entries = written.split(",", MOST_ENTRIES)[:MOST_ENTRIES] if written else []
    if not all(map(_ENTRY.fullmatch, entries)):
        return ()
    return tuple((store, int(seq)) for store, _colon, seq in (entry.partition(":") for entry in entries))


def ask(request: Request, verb: Verb, problem: str = "") -> HttpResponse:
    """Ask for confirmation before the first piece, with the numbers of versions, open findings and claims."""
    stores = MemoryStore.objects.in_bulk(stores_to_decide(person(request)))
    if not stores:
        raise PermissionDenied
    work = Work.of(request, verb)
    matching = page(work.target(list(stores), person(request).pk), size=COUNTED, walk=WALK_ALL)
    parts = with_earlier(parts_of_rows(matching.rows, stores), matching.rows)
    count = sum(part.count for part in parts)
    work = replace(work, total=0 if matching.next else count)
    label = verb.ask(count) if verb.ask else ""
    button = label % {"count": number(count) + ("+" if matching.next else "")}
    shown = {
        "verb": verb, "parts": parts, "total": count, "button": button, "question": _("%(act)s?") % {"act": button},
        "note": work.note, "problem": problem, "fields": work.fields, "next": next_of(request, "review"),
        "is_pieced": True, "remains": matching.next, "claimed": claims_on(parts, person(request)),
        "found": found_in(verb, parts),
    }  # fmt: skip
    return render(request, "review/many.html", shown)


def go_on(request: Request, verb: Verb) -> HttpResponse:
    """Decide about the next piece, and show the progress. After the last piece, redirect to the page in `next`."""
    stores = MemoryStore.objects.in_bulk(stores_to_decide(person(request)))
    if not stores:
        raise PermissionDenied
    work = Work.of(request, verb)
    if request.POST.get("stop"):
        return _ended(request, work, _("You stopped it here. The other versions still await review."))
    piece = page(work.target(list(stores), person(request).pk), work.place, size=PIECE, walk=WALK)
    work, problem = _decided(request, work, piece, stores)
    if problem:
        return _ended(request, work, problem)
    if piece.next is None:
        return _ended(request, work)
    if len(work.entries) + len(stores) > MOST_ENTRIES:
        return _ended(
            request, work, _("More versions match than one decision covers. Decide about the others afterwards.")
        )
    said = _("Approved %(done)s of %(total)s versions.") if work.total else _("Approved %(done)s versions so far.")
    return progress(
        request,
        reverse("decide_many"),
        {**work.fields, "note": work.note},
        said % {"done": number(work.done), "total": number(work.total)},
        100 * work.done // work.total if work.total else None,
    )


def _decided(request: Request, work: Work, piece: Page, stores: Mapping[str, MemoryStore]) -> tuple[Work, str]:
    """Decide about a piece. Return the updated work, and a sentence on why the work cannot go on ("" if it can)."""
    doing = act(request, work.note, group=work.group)
    for part in parts_of_rows(piece.rows, stores):
        try:
            done, _left = acts.MANY[work.verb.name](part.store.pk, part.versions, doing)
        except NoSuchStore as error:
            messages.error(request, f"{part.store.name}: {why_not(error)}")
            continue
        except ToolError as error:
            return work, f"{part.store.name}: {why_not(error)}"
        decisions.release(part.store.pk, part.memories, person(request))
        if done is not None:
            entries = (*work.entries, (part.store.pk, done.seq))
            work = replace(work, done=work.done + len(done.versions), entries=entries)
    return replace(work, place=piece.next or ""), ""


def _ended(request: Request, work: Work, why: str = "") -> HttpResponse:
    """Redirect to the page in `next`, with a message and a link that undoes the decisions of all pieces."""
    back = next_of(request, "review")
    if work.entries:
        said = work.verb.did(work.done) if work.verb.did else ""
        undo = reverse("undo_decisions", query={"entries": written(work.entries), "next": back})
        link = '{} <a class="button button-small banner-undo" href="{}">{}</a>'
        messages.success(request, format_html(link, said % {"count": number(work.done)}, undo, _("Undo all")))
    elif not why:
        messages.warning(request, _("None of the versions that you chose still awaits a decision."))
    if why:
        messages.warning(request, why)
    return HttpResponse(headers={"HX-Redirect": back}) if request.htmx else see_other(back)

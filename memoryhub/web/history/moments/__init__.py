"""A store at a past moment: the choice of the moment, and the directories at that moment."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from memoryhub.models import AuditEntry, Memory, MemoryStore, Role
from memoryhub.models.audit import ActorKind
from memoryhub.pure.protocol import paths
from memoryhub.web.audit.names import names_in
from memoryhub.web.audit.sentences import told_of, words_of
from memoryhub.web.common import moment_addresses as addresses, pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.moment_addresses import Scope
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import origins, removed_history
from memoryhub.web.common.versions.origins import Origin
from memoryhub.web.history.moments import choice, listing as moment_listing, past
from memoryhub.web.history.moments.listing import Item, Listing
from memoryhub.web.memories import life_line

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Row:
    """A directory or a memory in a listing.

    For a memory, `entry` is the entry that made the version, and `origin` the author if it was imported.
    """

    item: Item
    url: str
    entry: AuditEntry | None
    origin: Origin | None = None


@require_safe
@in_store(Role.VIEWER)
def moments(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the slider, the date field and the shortcuts.

    If the query names a moment, redirect to the page of this moment. If htmx sends the request, return a fragment that
    describes the moment.
    """
    last = past.last_seq(store.id)
    scope = choice.scope_of(store, request.GET)
    asked = choice.asked(store.id, last, request.GET)
    if request.htmx:
        return render(
            request, "history/moments/_hint.html", {"store": store, **entry_context(store, asked.seq or last)}
        )
    if asked.seq is not None and not asked.sentence:
        at = choice.in_field(request.GET.get("at", ""))
        return HttpResponseRedirect(addresses.of_scope(store.id, asked.seq, scope) + addresses.query({"at": at}))
    shown = slider(store, asked.seq or last, scope) | {
        "sentence": asked.sentence,
        "asked": asked.seq,
        "at": choice.in_field(request.GET.get("at", "")),
        "asked_url": addresses.of_scope(store.id, asked.seq, scope) if asked.seq else "",
        "shortcuts": _links(store, scope, choice.shortcuts(request, store, last)),
        "sessions": [
            (session, shortcut, addresses.of_scope(store.id, shortcut.seq, scope))
            for session, shortcut in choice.before_sessions(store.id)
        ],
        "recent": choice.recent_changes(store.id),
        "scope_name": _scope_name(store, scope),
        "zone": timezone.get_current_timezone_name(),
        "first_left": AuditEntry.objects.of_chain(store.id).in_brief().oldest().first(),
    }
    return render(request, "history/moments/page.html", pages.context(request, store, tab="moments", **shown))


@require_safe
@in_store(Role.VIEWER)
def moment(request: Request, store: MemoryStore, seq: int, path: str = "") -> HttpResponse:
    """Show the children of a directory after the entry `seq`. If a memory was at the path, redirect to the memory."""
    if past.is_gone(store.id, seq):
        return to_choice(store, seq, Scope(f"/{path}" if path else ""))
    entry = entry_of(store, seq)
    place = f"/{path}" if path else paths.ROOT_DIRECTORY
    if place and not choice.is_path(place):
        raise Http404
    listing = moment_listing.listing(store.id, place, seq, request.GET.get("after", ""))
    if place and not listing.items and not listing.next and "after" not in request.GET:
        version = moment_listing.alive_at(store.id, place, seq)
        if version is not None:
            return HttpResponseRedirect(addresses.of_memory(store.id, seq, version.memory_id))
        shown = page(request, store, entry, Scope(place), may_lack=_may_lack(store, seq))
        return render(request, "history/moments/empty.html", shown, status=404)
    scope = Scope(place)
    return render(
        request,
        "history/moments/directory.html",
        page(
            request,
            store,
            entry,
            scope,
            after="after" in request.GET,
            listing=listing,
            rows=_rows(store, seq, listing),
            may_lack=_may_lack(store, seq),
            next_url=addresses.of_moment(store.id, seq, place, after=listing.next) if listing.next else "",
            steps=steps(store, seq, scope),
        ),
    )


def _may_lack(store: MemoryStore, seq: int) -> bool:
    return past.may_lack(store.id, seq) or past.lacks_paths(store.id, seq)


def _rows(store: MemoryStore, seq: int, listing: Listing) -> list[Row]:
    found = [item.found for item in listing.items if item.found]
    made_by = pages.entries(store, *(version.seq for version in found))
    imported = origins.of_ids(store.id, [version.version for version in found])
    rows = []
    for item in listing.directories_first:
        if item.found is None:
            rows.append(Row(item, addresses.of_moment(store.id, seq, item.path), None))
        else:
            url = addresses.of_memory(store.id, seq, item.found.memory)
            rows.append(Row(item, url, made_by.get(item.found.seq), imported.get(item.found.version)))
    return rows


def to_choice(store: MemoryStore, seq: int, scope: Scope) -> HttpResponse:
    """Redirect to the choice of a moment, with a message that the entry `seq` was removed."""
    return HttpResponseRedirect(addresses.of_choice(store.id, scope, seq=str(seq)))


def entry_of(store: MemoryStore, seq: int) -> AuditEntry:
    """Return the entry with this seq; raise Http404 if there is none."""
    entry = past.entry_at(store.id, seq)
    if entry is None:
        raise Http404
    return entry


def page(request: Request, store: MemoryStore, entry: AuditEntry, scope: Scope, **more: Any) -> dict[str, Any]:
    """Return the template context for a page about the state after an entry."""
    path = more.pop("path", scope.path)
    shown = slider(store, entry.seq, scope) | {
        "entry": entry,
        "path": path,
        "name": paths.name(path) or store.name,
        "tab": "moments",
        "crumbs": addresses.crumbs(store.id, store.name, entry.seq, path),
        "here": addresses.of_scope(store.id, entry.seq, scope),
        "restore_url": addresses.of_restore(store.id, entry.seq, scope),
        "asked_at": choice.moment(request.GET.get("at", "")),
    }
    return pages.context(request, store, **shown | more)


def slider(store: MemoryStore, seq: int, scope: Scope) -> dict[str, Any]:
    """Return the template context for the slider over a store's entries. The slider is set to the entry `seq`."""
    last = past.last_seq(store.id)
    first = removed_history.first_seq(store.id)
    shown = {
        "seq": seq,
        "first": first,
        "last": last,
        "is_now": seq == last,
        "scope": scope,
        **entry_context(store, seq),
    }
    memory = Memory.objects.filter(store=store, pk=scope.memory).first() if scope.memory else None
    return shown | {"life": life_line.of(memory, first, seq) if memory else None}


def entry_context(store: MemoryStore, seq: int) -> dict[str, Any]:
    """Return the template context that describes the entry `seq` in words."""
    entry = AuditEntry.objects.of_chain(store.id).in_brief().filter(seq=seq).first()
    if entry is None:
        return {"hint": None, "words": ""}
    input = {} if entry.actor_kind == ActorKind.KEY else told_of(entry.input)  # the input of a call may hold a text
    return {"hint": entry, "words": words_of(entry, input, names_in([input], [store.pk], versions=[entry.version]))}


def steps(store: MemoryStore, seq: int, scope: Scope) -> dict[str, str]:
    """Return the URLs of the `previous` and the `next` state of the scope; a missing state has no URL."""
    current = past.changed_at_or_before(store.id, seq, scope.path)
    earlier = past.changed_at_or_before(store.id, current - 1, scope.path) if current else None
    later = past.changed_after(store.id, seq, scope.path)
    places = {"previous": earlier, "next": later}
    low = removed_history.first_seq(store.id)
    left = {name: place for name, place in places.items() if place and place >= low}
    return {name: addresses.of_scope(store.id, place, scope) for name, place in left.items()}


def _scope_name(store: MemoryStore, scope: Scope) -> str:
    if not scope.memory:
        return scope.path
    return Memory.objects.filter(store=store, pk=scope.memory).values_list("path", flat=True).first() or ""


def _links(store: MemoryStore, scope: Scope, shortcuts: list[choice.Shortcut]) -> list[tuple[choice.Shortcut, str]]:
    return [(shortcut, addresses.of_scope(store.id, shortcut.seq, scope)) for shortcut in shortcuts]

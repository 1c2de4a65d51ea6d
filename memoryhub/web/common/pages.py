"""Context that every page of a memory store needs: the person's role and permissions."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from memoryhub.models import AuditEntry, MemoryStore, Role
from memoryhub.web.common.request import Request


@dataclass(frozen=True, slots=True)
class May:
    """The permissions of a person in a store in its current state."""

    write: bool
    delete: bool
    administer: bool

    @classmethod
    def of(cls, role: Role, store: MemoryStore) -> "May":
        curates = role.includes(Role.CURATOR)
        return cls(curates and not store.is_archived, curates, role.includes(Role.ADMIN))


def context(request: Request, store: MemoryStore, **more: Any) -> dict[str, Any]:
    """Return the template context for a page of a store, in a view guarded by `in_store`."""
    role: Role = request.role
    return {"store": store, "role": role, "may": May.of(role, store), **more}


def entries(store: MemoryStore, *seqs: int | None) -> dict[int, AuditEntry]:
    """Return {seq: entry} of a store's chain, without loading the inputs and answers of calls."""
    wanted = {seq for seq in seqs if seq is not None}
    rows = AuditEntry.objects.of_chain(store.id).filter(seq__in=wanted)
    columns = (
        "chain",
        "seq",
        "at",
        "actor_kind",
        "actor_id",
        "author_id",
        "label",
        "session",
        "door",
        "command",
        "note",
    )
    return {entry.seq: entry for entry in rows.only(*columns)}


def see_other(to: str, *args: str) -> HttpResponse:
    """Redirect with 303 after a POST; `to` is a URL or the name of a route."""
    return HttpResponseRedirect(resolve_url(to, *args), status=303)


def next_of(request: Request, otherwise: str) -> str:
    """Return the page of the hub that the form names in `next`, or else the URL of the route `otherwise`."""
    return came_from(request) or reverse(otherwise)


def came_from(request: Request) -> str:
    """Return the page of the hub that the form names in `next`, or an empty text if it names none."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_here = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if is_here else ""

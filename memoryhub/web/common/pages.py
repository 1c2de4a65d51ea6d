"""What every page of a memory store knows: who looks at it, and what they may do there."""

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
    """What a person can do in a store as it is now; deleting goes on in an archived store, as it does for agents."""

    write: bool
    delete: bool
    administer: bool

    @classmethod
    def of(cls, role: Role, store: MemoryStore) -> "May":
        curates = role.includes(Role.CURATOR)
        return cls(curates and not store.is_archived, curates, role.includes(Role.ADMIN))


def context(request: Request, store: MemoryStore, **more: Any) -> dict[str, Any]:
    """A template's context for a page of a store, behind the guard `in_store`."""
    role: Role = request.role
    return {"store": store, "role": role, "may": May.of(role, store), **more}


def entries(store: MemoryStore, *seqs: int | None) -> dict[int, AuditEntry]:
    """Some entries of a store's chain by their seq, without the calls that they tell of."""
    wanted = {seq for seq in seqs if seq is not None}
    rows = AuditEntry.objects.of_chain(store.id).filter(seq__in=wanted)
    told = ("chain", "seq", "at", "actor_kind", "actor_id", "author_id", "label", "session", "door", "command", "note")
    return {entry.seq: entry for entry in rows.only(*told)}


def see_other(to: str, *args: str) -> HttpResponse:
    """After a POST: the page, by address or by name of its route, that shows what came of it."""
    return HttpResponseRedirect(resolve_url(to, *args), status=303)


def next_of(request: Request, otherwise: str) -> str:
    """The page of the hub from which a form came (`next`), else the route that is named."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_here = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if is_here else reverse(otherwise)

"""What the tests of readers share: reads of an agent, and what the page says about them."""

from typing import Any

from django.urls import reverse

from memoryhub.models import Memory, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller

Seen = set[tuple[int, int]]
"""Seqs of entries, with the number of the version that each showed."""


def readers(user: User, memory: Memory, **query: object) -> Any:
    address = reverse("readers", args=[memory.store_id, memory.pk])
    response = signed_in(user).get(address, {key: str(value) for key, value in query.items()})
    assert response.status_code == 200
    return response


def seen(user: User, memory: Memory, **query: object) -> Seen:
    """What all pages say together."""
    found: Seen = set()
    while True:
        response = readers(user, memory, **query)
        for group in response.context["groups"]:
            assert group.rest == 0
            shown = {(item.entry.seq, item.version.number) for item in group.seen}
            assert not found & shown
            found |= shown
        if response.context["seen"].older is None:
            return found
        query["before"] = response.context["seen"].older


def view(caller: Caller, path: str, session: str | None, **more: object) -> int:
    """A read in a session; gives its entry."""
    caller.session = session
    result = caller.call("view", path=f"/memories{path}", **more)
    assert not result.is_error, result.content
    return caller.last.seq

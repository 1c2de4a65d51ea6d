"""What the tests of the review inbox share: an agent's session, the inbox as a person sees it, and the decisions."""

from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from memoryhub.models import Memory, MemoryVersion
from tests.web.history.versions import Caller


def inbox(client: Client, **parameters: str) -> Any:
    response = client.get(reverse("review") + "?" + urlencode(parameters))
    assert response.status_code == 200
    return response


def shown(response: Any) -> list[tuple[str, int]]:
    """(path, number) of the versions on a page."""
    return [(item.version.path, item.version.number) for item in response.context["items"]]


def everything(client: Client, **parameters: str) -> list[tuple[str, int]]:
    """What all pages together show, one after the other."""
    found: list[tuple[str, int]] = []
    address = reverse("review") + "?" + urlencode(parameters)
    for _ in range(60):
        page = client.get(address)
        found += shown(page)
        if not page.context["next"]:
            return found
        address = reverse("review") + "?" + page.context["next"]
    raise AssertionError("it never ends")


def decide(client: Client, version: MemoryVersion, decision: str, *, htmx: bool = False, **given: Any) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    data = {"version": version.pk, "decision": decision, **given}
    return client.post(reverse("decide", args=[version.store_id]), data, headers=headers)


def state(version: MemoryVersion) -> str | None:
    version.refresh_from_db()
    return version.review_state


def versions(memory: Memory) -> list[MemoryVersion]:
    return list(MemoryVersion.objects.of_memory(memory).order_by("number"))


def two(caller: Caller) -> tuple[Memory, list[MemoryVersion]]:
    """A memory that an agent has made and changed."""
    memory = caller.create("/a.md", "one\n")
    caller.replace("/a.md", "one", "two")
    return Memory.objects.get(pk=memory.pk), versions(memory)

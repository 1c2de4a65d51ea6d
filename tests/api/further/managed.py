"""Requests of a key that may manage a store, and what they find there."""

from urllib.parse import urlencode

from memoryhub.models import MemoryVersion
from tests.api.harness import Answer, Hub


def get(hub: Hub, path: str, store: str | None = None, /, **query: object) -> Answer:
    url = f"/v1/memory_stores/{store or hub.store.id}/{path}"
    return hub.send(b"", method="GET", url=f"{url}?{urlencode(query)}" if query else url)


def post(hub: Hub, path: str, body: object = b"", **headers: str) -> Answer:
    return hub.send(body, url=f"/v1/memory_stores/{hub.store.id}/{path}" if path else "", **headers)


def version(hub: Hub, number: int, path: str = "/a/b.md") -> MemoryVersion:
    memory = MemoryVersion.objects.filter(store=hub.store, path=path).values("memory_id")[:1]
    return MemoryVersion.objects.get(store=hub.store, memory_id__in=memory, number=number)


def refusal(answer: Answer) -> tuple[int, str]:
    assert answer.value["type"] == "error" and answer.headers["request-id"]
    return answer.status, answer.value["error"]["type"]

"""The official Python SDK against a running hub: every method, its pages, its errors, its retries."""

import asyncio
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic, _base_client as sdk
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import OperationalError, close_old_connections

from memoryhub.actions.memories import calls
from memoryhub.models import Access
from tests.api.harness import new_secret, new_store
from tests.doors.conftest import Served, TypeScript
from tests.support.asynchronous import run

UNKNOWN = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"


class Counter:
    """How many requests a client has sent, whatever the SDK makes of them."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def __call__(self, request: httpx2.Request) -> None:
        self.sent.append(f"{request.method} {request.url.path}")

    async def later(self, request: httpx2.Request) -> None:
        self(request)


def sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def condition(text: str) -> Any:
    return {"type": "content_sha256", "content_sha256": sha(text)}


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def client(hub: Served, counter: Counter) -> Iterator[Anthropic]:
    """The SDK as anybody uses it, with a key that may do everything."""
    own = anthropic.DefaultHttpxClient(event_hooks={"request": [counter]})
    with Anthropic(base_url=hub.url, api_key=hub.keys["manage"], http_client=own) as client:
        yield client


def test_every_method_of_a_store(client: Anthropic) -> None:
    stores = client.beta.memory_stores
    store = stores.create(name="Python", description="What Python knows", metadata={"by": "sdk"})
    assert (store.type, store.name, store.metadata, store.archived_at) == (
        "memory_store",
        "Python",
        {"by": "sdk"},
        None,
    )
    assert stores.retrieve(store.id) == store
    updated = stores.update(store.id, description="", metadata={"by": None, "of": "SDK"})
    assert (updated.description, updated.metadata, updated.name) == ("", {"of": "SDK"}, "Python")
    assert updated.updated_at > store.updated_at == store.created_at
    assert store.id in [
        each.id for each in stores.list(created_at_gte=store.created_at, created_at_lte=store.created_at)
    ]
    archived = stores.archive(store.id)
    assert archived.archived_at is not None
    assert stores.archive(store.id) == archived
    assert store.id not in [each.id for each in stores.list()]
    assert store.id in [each.id for each in stores.list(include_archived=True, limit=1)]
    deleted = stores.delete(store.id)
    assert (deleted.id, deleted.type) == (store.id, "memory_store_deleted")
    with pytest.raises(anthropic.NotFoundError):
        stores.retrieve(store.id)


def test_every_method_of_a_memory_and_its_versions(client: Anthropic) -> None:
    store = client.beta.memory_stores.create(name="Python").id
    memories, versions = client.beta.memory_stores.memories, client.beta.memory_stores.memory_versions
    made = memories.create(store, path="/a/b.md", content="one\n", view="full")
    assert (made.path, made.content, made.content_sha256, made.content_size_bytes) == (
        "/a/b.md",
        "one\n",
        sha("one\n"),
        4,
    )
    assert memories.retrieve(made.id, memory_store_id=store) == made
    assert memories.retrieve(made.id, memory_store_id=store, view="basic").content is None
    edited = memories.update(made.id, memory_store_id=store, content="two\n", precondition=condition("one\n"))
    moved = memories.update(made.id, memory_store_id=store, path="/c.md")
    assert (edited.id, moved.id, moved.path, moved.content) == (made.id, made.id, "/c.md", None)
    listed = list(versions.list(store, memory_id=made.id, view="full"))
    assert [(each.operation, each.path, each.content) for each in listed] == [
        ("modified", "/c.md", "two\n"), ("modified", "/a/b.md", "two\n"), ("created", "/a/b.md", "one\n")]  # fmt: skip
    assert listed[0].id == moved.memory_version_id
    assert versions.retrieve(listed[2].id, memory_store_id=store) == listed[2]
    assert listed[2].created_by is not None and listed[2].created_by.type == "api_actor"
    redacted = versions.redact(listed[2].id, memory_store_id=store)
    assert (redacted.content, redacted.path, redacted.content_sha256) == (None, None, None)
    assert redacted.redacted_at is not None and redacted.redacted_by == listed[2].created_by
    gone = memories.delete(made.id, memory_store_id=store, expected_content_sha256=moved.content_sha256)
    assert (gone.id, gone.type) == (made.id, "memory_deleted")
    assert [each.operation for each in versions.list(store, operation="deleted")] == ["deleted"]


def test_pages_are_followed_to_the_end(client: Anthropic, counter: Counter) -> None:
    store = client.beta.memory_stores.create(name="Pages").id
    memories = client.beta.memory_stores.memories
    paths = [f"/d{number % 2}/{number}.md" for number in range(7)]
    for path in paths:
        memories.create(store, path=path, content=path)
    counter.sent.clear()
    assert [each.path for each in memories.list(store, limit=3)] == sorted(paths)
    assert len(counter.sent) == 3
    rolled = [(each.type, each.path) for each in memories.list(store, limit=1, depth=1)]
    assert rolled == [("memory_prefix", "/d0/"), ("memory_prefix", "/d1/")]
    under = [each for each in memories.list(store, path_prefix="/d1/", view="full") if each.type == "memory"]
    assert [each.content for each in under] == ["/d1/1.md", "/d1/3.md", "/d1/5.md"]
    versions = list(client.beta.memory_stores.memory_versions.list(store, limit=2))
    assert [each.path for each in versions] == paths[::-1]


def test_the_asynchronous_client_does_the_same(hub: Served, counter: Counter) -> None:
    async def use() -> None:
        own = anthropic.DefaultAsyncHttpxClient(event_hooks={"request": [counter.later]})
        async with AsyncAnthropic(base_url=hub.url, api_key=hub.keys["manage"], http_client=own) as client:
            stores, memories = client.beta.memory_stores, client.beta.memory_stores.memories
            store = (await stores.create(name="Async")).id
            assert (await stores.update(store, name="Later")).name == (await stores.retrieve(store)).name == "Later"
            made = await asyncio.gather(*(memories.create(store, path=f"/{n}", content=str(n)) for n in range(5)))
            assert [each.path async for each in memories.list(store, limit=2)] == [f"/{n}" for n in range(5)]
            first = made[0].id
            await memories.update(first, memory_store_id=store, content="new", precondition=condition("0"))
            assert (await memories.retrieve(first, memory_store_id=store)).content == "new"
            versions = client.beta.memory_stores.memory_versions
            old = [each async for each in versions.list(store, memory_id=first)][-1]
            assert (await versions.retrieve(old.id, memory_store_id=store)).content == "0"
            assert (await versions.redact(old.id, memory_store_id=store)).content is None
            counter.sent.clear()
            with pytest.raises(anthropic.ConflictError):
                await memories.update(first, memory_store_id=store, content="n", precondition=condition("0"))
            with pytest.raises(anthropic.ConflictError):
                await memories.create(store, path="/1", content="n")
            assert len(counter.sent) == 2
            await memories.delete(first, memory_store_id=store)
            assert store in [each.id async for each in stores.list()]
            assert (await stores.archive(store)).archived_at is not None
            assert (await stores.delete(store)).id == store

    run(use())


def test_a_conflict_costs_exactly_one_request(client: Anthropic, counter: Counter) -> None:
    store = client.beta.memory_stores.create(name="Once").id
    memories = client.beta.memory_stores.memories
    made = memories.create(store, path="/a.md", content="a")
    other = memories.create(store, path="/b.md", content="b")
    wrong = sha("another")
    refusals = {
        "memory_precondition_failed_error": [
            lambda: memories.update(made.id, memory_store_id=store, content="n", precondition=condition("another")),
            lambda: memories.delete(made.id, memory_store_id=store, expected_content_sha256=wrong),
        ],
        "memory_path_conflict_error": [
            lambda: memories.create(store, path="/a.md", content="n"),
            lambda: memories.create(store, path="/a.md/c.md", content="n"),
            lambda: memories.update(other.id, memory_store_id=store, path="/a.md"),
        ],
    }
    for kind, ask in [(kind, ask) for kind, asks in refusals.items() for ask in asks]:
        counter.sent.clear()
        with pytest.raises(anthropic.ConflictError) as raised:
            ask()
        assert len(counter.sent) == 1
        body: Any = raised.value.body
        assert (raised.value.type, body["error"]["type"]) == (kind, kind)
        if kind == "memory_path_conflict_error":
            assert (body["error"]["conflicting_path"], body["error"]["conflicting_memory_id"]) == ("/a.md", made.id)


def test_each_error_has_its_class(hub: Served, client: Anthropic) -> None:
    stores = client.beta.memory_stores
    store = stores.create(name="Errors").id
    nobody, reader = client.with_options(api_key="mh_wrong"), client.with_options(api_key=hub.keys["read"])
    wrong: dict[type[anthropic.APIStatusError], Any] = {
        anthropic.BadRequestError: lambda: stores.memories.create(store, path="relative", content=""),
        anthropic.AuthenticationError: lambda: nobody.beta.memory_stores.retrieve(store),
        anthropic.PermissionDeniedError: lambda: reader.beta.memory_stores.memories.create(
            store, path="/a", content=""
        ),
        anthropic.NotFoundError: lambda: stores.memories.retrieve(UNKNOWN, memory_store_id=store),
        anthropic.RequestTooLargeError: lambda: stores.memories.create(store, path="/a", content="x" * 1024 * 1024),
    }
    for kind, ask in wrong.items():
        with pytest.raises(kind) as raised:
            ask()
        assert raised.value.request_id is not None and raised.value.request_id.startswith("req_")


def test_an_older_sdk_sends_its_key_another_way(hub: Served) -> None:
    headers = {"x-api-key": hub.keys["tool"], "authorization": ""}
    with Anthropic(base_url=hub.url, api_key="mh_wrong", default_headers=headers) as client:
        assert client.beta.memory_stores.retrieve(hub.store).id == hub.store


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the SDK waited between its tries; it does not really wait."""
    slept: list[float] = []
    monkeypatch.setattr(sdk.time, "sleep", slept.append)
    return slept


@pytest.fixture
def in_process(db: None, counter: Counter) -> Iterator[Callable[[str], Anthropic]]:
    """Gives, for a key, the SDK on the hub in this process, whose database a test can take away."""

    def with_key(secret: str) -> Anthropic:
        own = httpx2.Client(transport=httpx2.WSGITransport(get_wsgi_application()), event_hooks={"request": [counter]})
        return Anthropic(base_url="http://testserver", api_key=secret, http_client=own)

    # The connection is the test's: a request must not close it.
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield with_key
    for signal in ends:
        signal.connect(close_old_connections)


def test_a_limit_of_calls_is_waited_for(
    in_process: Callable[[str], Anthropic], counter: Counter, naps: list[float]
) -> None:
    store = new_store(limit_calls=1)
    memories = in_process(new_secret(store)).beta.memory_stores.memories
    memories.create(store.id, path="/a.md", content="")
    with pytest.raises(anthropic.RateLimitError) as raised:
        memories.create(store.id, path="/b.md", content="")
    assert len(counter.sent) == 1 + 3
    assert naps == [float(raised.value.response.headers["retry-after"])] * 2


def test_a_database_that_fails_once_is_asked_again(
    in_process: Callable[[str], Anthropic], counter: Counter, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store()
    client = in_process(new_secret(store, Access.READ))
    find = calls.find_caller

    def fail_once(*asked: Any) -> Any:
        monkeypatch.setattr(calls, "find_caller", find)
        raise OperationalError("gone")

    monkeypatch.setattr(calls, "find_caller", fail_once)
    assert client.beta.memory_stores.retrieve(store.id).id == store.id
    assert (len(counter.sent), naps) == (2, [1.0])


@pytest.fixture(scope="module")
def told(hub: Served, typescript: TypeScript) -> Any:
    """What the TypeScript SDK was given for each of its methods and refusals."""
    return typescript.run("methods", {"url": hub.url, "key": hub.keys["manage"], "read": hub.keys["read"]})


def test_the_typescript_sdk_does_the_same(told: Any) -> None:
    assert told["retrieved"] == told["created"]
    assert (told["updated"]["description"], told["updated"]["metadata"]) == ("Driven", {"on": "node"})
    assert told["created"]["id"] in [store["id"] for store in told["listed"]]
    assert told["read"] == told["memory"]
    assert told["memory"]["content"] == "one\n"
    assert told["edited"]["content_sha256"] == sha("grün\n")
    assert told["renamed"]["path"] == "/a/e.md"
    assert [item["path"] for item in told["memories"]] == ["/a/c/d.md", "/a/e.md"]
    assert [(item["type"], item["path"]) for item in told["children"]] == [
        ("memory_prefix", "/a/c/"),
        ("memory", "/a/e.md"),
    ]
    assert [version["content"] for version in told["versions"]] == ["grün\n", "grün\n", "one\n"]
    assert told["version"] == told["versions"][-1]
    assert told["redacted"]["content"] is None
    assert told["deleted"] == {"id": told["memory"]["id"], "type": "memory_deleted"}
    assert told["archived"]["archived_at"] is not None
    assert told["gone"] == {"id": told["created"]["id"], "type": "memory_store_deleted"}


def test_the_typescript_sdk_tells_each_refusal_after_one_request(told: Any) -> None:
    expected = {
        "precondition": ("ConflictError", 409, "memory_precondition_failed_error"),
        "undeleted": ("ConflictError", 409, "memory_precondition_failed_error"),
        "conflict": ("ConflictError", 409, "memory_path_conflict_error"),
        "invalid": ("BadRequestError", 400, "invalid_request_error"),
        "missing": ("NotFoundError", 404, "not_found_error"),
        "nobody": ("AuthenticationError", 401, "authentication_error"),
        "forbidden": ("PermissionDeniedError", 403, "permission_error"),
    }
    for name, (kind, status, type) in expected.items():
        error = told[name]
        assert (error["name"], error["status"], error["type"], error["requests"]) == (kind, status, type, 1), name
        assert error["request_id"].startswith("req_")
    assert told["conflict"]["conflicting_path"] == "/a/e.md"
    assert told["conflict"]["conflicting_memory_id"] == told["memory"]["id"]

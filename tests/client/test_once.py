"""A call runs once whatever becomes of its answer, and what is no tool error is told as what it is."""

from collections.abc import Iterator
from typing import Any

import pytest

from memoryhub.client import AsyncHubMemoryTool, HubError, HubMemoryTool
from tests.client.lossy import Way, lossy
from tests.client.remote import Place
from tests.support import asynchronous

A = "/memories/a.md"
LOOK = {"command": "view", "path": "/memories"}
KINDS: tuple[Any, ...] = (HubMemoryTool, AsyncHubMemoryTool)


@pytest.fixture(params=KINDS, ids=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def way(place: Place) -> Iterator[Way]:
    with lossy(place.server.port) as found:
        yield found


def call(tool: Any, input: dict[str, Any]) -> str:
    """One call, and the tool is closed after it."""
    if isinstance(tool, HubMemoryTool):
        with tool:
            return tool.call(input)

    async def in_loop() -> str:
        async with tool:
            return str(await tool.call(input))

    return asynchronous.run(in_loop())


def test_a_call_whose_answer_was_lost_runs_once(place: Place, way: Way, kind: Any) -> None:
    store = place.stores.pop()
    url = f"http://127.0.0.1:{way.port}"
    made = call(kind(url, place.key, store), {"command": "create", "path": A, "file_text": "one\n"})
    assert made == f"File created successfully at: {A}"
    insert = {"command": "insert", "path": A, "insert_line": 1, "insert_text": "two"}
    way.fates = ["lost", 503]
    assert call(kind(url, place.key, store, session="run-7"), insert) == f"The file {A} has been edited."
    first, *tries = way.tokens
    assert len(tries) == 3
    assert len(set(tries)) == 1 and first != tries[0] != ""
    shown = call(kind(url, place.key, store), {"command": "view", "path": A})
    assert shown.endswith("     1\tone\n     2\ttwo\n     3\t")
    told = place.entries(store, "insert")
    assert [(entry["ok"], entry["replay_of"]) for entry in told] == [(True, None), *[(True, told[0]["seq"])] * 2]
    assert len({entry["session"] for entry in told} - {None}) == 1


def test_two_calls_that_are_alike_both_run(place: Place, kind: Any) -> None:
    store = place.stores.pop()
    call(kind(place.url, place.key, store), {"command": "create", "path": A, "file_text": ""})
    for _ in range(2):
        insert = {"command": "insert", "path": A, "insert_line": 0, "insert_text": "again"}
        call(kind(place.url, place.key, store), insert)
    shown = call(kind(place.url, place.key, store), {"command": "view", "path": A})
    assert shown.endswith("     1\tagain\n     2\tagain\n     3\t")


def test_nothing_of_anthropics_goes_to_the_hub(
    place: Place, way: Way, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-token-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer sk-secret\nX-Proxy: sk-secret")
    call(kind(f"http://127.0.0.1:{way.port}/", place.key, place.stores[0], session="run-8"), LOOK)
    (sent,) = way.headers
    assert (sent["authorization"], sent["memoryhub-session"]) == (f"Bearer {place.key}", "run-8")
    assert "secret" not in str(sent)


def refused(tool: Any, input: dict[str, Any] = LOOK) -> HubError:
    with pytest.raises(HubError) as caught:
        call(tool, input)
    return caught.value


def test_what_is_no_tool_error_is_told_with_its_status(place: Place, way: Way, kind: Any) -> None:
    store = place.stores[0]
    wrong = refused(kind(place.url, "mh_wrong", store))
    assert (wrong.status, wrong.type) == (401, "authentication_error")
    assert wrong.message.startswith(f"MemoryHub at {place.url} refused the call: A valid key is needed")
    assert wrong.request_id and wrong.request_id in str(wrong)
    assert "mh_wrong" not in repr(wrong)
    for other in ("memstore_other", "../" + store, "a?b#c"):
        assert refused(kind(place.url, place.key, other)).status == 404
    assert refused(kind(place.url, place.key, store), {"command": "view", "path": "x" * 1_100_000}).status == 413
    way.fates = [500, 500]
    failed = refused(kind(f"http://127.0.0.1:{way.port}", place.key, store, max_retries=1))
    assert (failed.status, len(way.tokens)) == (500, 2)


def test_a_hub_that_does_not_answer_is_told(place: Place, way: Way, kind: Any) -> None:
    nobody = refused(kind("http://127.0.0.1:1", place.key, "memstore_x", max_retries=0))
    assert nobody.status is None
    assert nobody.message.startswith("MemoryHub at http://127.0.0.1:1 did not answer (")
    way.fates = ["lost"]
    lost = refused(kind(f"http://127.0.0.1:{way.port}", place.key, place.stores[0], max_retries=0))
    assert (lost.status, lost.type) == (None, None)


def test_no_redirect_is_followed(place: Place, way: Way, kind: Any) -> None:
    way.fates = [307]
    assert refused(kind(f"http://127.0.0.1:{way.port}", place.key, place.stores[0], max_retries=0)).status == 307
    assert len(way.tokens) == 1


def test_what_is_no_hub_is_told(place: Place, way: Way, kind: Any) -> None:
    way.fates = [200]
    assert "is not a MemoryHub" in refused(kind(f"http://127.0.0.1:{way.port}", place.key, place.stores[0])).message
    page = refused(kind(f"{place.url}/sign-in?", place.key, place.stores[0], max_retries=0))
    assert page.status is not None and "not as a MemoryHub" in page.message


@pytest.mark.parametrize(("arguments", "says"), [
    (("", "mh_x", "memstore_x"), "`url` is missing"), (("http://hub", "", "memstore_x"), "`key` is missing"),
    (("http://hub", "mh_x", " "), "`store` is missing"), (("hub.example.com", "mh_x", "memstore_x"), "not the address"),
    (("http://hub", "mh_x", None), "`store` is missing"),
])  # fmt: skip
def test_what_cannot_be_right_is_refused_at_once(kind: Any, arguments: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind(*arguments)


@pytest.mark.parametrize("session", ["", "two words", "x" * 129, "ä"])
def test_a_session_that_cannot_be_sent_is_refused_at_once(kind: Any, session: str) -> None:
    with pytest.raises(ValueError, match="`session`"):
        kind("http://hub", "mh_x", "memstore_x", session=session)


def test_the_environment_says_where(place: Place, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="Set MEMORYHUB_URL, MEMORYHUB_KEY, MEMORYHUB_STORE in the environment"):
        kind.from_env()
    store = place.stores.pop()
    monkeypatch.setenv("MEMORYHUB_URL", place.url)
    monkeypatch.setenv("MEMORYHUB_KEY", place.key)
    monkeypatch.setenv("MEMORYHUB_STORE", "memstore_another")
    monkeypatch.setenv("MEMORYHUB_SESSION", "from-env")
    assert refused(kind.from_env()).status == 404
    call(kind.from_env(store=store, cache_control={"type": "ephemeral"}), LOOK)
    (entry,) = place.entries(store, "view")
    assert entry["session"]

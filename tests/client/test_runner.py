"""The whole loop: the SDK's tool runner, a stand-in for the model, and the hub in between, sync and async."""

from typing import Any

import anthropic
import pytest

from memoryhub.client import AsyncHubMemoryTool, HubMemoryTool
from tests.api.messages_api import BETA, MessagesApi, playing
from tests.client.remote import Place
from tests.support import asynchronous

A = "/memories/tickets/4711.md"
ASKED = "Ada asks for a refund."


def use(number: int, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number:024}", "name": "memory", "input": input}


TURNS: list[list[dict[str, Any]]] = [
    [{"type": "text", "text": "I look at what I know."}, use(1, command="view", path="/memories")],
    [use(2, command="create", path=A, file_text="Ada wants a refund.\n"),
     use(3, command="str_replace", path=A, old_str="Bob", new_str="Ada")],
    [use(4, command="rename", old_path=A, new_path="/memories/4711.md")],
    [{"type": "text", "text": "Noted."}],
]  # fmt: skip
ANSWERS = [
    [("0B\t/memories", None)],
    [("File created successfully at: /memories/tickets/4711.md", None),
     (f"No replacement was performed, old_str `Bob` did not appear verbatim in {A}.", True)],
    [(f"Successfully renamed {A} to /memories/4711.md", None)],
]  # fmt: skip


def options(**more: object) -> dict[str, Any]:
    """What every run asks of the model."""
    messages = [{"role": "user", "content": ASKED}]
    return {"model": "a-model", "max_tokens": 1024, "betas": [BETA], "messages": messages, **more}


def run_sync(api: MessagesApi, tool: Any) -> str:
    client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{api.port}", max_retries=0)
    last = client.beta.messages.tool_runner(**options(tools=[tool])).until_done()
    return str(last.content[-1].text)  # type: ignore[union-attr]


def run_async(api: MessagesApi, tool: Any) -> str:
    async def in_loop() -> str:
        client = anthropic.AsyncAnthropic(api_key="none", base_url=f"http://127.0.0.1:{api.port}", max_retries=0)
        async with tool:
            last = await client.beta.messages.tool_runner(**options(tools=[tool])).until_done()
        return str(last.content[-1].text)  # type: ignore[union-attr]

    return asynchronous.run(in_loop())


WAYS: Any = pytest.mark.parametrize(("kind", "run"), [(HubMemoryTool, run_sync), (AsyncHubMemoryTool, run_async)])


@WAYS
def test_a_conversation_with_the_tool_runner(place: Place, kind: Any, run: Any) -> None:
    store = place.stores.pop()
    cache: Any = {"type": "ephemeral"}
    with playing(TURNS) as api:
        assert run(api, kind(place.url, place.key, store, session="ticket-4711", cache_control=cache)) == "Noted."
    for asked, expected in zip(api.requests[1:], ANSWERS, strict=True):
        results = asked["messages"][-1]["content"]
        assert [(result["content"].rpartition("\n")[2], result.get("is_error")) for result in results] == expected
    assert all(request["tools"][0]["cache_control"] == cache for request in api.requests)


@WAYS
def test_what_the_hub_refuses_is_told_to_the_model_without_the_key(place: Place, kind: Any, run: Any) -> None:
    with playing([TURNS[0], TURNS[-1]]) as api:
        run(api, kind(place.url, "mh_wrong", place.stores[0]))
    (result,) = api.requests[1]["messages"][-1]["content"]
    assert result["is_error"] is True
    assert "HTTP 401" in result["content"]
    assert "mh_wrong" not in result["content"]

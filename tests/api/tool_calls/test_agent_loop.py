"""A real agent loop: the official SDK, a stand-in Messages API, and the hub in between, each over HTTP."""

import json
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaMessage

from memoryhub.actions.memories import calls
from memoryhub.models import AuditEntry, Memory, MemoryVersion
from tests.api.harness import Hub, assert_audit_is_right, contents
from tests.api.messages_api import BETA, Refused, check, playing
from tests.api.server import Agent, Server

MODEL = "a-model"
TOOL = {"type": "memory_20250818", "name": "memory"}
GUIDELINES = (
    "<guidelines>\n<addressing_customers>\n- Always address customers by their first name\n- Use empathetic language\n"
)
REFUNDS = "<refund_policies>\n"
FIRST, SECOND = "toolu_01C4D5E6F7G8H9I0J1K2L3M4", "toolu_01D5E6F7G8H9I0J1K2L3M4N5"


def padded(text: str, size: int) -> str:
    """The text with more lines, `size` bytes long."""
    rest = size - len(text)
    return text + ("- Be kind to everybody.\n" * (rest // 24 + 1))[: rest - 1] + "\n"


def tool_use(id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "memory", "input": input}


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


CUSTOMER_SERVICE = [
    [
        say("I'll help you respond to the customer service ticket. Let me check my memory for any previous context."),
        tool_use(FIRST, command="view", path="/memories"),
    ],
    [tool_use(SECOND, command="view", path="/memories/customer_service_guidelines.xml")],
    [say("Based on your customer service guidelines, I can help you craft a response. Which ticket?")],
]


def run_agent(hub: Hub, turns: list[list[dict[str, Any]]], prompt: str, session: str) -> list[dict[str, Any]]:
    """Talks until the model stops; every message that calls tools goes to the hub as it is. Gives the conversation."""
    messages: list[Any] = [{"role": "user", "content": prompt}]
    with playing(turns) as api:
        client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{api.port}", max_retries=0)
        while True:
            message = next_message(client, messages)
            messages.append({"role": "assistant", "content": message.to_dict()["content"]})
            if message.stop_reason != "tool_use":
                return messages
            answer = hub.send(message.model_dump(mode="json"), memoryhub_session=session)
            assert answer.status == 200, answer.body
            messages.append(answer.value)


def next_message(client: anthropic.Anthropic, messages: list[Any]) -> BetaMessage:
    return client.beta.messages.create(model=MODEL, max_tokens=2048, messages=messages, tools=[TOOL], betas=[BETA])  # type: ignore[list-item]


@pytest.fixture
def support(hub: Hub) -> Hub:
    """A store with the two memories of a support team."""
    hub.call(command="create", path="/memories/customer_service_guidelines.xml", file_text=padded(GUIDELINES, 1536))
    hub.call(command="create", path="/memories/refund_policies.xml", file_text=padded(REFUNDS, 2048))
    return hub


def test_the_customer_service_conversation_runs_to_its_end(support: Hub) -> None:
    conversation = run_agent(support, CUSTOMER_SERVICE, "Help me respond to this customer service ticket.", "ticket-1")
    assert [message["role"] for message in conversation] == ["user", "assistant"] * 3
    assert conversation[2] == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": FIRST,
                "content": "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items"
                " and node_modules:\n3.5K\t/memories\n1.5K\t/memories/customer_service_guidelines.xml\n"
                "2.0K\t/memories/refund_policies.xml",
                "is_error": False,
            }
        ],
    }
    (seen,) = conversation[4]["content"]
    assert (seen["tool_use_id"], seen["is_error"]) == (SECOND, False)
    assert seen["content"].startswith(
        "Here's the content of /memories/customer_service_guidelines.xml with line numbers:\n     1\t<guidelines>\n"
        "     2\t<addressing_customers>\n     3\t- Always address customers by their first name\n"
        "     4\t- Use empathetic language\n"
    )


def test_the_two_calls_of_the_conversation_are_in_the_audit_with_what_the_agent_saw(support: Hub) -> None:
    conversation = run_agent(support, CUSTOMER_SERVICE, "Help me respond to this customer service ticket.", "ticket-1")
    listing, reading = AuditEntry.objects.of_chain(support.store.id).filter(command="view").oldest()
    for entry, id, turn in ((listing, FIRST, 1), (reading, SECOND, 3)):
        call = conversation[turn]["content"][-1]
        assert (entry.token, entry.ok, entry.door, entry.actor_kind) == (id, True, "tool", "key")
        assert json.loads(entry.input or "") == call["input"]
        answer = conversation[turn + 1]["content"][0]["content"]
        assert calls.answer_of(support.store.id, entry.seq) == (True, answer)
    memory = Memory.objects.get(store=support.store, path="/customer_service_guidelines.xml")
    assert (listing.path, listing.memory, listing.version) == ("", None, None)
    assert (reading.path, reading.memory, reading.version) == (memory.path, memory.id, memory.head_id)
    assert reading.message is None  # the answer is rendered again from the version that was read
    assert (memory.read_count, memory.last_read_seq) == (1, reading.seq)
    assert listing.session == reading.session and listing.session is not None
    assert_audit_is_right(support.store)


@pytest.mark.both_databases
def test_an_agent_that_edits_twice_in_one_turn_and_makes_a_mistake_goes_on(support: Hub) -> None:
    path = "/memories/ticket.md"
    turns = [
        [say("Noting."), tool_use("toolu_a", command="create", path=path, file_text="Open\nAnna\n")],
        [
            tool_use("toolu_b", command="str_replace", path=path, old_str="Open", new_str="Closed"),
            tool_use("toolu_c", command="insert", path=path, insert_line=2, insert_text="Refunded"),
            tool_use("toolu_d", command="view", path="/memories/nothing.md"),
        ],
        [tool_use("toolu_e", command="view", path=path)],
        [say("Done.")],
    ]
    conversation = run_agent(support, turns, "Close the ticket.", "ticket-2")
    results = [block for message in conversation[2::2] for block in message["content"]]
    assert [block["is_error"] for block in results] == [False, False, False, True, False]
    assert contents(support.store)[path] == "Closed\nAnna\nRefunded\n"
    assert MemoryVersion.objects.filter(store=support.store, path="/ticket.md").count() == 3


def test_the_same_message_sent_again_is_a_valid_turn_and_has_no_second_effect(support: Hub) -> None:
    message = {
        "role": "assistant",
        "content": [tool_use("toolu_a", command="create", path="/memories/x", file_text="")],
    }
    first, again = support.send(message), support.send(message)
    assert (again.body, again.headers["idempotent-replay"]) == (first.body, "true")


def test_the_stand_in_refuses_what_the_messages_api_refuses() -> None:
    user, asked = (
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [tool_use("toolu_a", command="view")]},
    )
    result = {"type": "tool_result", "tool_use_id": "toolu_a", "content": "x", "is_error": False}
    base = {"model": MODEL, "max_tokens": 1, "tools": [TOOL]}
    check({**base, "messages": [user, asked, {"role": "user", "content": [result]}]})
    for wrong in (
        [],
        [{**result, "tool_use_id": "toolu_b"}],
        [result, result],
        [say("x"), result],
        [{**result, "seq": 1}],
    ):
        with pytest.raises(Refused):
            check({**base, "messages": [user, asked, {"role": "user", "content": wrong}]})


def test_the_loop_runs_through_real_connections(server: Server) -> None:
    """The same conversation with the hub in a process of its own."""
    agent = Agent(server, *server.new_store())
    for name, text in (("customer_service_guidelines.xml", padded(GUIDELINES, 1536)), ("refund_policies.xml", REFUNDS)):
        agent.call(name, command="create", path=f"/memories/{name}", file_text=text)
    messages: list[Any] = [{"role": "user", "content": "Help me respond to this customer service ticket."}]
    with playing(CUSTOMER_SERVICE) as api:
        client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{api.port}", max_retries=0)
        for _ in range(2):
            message = next_message(client, messages)
            messages.append({"role": "assistant", "content": message.to_dict()["content"]})
            status, _, turn = agent.send(message.model_dump(mode="json"))
            assert status == 200
            messages.append(turn)
        assert next_message(client, messages).stop_reason == "end_turn"
    assert messages[4]["content"][0]["content"].count("\n") == len(padded(GUIDELINES, 1536).split("\n"))

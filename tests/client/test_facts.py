"""What the SDK's own suites know of its local memory tool holds for a memory store of the hub, sync and async."""

from typing import Any

import pytest
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memoryhub.client import AsyncHubMemoryTool, HubMemoryTool
from tests.client.facts import FACTS, SHOWN, SNIPPET
from tests.client.remote import Remote

A, B = "/memories/a.md", "/memories/notes/b.md"
HALF = 500_000


@pytest.mark.parametrize("name", FACTS)
def test_the_store_answers_like_a_memory_tool(remote: Remote, name: str) -> None:
    for input, state, answer in FACTS[name]:
        assert remote.call(**input) == [state, answer], input


def test_a_memory_of_a_million_lines_is_not_shown_and_one_less_is(remote: Remote) -> None:
    assert remote.call(command="create", path=A, file_text="\n" * HALF)[0] == "ok"
    rest = {"command": "insert", "path": A, "insert_line": HALF, "insert_text": "\n" * (HALF - 1)}
    assert remote.call(**rest)[0] == "ok"
    last = remote.call(command="view", path=A, view_range=[999_998, 999_999])
    assert last == ["ok", SHOWN.format(A) + "999998\t\n999999\t"]
    assert remote.call(command="insert", path=A, insert_line=0, insert_text="one more")[0] == "ok"
    assert remote.call(command="view", path=A) == ["err", f"File {A} exceeds maximum line limit of 999,999 lines."]


def test_the_commands_of_the_sdk_are_methods(remote: Remote) -> None:
    tool = remote.tool
    assert remote.outcome(
        lambda: tool.create(BetaMemoryTool20250818CreateCommand(command="create", path=A, file_text="one\ntwo\n"))
    ) == ["ok", f"File created successfully at: {A}"]
    assert remote.outcome(
        lambda: tool.str_replace(
            BetaMemoryTool20250818StrReplaceCommand(command="str_replace", path=A, old_str="two", new_str="2")
        )
    ) == ["ok", f"{SNIPPET}     1\tone\n     2\t2\n     3\t"]
    assert remote.outcome(
        lambda: tool.insert(
            BetaMemoryTool20250818InsertCommand(command="insert", path=A, insert_line=0, insert_text="zero")
        )
    ) == ["ok", f"The file {A} has been edited."]
    assert remote.outcome(
        lambda: tool.rename(BetaMemoryTool20250818RenameCommand(command="rename", old_path=A, new_path=B))
    ) == ["ok", f"Successfully renamed {A} to {B}"]
    look = BetaMemoryTool20250818ViewCommand(command="view", path=B, view_range=[1, 2])
    for act in (lambda: tool.view(look), lambda: tool.execute(look)):
        assert remote.outcome(act) == ["ok", SHOWN.format(B) + "     1\tzero\n     2\tone"]
    assert remote.outcome(
        lambda: tool.delete(BetaMemoryTool20250818DeleteCommand(command="delete", path="/memories/notes"))
    ) == ["ok", "Successfully deleted /memories/notes"]


def test_the_tool_is_told_to_the_model_with_its_cache_control() -> None:
    kinds: tuple[Any, ...] = (HubMemoryTool, AsyncHubMemoryTool)
    for kind in kinds:
        plain = kind("http://127.0.0.1:1", "mh_x", "memstore_x")
        assert (plain.name, plain.to_dict()) == ("memory", {"type": "memory_20250818", "name": "memory"})
        cached = kind("http://127.0.0.1:1", "mh_x", "memstore_x", cache_control={"type": "ephemeral", "ttl": "1h"})
        assert cached.to_dict()["cache_control"] == {"type": "ephemeral", "ttl": "1h"}

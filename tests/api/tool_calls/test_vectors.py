"""Every vector of the memory tool over HTTP, on the database that the tests run on."""

import json
from pathlib import Path
from typing import Any

from tests.api.harness import Hub, assert_audit_is_right, assert_kept, contents, newest_entry
from tests.support.in_turn import in_turn
from tests.support.long import is_tried

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "memory-tool-vectors.json").read_text(encoding="utf-8")
)


def test_there_are_vectors() -> None:
    assert len(VECTORS) >= 190
    assert len({vector["id"] for vector in VECTORS}) == len(VECTORS)


@in_turn(("number", "vector"), enumerate(VECTORS))
def test_the_vector_is_answered_exactly_and_leaves_one_entry(hub: Hub, number: int, vector: dict[str, Any]) -> None:
    for command in vector["setup"]:
        hub.call(**command)
    before = newest_entry(hub.store.id).seq
    assert hub.call(**vector["op"]) == vector["expect"]
    if vector["files_after"] is not None:
        assert contents(hub.store) == vector["files_after"]
    entry = newest_entry(hub.store.id)
    assert (entry.seq, entry.ok) == (before + 1, vector["expect"][0] == "ok")
    assert_kept(entry.input, vector["op"])
    if is_tried(number):
        assert_audit_is_right(hub.store)


def test_all_vectors_of_one_kind_run_in_one_message(hub: Hub) -> None:
    """The message form gives the same answers as the block form."""
    vector = next(v for v in VECTORS if len(v["setup"]) >= 3 and v["expect"][0] == "ok")
    blocks = [hub.block(**command) for command in [*vector["setup"], vector["op"]]]
    answer = hub.message(*blocks).value
    assert answer["role"] == "user"
    assert [result["tool_use_id"] for result in answer["content"]] == [block["id"] for block in blocks]
    assert answer["content"][-1]["content"] == vector["expect"][1]

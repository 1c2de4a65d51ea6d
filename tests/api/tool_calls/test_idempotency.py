"""A call that is sent again: one effect, one answer, and an entry for each time it was sent."""

import json
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import transactions
from memoryhub.actions.core.audit import Act
from memoryhub.actions.erasure import erasure
from memoryhub.models import HUB, AuditEntry, IdempotentCall, Key, MemoryVersion
from tests.api.harness import (
    BY,
    Answer,
    Hub,
    assert_audit_is_right,
    contents,
    new_hub,
    new_secret,
    newest_entry,
    outcome,
    row_counts,
)

SNIPPET = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"


def sent(hub: Hub, id: str, **input: object) -> Answer:
    return hub.send(hub.block(id, **input))


def entries(hub: Hub) -> list[AuditEntry]:
    """The entries of the calls, oldest first."""
    return list(AuditEntry.objects.of_chain(hub.store.id).filter(actor_kind="key").oldest())


def create(hub: Hub, text: str = "one\n", path: str = "/memories/a.md") -> None:
    assert hub.call(command="create", path=path, file_text=text)[0] == "ok"


def test_five_times_the_same_call_has_one_effect_and_one_answer(hub: Hub) -> None:
    create(hub)
    answers = [
        sent(hub, "toolu_x", command="insert", path="/memories/a.md", insert_line=0, insert_text="zero")
        for _ in range(5)
    ]
    assert len({answer.body for answer in answers}) == 1
    assert [answer.headers.get("idempotent-replay") for answer in answers] == [None, *["true"] * 4]
    assert contents(hub.store) == {"/memories/a.md": "zero\none\n"}
    assert MemoryVersion.objects.filter(store=hub.store).count() == 2
    _, first, *others = entries(hub)
    assert first.replay_of is None and [entry.replay_of for entry in others] == [first.seq] * 4
    assert {(entry.command, entry.path, entry.ok, entry.token) for entry in (first, *others)} == {
        ("insert", "/a.md", True, "toolu_x")
    }
    assert_audit_is_right(hub.store)


def test_the_order_of_the_keys_of_an_input_does_not_matter(hub: Hub) -> None:
    for keys in (("command", "path", "file_text"), ("file_text", "path", "command")):
        values = {"command": "create", "path": "/memories/a.md", "file_text": "x"}
        answer = hub.send(hub.block("toolu_x", **{key: values[key] for key in keys}))
        assert outcome(answer.value)[0] == "ok"


@pytest.mark.parametrize(("one", "two"), [
    ({"x": 1}, {"x": 2}), ({"x": 1}, {}), ({}, {"insert_text": None}),
    ({"view_range": [1.0, 2]}, {"view_range": [1, 2.0]}),
    ({"insert_line": 0}, {"insert_line": 0.0}), ({"insert_line": 0}, {"insert_line": -0.0}),
])  # fmt: skip
def test_what_the_hub_ignores_makes_no_other_call(hub: Hub, one: dict[str, Any], two: dict[str, Any]) -> None:
    create(hub)
    for extra in (one, two):
        answer = sent(hub, "toolu_x", command="view", path="/memories/a.md", **extra)
        assert (answer.status, outcome(answer.value)[0]) == (200, "ok")


@pytest.mark.parametrize(("one", "two"), [(1, True), (1, 1.5), (1, "1"), (None, False), ([], {}), ("é", "e\u0301")])
def test_inputs_that_python_calls_equal_are_different_all_the_same(hub: Hub, one: object, two: object) -> None:
    assert sent(hub, "toolu_x", command="view", path="/memories", view_range=one).status == 200
    assert sent(hub, "toolu_x", command="view", path="/memories", view_range=two).status == 422


def test_another_input_under_a_used_token_is_refused_without_effect(hub: Hub) -> None:
    create(hub)
    sent(hub, "toolu_x", command="delete", path="/memories/b.md")
    before = row_counts()
    answer = sent(hub, "toolu_x", command="delete", path="/memories/a.md")
    assert (answer.status, answer.value["error"]["type"]) == (422, "invalid_request_error")
    assert answer.value["error"]["message"].endswith("nothing was run. Send a new call under a new id.")
    assert row_counts() == before | {"hub entries": before["hub entries"] + 1}
    assert contents(hub.store) == {"/memories/a.md": "one\n"}


@pytest.mark.both_databases
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no committer")
def test_a_reused_token_makes_no_call_run_again_that_is_committed_with_it(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions._thread, "is_committer", True, raising=False)
    sent(hub, "toolu_x", command="view", path="/memories")
    ran: list[str] = []

    def asking(id: str) -> transactions._Request[int]:
        def work() -> int:
            ran.append(id)
            return sent(hub, id, command="create", path=f"/memories/{id}.md", file_text="").status

        return transactions._Request(work, lambda answer, error: None)

    jobs: list[transactions._Job[Any]] = [asking(id) for id in ("toolu_1", "toolu_x", "toolu_2")]
    transactions._commit(jobs)
    assert [job.result for job in jobs] == [200, 422, 200]
    assert ran == ["toolu_1", "toolu_x", "toolu_2"]
    assert set(contents(hub.store)) == {"/memories/toolu_1.md", "/memories/toolu_2.md"}
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_reused_token_refuses_the_whole_message(hub: Hub, position: int) -> None:
    create(hub)
    used = hub.block("toolu_x", command="view", path="/memories")
    hub.send(used)
    blocks = [hub.block(command="create", path=f"/memories/{n}.md", file_text="") for n in range(2)]
    blocks.insert(position, {**used, "input": {"command": "delete", "path": "/memories/a.md"}})
    before = row_counts()
    assert hub.message(*blocks).status == 422
    assert row_counts() == before | {"hub entries": before["hub entries"] + 1}
    assert newest_entry(HUB).token == "toolu_x"


def test_a_message_that_was_half_sent_before_runs_only_the_rest(hub: Hub) -> None:
    first = hub.block(command="create", path="/memories/a.md", file_text="a")
    second = hub.block(command="create", path="/memories/b.md", file_text="b")
    alone = hub.send(first)
    answer = hub.message(first, second)
    assert answer.headers["idempotent-replay"] == "true"
    assert answer.value["content"][0] == alone.value
    assert [outcome(block)[0] for block in answer.value["content"]] == ["ok", "ok"]
    assert contents(hub.store) == {"/memories/a.md": "a", "/memories/b.md": "b"}
    again = hub.message(first, second)
    assert again.value == answer.value
    assert_audit_is_right(hub.store)


def test_two_edits_of_one_message_both_land(hub: Hub) -> None:
    create(hub, "one\ntwo\n")
    answer = hub.message(
        hub.block(command="str_replace", path="/memories/a.md", old_str="one", new_str="1"),
        hub.block(command="str_replace", path="/memories/a.md", old_str="two", new_str="2"),
    )
    assert [outcome(block) for block in answer.value["content"]] == [
        ["ok", SNIPPET + "     1\t1\n     2\ttwo\n     3\t"],
        ["ok", SNIPPET + "     1\t1\n     2\t2\n     3\t"],
    ]
    assert contents(hub.store) == {"/memories/a.md": "1\n2\n"}


def test_a_later_block_sees_what_an_earlier_one_did(hub: Hub) -> None:
    answer = hub.message(
        hub.block(command="create", path="/memories/a.md", file_text="x"),
        hub.block(command="rename", old_path="/memories/a.md", new_path="/memories/b.md"),
        hub.block(command="view", path="/memories/a.md"),
        hub.block(command="delete", path="/memories/b.md"),
    )
    assert [outcome(block)[0] for block in answer.value["content"]] == ["ok", "ok", "err", "ok"]


@pytest.mark.both_databases
def test_the_header_names_the_call_by_the_position_of_its_block(hub: Hub) -> None:
    def message(*texts: str) -> list[dict[str, Any]]:
        return [hub.block(command="create", path=f"/memories/{text}.md", file_text=text) for text in texts]

    first = hub.message(*message("a", "b"), idempotency_key="turn-7")
    again = hub.message(*message("a", "b"), idempotency_key="turn-7")
    assert again.headers["idempotent-replay"] == "true"
    assert [outcome(b) for b in again.value["content"]] == [outcome(b) for b in first.value["content"]]
    ids = [[block["tool_use_id"] for block in answer.value["content"]] for answer in (first, again)]
    assert ids == [["toolu_1", "toolu_2"], ["toolu_3", "toolu_4"]]
    assert set(IdempotentCall.objects.values_list("token", flat=True)) == {"turn-7#0", "turn-7#1"}
    assert hub.message(*message("b", "a"), idempotency_key="turn-7").status == 422
    assert hub.message(*message("a"), idempotency_key="turn-7").status == 200
    assert hub.message(*message("a", "b", "c"), idempotency_key="turn-7").status == 200
    assert contents(hub.store) == {f"/memories/{text}.md": text for text in "abc"}


def test_with_the_header_the_id_of_a_block_may_be_used_again(hub: Hub) -> None:
    block = hub.block("toolu_x", command="insert", path="/memories/a.md", insert_line=0, insert_text="x")
    create(hub, "")
    for key in ("one", "two", "one"):
        assert hub.send(block, idempotency_key=key).status == 200
    assert contents(hub.store) == {"/memories/a.md": "x\nx\n"}


def test_an_error_is_answered_again_as_it_was(hub: Hub) -> None:
    first = sent(hub, "toolu_x", command="delete", path="/memories/a.md")
    create(hub)
    again = sent(hub, "toolu_x", command="delete", path="/memories/a.md")
    assert again.value == first.value and outcome(again.value)[0] == "err"
    assert contents(hub.store) == {"/memories/a.md": "one\n"}
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize(
    "input",
    [{"command": "wrong"}, {"command": "view", "path": "/etc"}, {}, {"command": "create", "path": "/memories/\ud800"}],
)
def test_a_refused_command_is_answered_again_as_it_was(hub: Hub, input: dict[str, Any]) -> None:
    answers = [hub.send({**hub.block("toolu_x"), "input": input}) for _ in range(2)]
    assert answers[0].value == answers[1].value
    assert entries(hub)[1].replay_of == entries(hub)[0].seq
    assert_audit_is_right(hub.store)


def test_a_view_looks_again(hub: Hub) -> None:
    create(hub)
    view = {"command": "view", "path": "/memories/a.md"}
    first = sent(hub, "toolu_x", **view)
    hub.call(command="str_replace", path="/memories/a.md", old_str="one", new_str="two")
    again = sent(hub, "toolu_x", **view)
    assert again.headers["idempotent-replay"] == "true"
    assert (outcome(first.value)[1][-12:], outcome(again.value)[1][-12:]) == ("\tone\n     2\t", "\ttwo\n     2\t")
    hub.call(command="delete", path="/memories/a.md")
    assert outcome(sent(hub, "toolu_x", **view).value)[0] == "err"
    assert_audit_is_right(hub.store)


def test_the_answer_of_a_str_replace_stays_what_it_was_after_later_edits(hub: Hub) -> None:
    create(hub, "1\n2\n3\n4\n5\n6\n7\n")
    edit = {"command": "str_replace", "path": "/memories/a.md", "old_str": "4", "new_str": "four\nand more"}
    first = sent(hub, "toolu_x", **edit)
    expected = SNIPPET + "     2\t2\n     3\t3\n     4\tfour\n     5\tand more\n     6\t5"
    assert outcome(first.value) == ["ok", expected]
    hub.call(command="str_replace", path="/memories/a.md", old_str="four\nand more", new_str="")
    assert sent(hub, "toolu_x", **edit).body == first.body
    hub.call(command="rename", old_path="/memories/a.md", new_path="/memories/b.md")
    hub.call(command="delete", path="/memories/b.md")
    assert sent(hub, "toolu_x", **edit).body == first.body
    assert contents(hub.store) == {}
    assert_audit_is_right(hub.store)


def test_a_str_replace_that_changes_nothing_is_answered_again(hub: Hub) -> None:
    create(hub)
    edit = {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "one"}
    first = sent(hub, "toolu_x", **edit)
    hub.call(command="str_replace", path="/memories/a.md", old_str="one", new_str="two")
    assert sent(hub, "toolu_x", **edit).body == first.body
    assert MemoryVersion.objects.filter(store=hub.store).count() == 2
    assert_audit_is_right(hub.store)


def test_tokens_of_other_keys_and_stores_are_others(hub: Hub) -> None:
    other = Hub(hub.store, new_secret(hub.store))
    for number, one in enumerate((hub, other, new_hub())):
        answer = sent(one, "toolu_x", command="create", path=f"/memories/{number}.md", file_text="")
        assert outcome(answer.value)[0] == "ok"
    assert contents(hub.store).keys() == {"/memories/0.md", "/memories/1.md"}


def test_a_replay_by_a_key_that_was_revoked_meanwhile_is_refused(hub: Hub) -> None:
    sent(hub, "toolu_x", command="view", path="/memories")
    keys_and_roles.revoke_key(Key.objects.get(digest=keys_and_roles.calls.digest_of_key(hub.secret)), **BY)
    assert sent(hub, "toolu_x", command="view", path="/memories").status == 401


def test_a_replay_keeps_what_it_says_about_reading(hub: Hub) -> None:
    """A view that is sent again is another look, and is counted as one."""
    create(hub)
    for _ in range(3):
        sent(hub, "toolu_x", command="view", path="/memories/a.md")
    memory = hub.store.memories.get()
    assert (memory.read_count, memory.last_read_seq) == (3, entries(hub)[-1].seq)
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_what_is_remembered_of_a_call_is_no_text(hub: Hub) -> None:
    sent(hub, "toolu_x", command="create", path="/memories/a.md", file_text="very secret")
    call = IdempotentCall.objects.get(token="toolu_x")
    assert len(call.digest) == 64 and call.seq == entries(hub)[-1].seq
    assert "secret" not in json.dumps([call.digest, call.token, call.key])


def test_a_message_has_at_most_a_hundred_calls(hub: Hub) -> None:
    blocks = [hub.block(command="view", path="/memories") for _ in range(101)]
    assert hub.message(*blocks).status == 400
    assert newest_entry(hub.store.id).command == "create_store"
    assert len(hub.message(*blocks[:100]).value["content"]) == 100


@pytest.mark.both_databases
def test_a_repetition_stores_no_path_that_was_redacted_from_the_first_call(hub: Hub) -> None:
    made = {"command": "create", "path": "/memories/Quellenberg.md", "file_text": "Quellenberg came\n"}
    moved = {"command": "rename", "old_path": "/memories/Quellenberg.md", "new_path": "/memories/b.md"}
    sent(hub, "toolu_x", **made)
    sent(hub, "toolu_y", **moved)
    act = Act(**(BY | {"at": timezone.now()}))
    found = erasure.search(hub.store.id, ["Quellenberg"], act.at)
    erasure.erase(hub.store.id, ["Quellenberg"], found.digest, act)
    first = entries(hub)
    for id, again in (("toolu_x", made), ("toolu_y", moved)):
        assert sent(hub, id, **again).headers["idempotent-replay"] == "true"
    repeated = entries(hub)[len(first) :]
    assert [(one.path, one.new_path) for one in repeated] == [(one.path, one.new_path) for one in first]
    assert "Quellenberg" not in str([vars(one) for one in entries(hub)])
    assert_audit_is_right(hub.store)

"""Rules for sensitive text at the tool's door: what is off, flagged, masked or blocked, and stored nowhere."""

import hashlib
import json
from typing import Any

import pytest

from memoryhub.models import AuditEntry, Finding, FindingState, IdempotentCall, MemoryStore
from memoryhub.pure.protocol import rendering
from tests.api.harness import assert_audit_is_right, contents, newest_entry
from tests.api.rules import CARD, OTHER_CARD, findings_of, hub_with, set_rules, where_stored
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db

MASKED = "\n[1 passage was stored as [redacted:card], because this memory store does not keep it.]"
FIRST = {"command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\nthree\n"}
WRITES: list[tuple[dict[str, Any], int, str]] = [
    ({"command": "create", "path": "/memories/x.md", "file_text": f"one\ncard {CARD}\n"}, 2, "/memories/x.md"),
    ({"command": "str_replace", "path": "/memories/a.md", "old_str": "two", "new_str": CARD}, 2, "/memories/a.md"),
    (
        {"command": "insert", "path": "/memories/a.md", "insert_line": 3, "insert_text": f"four\n{CARD}"},
        5,
        "/memories/a.md",
    ),
]


def blocked(path: str, line: int) -> str:
    return (
        f"Error: line {line} of {path} would hold a payment card number, which this memory store does not keep. "
        "Leave it out."
    )


@pytest.mark.parametrize(("input", "line", "path"), WRITES)
def test_a_blocked_text_is_refused_by_kind_and_line_and_stored_nowhere(
    input: dict[str, Any], line: int, path: str
) -> None:
    hub = hub_with(card="block")
    hub.call(**FIRST)
    before = contents(hub.store)
    assert hub.call(**input) == ["err", blocked(path, line)]
    assert contents(hub.store) == before
    assert where_stored(CARD) == set()
    entry = newest_entry(hub.store.id)
    assert (entry.ok, entry.path) == (False, path.removeprefix("/memories"))
    assert "[redacted:card]" in str(entry.input)
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize(("input", "line", "path"), WRITES)
def test_a_masked_text_is_stored_masked_and_the_agent_is_told(input: dict[str, Any], line: int, path: str) -> None:
    hub = hub_with(card="mask")
    hub.call(**FIRST)
    ok, answer = hub.call(**input)
    assert ok == "ok"
    assert answer.endswith(MASKED)
    assert contents(hub.store)[path].split("\n")[line - 1].endswith("[redacted:card]")
    assert where_stored(CARD) == set()
    assert findings_of(hub) == []
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize(("input", "line", "path"), WRITES)
def test_a_flagged_text_is_stored_as_it_is_and_found_once(input: dict[str, Any], line: int, path: str) -> None:
    hub = hub_with(card="flag")
    hub.call(**FIRST)
    ok, answer = hub.call(**input)
    assert (ok, "redacted" in answer) == ("ok", False)
    assert CARD in contents(hub.store)[path]
    assert findings_of(hub) == [("card", line, FindingState.OPEN)]
    assert "memoryhub_finding" not in where_stored(CARD)
    hub.call(command="insert", path=path, insert_line=0, insert_text=f"again {CARD}")
    assert findings_of(hub) == [("card", line, FindingState.OPEN)]
    assert_audit_is_right(hub.store)


def test_with_every_kind_off_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = hub_with()
    monkeypatch.setattr("memoryhub.pure.sensitive.find", lambda *_: pytest.fail("it was looked for"))
    for input in (FIRST, *(one[0] for one in WRITES)):
        assert hub.call(**input)[0] == "ok"


def test_a_str_replace_that_was_masked_shows_what_is_stored_and_a_replay_shows_the_same() -> None:
    hub = hub_with(card="mask")
    hub.call(**FIRST)
    block = hub.block("toolu_once", **WRITES[1][0])
    first = hub.send(block).value["content"]
    assert first == rendering.edited_again("one\n[redacted:card]\nthree\n", 1, 4) + MASKED
    again = hub.send(block)
    assert again.headers["idempotent-replay"] == "true"
    assert again.value["content"] == first
    assert where_stored(CARD) == set()
    assert_audit_is_right(hub.store)


def test_a_value_that_two_edits_put_together_on_one_line_is_kept_out_with_its_parts() -> None:
    for action in ("mask", "block"):
        hub = hub_with(password=action)
        assert hub.call(command="create", path="/memories/a.md", file_text="the password is \nb\n")[0] == "ok"
        block = hub.block(
            "toolu_p", command="str_replace", path="/memories/a.md", old_str="is ", new_str="is hunter2!Xy"
        )
        part = hub.block("toolu_q", command="str_replace", path="/memories/a.md", old_str="is ", new_str="is qwe8!Z")
        for one in (block, block, part, part):
            hub.send(one)
        assert where_stored("hunter2!Xy") == set(), action
        assert_audit_is_right(hub.store)


def test_a_part_of_a_value_in_the_input_is_kept_out_too_also_when_the_call_is_repeated() -> None:
    for action in ("mask", "block"):
        hub = hub_with(password=action)
        hub.call(command="create", path="/memories/a.md", file_text="the password is X and so on\n")
        block = hub.block(command="str_replace", path="/memories/a.md", old_str="X", new_str="hunter2!Xy")
        answers = [hub.send(block).value for _ in range(2)]
        assert answers[0] == answers[1]
        assert where_stored("hunter2!Xy") == set(), action
        assert_audit_is_right(hub.store)


def test_a_private_key_that_lines_put_together_is_found() -> None:
    hub = hub_with(private_key="block")
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n" * 3
    hub.call(command="create", path="/memories/a.md", file_text="x\n-----BEGIN PRIVATE\n" + body + "y\n")
    ok, answer = hub.call(
        command="str_replace", path="/memories/a.md", old_str="PRIVATE\n", new_str="PRIVATE KEY-----\n"
    )
    assert (ok, "line 2 of /memories/a.md would hold a private key" in answer) == ("err", True)


def test_lines_that_were_there_before_the_rule_stay_until_somebody_changes_them() -> None:
    hub = hub_with()
    hub.call(command="create", path="/memories/a.md", file_text=f"one {CARD}\ntwo\nthree\n")
    set_rules(hub.store, card="block")
    assert hub.call(command="str_replace", path="/memories/a.md", old_str="two", new_str="2")[0] == "ok"
    assert hub.call(command="insert", path="/memories/a.md", insert_line=0, insert_text="zero")[0] == "ok"
    assert hub.call(command="str_replace", path="/memories/a.md", old_str="one", new_str="1")[0] == "err"
    assert hub.call(command="str_replace", path="/memories/a.md", old_str=f"one {CARD}\n", new_str="")[0] == "ok"


PATHS: list[dict[str, Any]] = [
    {"command": "create", "path": f"/memories/{CARD}.md", "file_text": "x"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": f"/memories/d/{CARD}"},
    {"command": "rename", "old_path": "/memories/d", "new_path": f"/memories/{CARD}"},
]
REFUSED = (
    "Error: this path would hold a payment card number, which this memory store does not keep. Choose another path."
)


@pytest.mark.parametrize("action", ["mask", "block"])
@pytest.mark.parametrize("input", PATHS)
def test_a_path_cannot_be_masked_so_it_is_refused_and_stored_nowhere(input: dict[str, Any], action: str) -> None:
    hub = hub_with(card=action)
    hub.call(**FIRST)
    hub.call(command="create", path="/memories/d/e.md", file_text="x")
    block = hub.block(**input)
    assert [hub.send(block).value["content"] for _ in range(2)] == [REFUSED, REFUSED]
    assert where_stored(CARD) == set()
    assert CARD not in str([newest_entry(hub.store.id).path, newest_entry(hub.store.id).new_path])
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize("input", PATHS)
def test_a_flagged_path_is_a_finding_of_each_memory_that_gets_it(input: dict[str, Any]) -> None:
    hub = hub_with(card="flag")
    hub.call(**FIRST)
    hub.call(command="create", path="/memories/d/e.md", file_text="x")
    assert hub.call(**input)[0] == "ok"
    assert findings_of(hub) == [("card", 1, FindingState.OPEN)]


def test_no_error_and_no_input_of_any_command_keeps_the_value() -> None:
    hub = hub_with(card="mask")
    hub.call(**FIRST)
    calls: list[dict[str, Any]] = [
        {"command": "str_replace", "path": "/memories/a.md", "old_str": CARD, "new_str": "x"},
        {"command": "str_replace", "path": f"/memories/{CARD}", "old_str": "x", "new_str": "x"},
        {"command": "view", "path": f"/memories/{CARD}"},
        {"command": "view", "path": CARD},
        {"command": "delete", "path": f"/memories/{CARD}"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": int(CARD.replace(" ", "")), "insert_text": ""},
        {"command": f"show {CARD}"},
        {"command": "view", "path": "/memories", CARD: [{"deep": CARD}]},
        {"command": "view", "path": "/memories/a.md", "view_range": [CARD, 2]},
    ]
    for input in calls:
        answer = hub.call(**input)[1]
        assert CARD not in answer
        assert CARD.replace(" ", "") not in answer
    assert where_stored(CARD) | where_stored(CARD.replace(" ", "")) == set()
    assert_audit_is_right(hub.store)


def test_two_kinds_masked_in_one_text_are_both_told() -> None:
    hub = hub_with(card="mask", password="mask")
    text = f"{CARD}\n{OTHER_CARD} the password is hunter2!Xy\n"
    answer = hub.call(command="create", path="/memories/x.md", file_text=text)[1]
    assert answer.endswith(
        "\n[3 passages were stored as [redacted:card] and [redacted:password], because this memory store does not "
        "keep them.]"
    )


def test_flagged_places_are_those_of_the_text_as_it_was_masked() -> None:
    hub = hub_with(card="mask", password="flag")
    hub.call(command="create", path="/memories/x.md", file_text=f"a {CARD} b\nthe password is hunter2!Xy\n")
    finding = Finding.objects.get(store=hub.store)
    stored = contents(hub.store)["/memories/x.md"]
    assert stored[finding.start : finding.end] == "hunter2!Xy"
    assert finding.line == 2


@pytest.mark.both_databases
def test_a_create_that_overwrites_is_screened_too() -> None:
    hub = hub_with(card="mask")
    hub.call(**FIRST)
    with tampering():
        MemoryStore.objects.filter(pk=hub.store.pk).update(overwrite_on_create=True)
    answer = hub.call(command="create", path="/memories/a.md", file_text=f"new {CARD}\n")[1]
    assert answer.endswith(MASKED)
    assert contents(hub.store) == {"/memories/a.md": "new [redacted:card]\n"}
    assert where_stored(CARD) == set()


@pytest.mark.both_databases
def test_what_tells_a_call_again_cannot_be_guessed_and_old_ones_are_still_known() -> None:
    hub = hub_with()
    block = hub.block("toolu_1", **FIRST)
    hub.send(block)
    plain = hashlib.sha256(
        json.dumps(FIRST, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode()
    ).hexdigest()
    call = IdempotentCall.objects.get(store=hub.store)
    assert call.digest != plain
    with tampering():
        IdempotentCall.objects.filter(store=hub.store).update(digest=plain)
    assert hub.send(block).headers["idempotent-replay"] == "true"
    assert hub.send(hub.block("toolu_1", command="view", path="/memories")).status == 422


def test_the_entries_of_a_masked_call_and_of_its_repetition_have_the_same_input() -> None:
    hub = hub_with(card="mask")
    block = hub.block(**WRITES[0][0])
    hub.send(block)
    hub.send(block)
    first, second = AuditEntry.objects.of_chain(hub.store.id).of_command("create").oldest()
    assert first.input == second.input
    assert second.replay_of == first.seq

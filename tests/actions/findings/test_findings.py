"""Sensitive text at the doors of people: asked for a reason, masked, refused; and what becomes of findings."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.findings import NeedsReason
from memoryhub.actions.history import apply_plan, revert as reverting
from memoryhub.actions.memories import curation, selection
from memoryhub.actions.memories.selection import moves as selection_moves, restore as selection_restore
from memoryhub.actions.review import decisions
from memoryhub.models import AuditEntry, Door, Finding, FindingState, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure import sensitive
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.core.trees import ACT
from tests.api.harness import AT, Hub, assert_audit_is_right, contents, newest_entry
from tests.api.rules import CARD, OTHER_CARD, findings_of, found, hub_with, set_rules, where_stored
from tests.support.fixtures import new_person, signed_in

pytestmark = pytest.mark.django_db

OLD = f"one\n{CARD}\nthree\n"
Door_ = Callable[[Hub, Memory], object]


def memory_of(hub: Hub, path: str = "/a.md") -> Memory:
    return Memory.objects.get(store=hub.store, path=path)


def version_of(memory: Memory, number: int) -> str:
    return str(MemoryVersion.objects.get(store=memory.store_id, memory=memory, number=number).pk)


def prepared(**rules: str) -> tuple[Hub, Memory]:
    """A memory whose first version has a card number, its second none; then these rules hold."""
    hub = hub_with()
    hub.call(command="create", path="/memories/a.md", file_text=OLD)
    hub.call(command="str_replace", path="/memories/a.md", old_str=CARD, new_str="two")
    set_rules(hub.store, **rules)
    return hub, memory_of(hub)


@pytest.fixture
def anna(db: None) -> Act:
    """An act of somebody who can be asked."""
    return Act(Actor.person(new_person("Anna")), Door.WEB, AT, note="by hand")


def edit(hub: Hub, memory: Memory, act: Act, text: str, **options: str) -> curation.Done:
    memory.refresh_from_db()
    return curation.edit(hub.store.id, memory.pk, text, memory.sha256, act, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ asked for a reason


@pytest.mark.both_databases
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_person_is_asked_why_what_is_flagged_may_stay(anna: Act, reason: str | None) -> None:
    hub, memory = prepared(card="flag")
    count = AuditEntry.objects.count()
    with pytest.raises(NeedsReason) as asked:
        curation.create(hub.store.id, "/new.md", f"x\n{OTHER_CARD}", anna, override=reason)
    (span,) = asked.value.spans
    assert (span.kind, asked.value.text[span.start : span.end]) == ("card", OTHER_CARD)
    with pytest.raises(NeedsReason):
        curation.edit(hub.store.id, memory.pk, OTHER_CARD, memory.sha256, anna, override=reason)
    with pytest.raises(NeedsReason) as asked:
        curation.rename(hub.store.id, "/a.md", f"/{OTHER_CARD}", anna, override=reason)
    assert (len(asked.value.path_spans), asked.value.path) == (1, f"/{OTHER_CARD}")
    assert AuditEntry.objects.count() == count
    assert contents(hub.store) == {"/memories/a.md": "one\ntwo\nthree\n"}
    assert Finding.objects.filter(store=hub.store).count() == 0


def test_with_a_reason_the_finding_is_dismissed_in_the_same_act_and_the_entry_says_so(anna: Act) -> None:
    hub = hub_with(card="flag")
    done = curation.create(hub.store.id, "/new.md", f"x\n{CARD}", anna, override=" a test number ")
    finding = Finding.objects.get(store=hub.store)
    assert (finding.state, finding.note, finding.decided_by_id, finding.decided_seq) == (
        FindingState.DISMISSED, "a test number", anna.actor.id, done.seq
    )  # fmt: skip
    assert json.loads(newest_entry(hub.store.id).input or "") == {
        "path": "/new.md", "override": "a test number", "findings": ["card"]
    }  # fmt: skip
    assert_audit_is_right(hub.store)


def test_who_is_no_person_cannot_be_asked() -> None:
    hub = hub_with(card="flag")
    curation.create(hub.store.id, "/a.md", CARD, ACT)
    assert findings_of(hub) == [("card", 1, FindingState.OPEN)]


def test_nobody_is_asked_twice_about_the_same_value_of_a_memory(anna: Act) -> None:
    hub = hub_with(card="flag")
    curation.create(hub.store.id, "/a.md", CARD, anna, override="a test number")
    memory = memory_of(hub)
    edit(hub, memory, anna, f"{CARD} and more")
    edit(hub, memory, anna, f"moved\n{CARD}, again")
    assert findings_of(hub) == [("card", 1, FindingState.DISMISSED)]
    with pytest.raises(NeedsReason):
        edit(hub, memory, anna, f"moved\n{CARD}, again {OTHER_CARD}")


def test_a_persons_text_is_masked_and_blocked_as_an_agents(anna: Act) -> None:
    hub, memory = prepared(card="mask", password="block")
    done = edit(hub, memory, anna, f"{OTHER_CARD}\n")
    assert done.masked == ("card",)
    assert contents(hub.store)["/memories/a.md"] == "[redacted:card]\n"
    with pytest.raises(ToolError, match=r"line 1 of /memories/b\.md would hold a password"):
        curation.create(hub.store.id, "/b.md", "the password is hunter2!Xy", anna, override="a reason helps nothing")
    with pytest.raises(ToolError, match="this path would hold a payment card"):
        curation.rename(hub.store.id, "/a.md", f"/{OTHER_CARD}", anna, override="neither does it here")
    assert where_stored(OTHER_CARD) | where_stored("hunter2!Xy") == set()
    assert_audit_is_right(hub.store)


def test_a_note_and_a_reason_are_masked_too(anna: Act) -> None:
    hub, memory = prepared(card="mask", email="flag")
    act = anna._replace(note=f"he sent {OTHER_CARD}")
    curation.edit(
        hub.store.id, memory.pk, "jane.doe@corp.org", memory.sha256, act, override=f"paid with {OTHER_CARD}"
    )  # fmt: skip
    waiting = version_of(memory, 1)
    reverting.take_back(hub.store.id, newest_entry(hub.store.id).seq, act)
    decisions.flag(hub.store.id, [waiting], act)
    findings.decide(
        hub.store.id, [Finding.objects.get(store=hub.store).pk], FindingState.OPEN, f"again {OTHER_CARD}", act
    )
    assert where_stored(OTHER_CARD) == set()
    assert_audit_is_right(hub.store)


# ------------------------------------------------------------------------------------------------ what comes back


def restore_version(hub: Hub, memory: Memory) -> object:
    return curation.restore(hub.store.id, version_of(memory, 1), ACT)


def restore_deleted(hub: Hub, memory: Memory) -> object:
    curation.delete(hub.store.id, "/a.md", ACT)
    return curation.restore(hub.store.id, version_of(memory, 1), ACT)


def restore_moment(hub: Hub, memory: Memory) -> object:
    seq = MemoryVersion.objects.get(pk=version_of(memory, 1)).seq
    plan = apply_plan.restore_plan(hub.store.id, seq, memory=memory.pk)
    return apply_plan.restore(hub.store.id, seq, {}, plan.digest, ACT, memory=memory.pk)


def undo(hub: Hub, memory: Memory) -> object:
    """With a later change of another line, so that the text is a new one."""
    edit(hub, memory, ACT, "one\ntwo\nthree\nfour\n")
    undone = [version_of(memory, 2)]
    return apply_plan.undo(hub.store.id, undone, {}, apply_plan.undo_plan(hub.store.id, undone).digest, ACT)


def revert(hub: Hub, memory: Memory) -> object:
    return reverting.revert(hub.store.id, version_of(memory, 2), ACT)


BACK: list[Door_] = [restore_version, restore_deleted, restore_moment, undo, revert]


@pytest.mark.parametrize("door", BACK)
def test_what_is_blocked_now_does_not_come_back(door: Door_) -> None:
    hub, memory = prepared(card="block")
    with pytest.raises(ToolError, match=r"line 2 of /memories/a\.md would hold a payment card number"):
        door(hub, memory)
    assert CARD not in "".join(contents(hub.store).values())
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize("door", BACK)
def test_what_is_masked_now_comes_back_masked(door: Door_) -> None:
    hub, memory = prepared(card="mask")
    door(hub, memory)
    assert contents(hub.store)["/memories/a.md"].startswith("one\n[redacted:card]\nthree\n")
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize("door", BACK)
def test_what_is_flagged_now_comes_back_with_a_finding(door: Door_) -> None:
    hub, memory = prepared(card="flag")
    door(hub, memory)
    assert contents(hub.store)["/memories/a.md"].startswith(OLD)
    assert findings_of(hub) == [("card", 2, FindingState.OPEN)]
    assert_audit_is_right(hub.store)


def test_memories_out_of_the_trash_are_looked_at() -> None:
    outcomes = {}
    for action in ("block", "mask", "flag", "off"):
        hub = hub_with()
        hub.call(command="create", path="/memories/a.md", file_text=OLD)
        memory = memory_of(hub)
        curation.delete(hub.store.id, "/a.md", ACT)
        set_rules(hub.store, card=action)
        thrown = selection_restore.Thrown((memory.pk,))
        with pytest.raises(selection.NotDone) if action == "block" else nullcontext():
            selection_restore.restore(hub.store.id, thrown, {}, None, ACT)
        told = [str(one.why) for one in selection_restore.return_plan(hub.store.id, thrown, AT).refused]
        assert [("line 2 of /memories/a.md would hold" in why) for why in told] == [True] * (action == "block")
        outcomes[action] = (contents(hub.store).get("/memories/a.md"), len(findings_of(hub)))
        assert_audit_is_right(hub.store)
    masked = OLD.replace(CARD, "[redacted:card]")
    assert outcomes == {"block": (None, 0), "mask": (masked, 0), "flag": (OLD, 1), "off": (OLD, 0)}


def test_a_selection_does_not_move_to_a_path_that_the_rules_keep_out() -> None:
    for action, moves in (("block", False), ("mask", False), ("flag", True), ("off", True)):
        hub, memory = prepared(card=action)
        chosen = selection.Chosen((memory.pk,))
        digest = selection_moves.move_plan(hub.store.id, chosen, f"/{OTHER_CARD}", AT).digest
        with nullcontext() if moves else pytest.raises(ToolError, match="this path would hold a payment card number"):
            selection_moves.move(hub.store.id, chosen, f"/{OTHER_CARD}", digest, ACT)
        assert (f"/memories/{OTHER_CARD}/a.md" in contents(hub.store)) == moves, action
        assert len(findings_of(hub)) == (action == "flag")
        assert_audit_is_right(hub.store)


# ------------------------------------------------------------------------------------------------ deciding


def test_deciding_says_what_it_was_before_and_after() -> None:
    hub, rows = found(CARD, "the password is hunter2!Xy")
    pks = [row.pk for row in rows]
    assert findings.decide(hub.store.id, [*pks, "find_ghost"], FindingState.DISMISSED, "both known", ACT) == 2
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.note, entry.memory) == ("dismiss_finding", "both known", None)
    assert json.loads(entry.input or "") == {
        "before": {"open": sorted(pks)}, "after": "dismissed", "kinds": ["card", "password"]
    }  # fmt: skip
    assert findings.decide(hub.store.id, pks[:1], FindingState.OPEN, "", ACT) == 1
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.path, entry.memory) == ("reopen_finding", "/0.md", rows[0].memory_id)
    count = AuditEntry.objects.count()
    assert findings.decide(hub.store.id, pks[:1], FindingState.OPEN, "", ACT) == 0
    with pytest.raises(NeedsReason):
        findings.decide(hub.store.id, pks, FindingState.DISMISSED, " ", ACT)
    assert AuditEntry.objects.count() == count
    other = hub_with()
    assert findings.decide(other.store.id, pks, FindingState.DISMISSED, "not yours", ACT) == 0
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_revealing_gives_the_text_and_says_so() -> None:
    hub, rows = found(CARD)
    version = rows[0].version_id
    assert findings.reveal(hub.store.id, version, ACT) == CARD
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.version, entry.path) == ("reveal", version, "/0.md")
    assert findings.reveal(hub_with().store.id, version, ACT) is None
    hub.call(command="delete", path="/memories/0.md")
    gone = MemoryVersion.objects.get(store=hub.store, operation="deleted").pk
    count = AuditEntry.objects.count()
    assert findings.reveal(hub.store.id, gone, ACT) is None
    assert AuditEntry.objects.count() == count
    assert_audit_is_right(hub.store)


def test_a_hostile_text_makes_only_so_many_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MOST", 3)
    hub = hub_with(password="flag")
    text = "".join(f"the password is hunter{number}!Xy\n" for number in range(9))
    hub.call(command="create", path="/memories/a.md", file_text=text)
    assert sorted(line for _, line, _ in findings_of(hub)) == [1, 2, 3]


def test_many_values_of_one_kind_hide_none_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MOST", 3)
    hub = hub_with(password="flag", card="flag")
    many = "".join(f"the password is hunter{number}!Xy\n" for number in range(9))
    hub.call(command="create", path="/memories/a.md", file_text=f"{many}{CARD}\n")
    assert sorted((kind, line) for kind, line, _ in findings_of(hub)) == [
        ("card", 10),
        ("password", 1),
        ("password", 2),
    ]


def test_one_value_that_is_there_many_times_hides_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MOST", 3)
    hub = hub_with(password="flag")
    again = "the password is hunter1!Xy\n" * 9
    hub.call(command="create", path="/memories/a.md", file_text=f"{again}the password is hunter2!Xy\n")
    assert sorted(line for _, line, _ in findings_of(hub)) == [1, 10]


def test_a_text_far_beyond_the_limit_is_refused_before_it_is_screened(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Screening a text of hidden characters takes some microseconds for each of them, with the store locked."""
    hub, texts, find = Hub(store, key), [], sensitive.find
    hub.call(command="create", path="/memories/a.md", file_text="one\n")

    def counted(text: str, *kinds: Any) -> list[sensitive.Span]:
        texts.append(len(text))
        return find(text, *kinds)

    monkeypatch.setattr(sensitive, "find", counted)
    hidden, client = "a\u200b" * 120_000, signed_in(alice)
    for call in (
        {"command": "create", "path": "/memories/b.md", "file_text": hidden},
        {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": hidden},
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": hidden},
    ):
        assert "the limit of this memory store is 102400" in hub.call(**call)[1]
    new = client.post(reverse("new_memory", args=[store.pk]), {"path": "/b.md", "text": hidden, "newlines": "lf"})
    assert "the limit of this memory store is 102400" in new.content.decode()
    assert not [size for size in texts if size > 200_000]

"""When findings are open and when they are resolved."""

import json
from collections.abc import Collection

import pytest

from memoryhub.actions.core import settling
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.findings import findings, unsettled
from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Door, Finding, FindingState, Memory, MemoryVersion
from tests.actions.core.trees import ACT
from tests.api.harness import AT, Hub, assert_audit_is_right, newest_entry
from tests.api.rules import CARD, OTHER_CARD, findings_of, found, where_stored
from tests.support.fixtures import new_person
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db


def test_a_value_is_one_finding_of_a_memory_and_another_of_another() -> None:
    hub, rows = found(f"{CARD} {CARD}", CARD, OTHER_CARD)
    assert [row.start for row in rows] == [0, 0, 0]
    assert rows[0].fingerprint == rows[1].fingerprint == findings.fingerprint("card", CARD) != rows[2].fingerprint
    assert findings.fingerprint("iban", CARD) != rows[0].fingerprint
    assert where_stored(CARD) == {"memoryhub_memorytext", "memoryhub_auditentry"}
    assert_audit_is_right(hub.store)


def test_a_finding_is_resolved_when_its_text_is_gone_and_never_by_a_claim() -> None:
    hub, rows = found(f"one\n{CARD}\n")
    with pytest.raises(ValueError, match="claim"):
        findings.decide(hub.store.id, [rows[0].pk], FindingState.RESOLVED, "done", ACT)
    hub.call(command="insert", path="/memories/0.md", insert_line=0, insert_text="zero")
    assert findings_of(hub) == [("card", 2, "open")]
    hub.call(command="str_replace", path="/memories/0.md", old_str=CARD, new_str="two")
    assert findings_of(hub) == [("card", 2, "resolved")]
    entry, act = AuditEntry.objects.of_chain(hub.store.id).newest()[:2]
    assert (act.command, entry.command, entry.actor_kind) == ("str_replace", "resolve_finding", "system")
    assert json.loads(entry.input or "") == {
        "before": {"open": [rows[0].pk]}, "after": "resolved", "kinds": ["card"], "entry": act.seq
    }  # fmt: skip
    assert Finding.objects.get().decided_seq == entry.seq
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize("dismissed", [True, False])
def test_a_finding_that_recurs_is_open_again(dismissed: bool) -> None:
    hub, rows = found(f"one\n{CARD}\n")
    if dismissed:
        findings.decide(hub.store.id, [rows[0].pk], FindingState.DISMISSED, "known", ACT)
    hub.call(command="str_replace", path="/memories/0.md", old_str=CARD, new_str="two")
    assert findings_of(hub) == [("card", 2, "dismissed" if dismissed else "resolved")]
    hub.call(command="insert", path="/memories/0.md", insert_line=2, insert_text=f"again {CARD}")
    assert [state for _, _, state in findings_of(hub)] == ["open"]
    assert newest_entry(hub.store.id).command == "reopen_finding"
    assert_audit_is_right(hub.store)


def test_a_dismissed_finding_stays_so_while_its_text_stands_and_opens_where_it_is_written_once_more() -> None:
    hub, rows = found(f"one\n{CARD}\n")
    findings.decide(hub.store.id, [rows[0].pk], FindingState.DISMISSED, "known", ACT)
    hub.call(command="str_replace", path="/memories/0.md", old_str=CARD, new_str=f"the card is {CARD}")
    hub.call(command="rename", old_path="/memories/0.md", new_path="/memories/1.md")
    assert findings_of(hub) == [("card", 2, "dismissed")]
    hub.call(command="insert", path="/memories/1.md", insert_line=0, insert_text=f"do use {CARD}")
    assert findings_of(hub) == [("card", 2, "open")]


@pytest.mark.both_databases
def test_the_texts_of_few_versions_are_in_memory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write that adds a value makes a version whose text a later act needs."""
    hub, _rows = found(*[f"{name}\n" for name in "abcd"])
    for number in range(4):
        for value in ("Zx7u1qq", "Yw8v2rr", "Xv9w3ss"):
            line = f"password: {value}{number}"
            hub.call(command="insert", path=f"/memories/{number}.md", insert_line=0, insert_text=line)
    read, texts_of = [], settling._texts

    def counted(store_id: str, ids: Collection[str | None]) -> dict[str, str]:
        read.append(len({text for text in ids if text}))
        return texts_of(store_id, ids)

    monkeypatch.setattr(settling, "_texts", counted)
    monkeypatch.setattr(settling, "TEXTS_AT_ONCE", 2)
    hub.call(command="rename", old_path="/memories/0.md", new_path="/memories/d/0.md")
    hub.call(command="delete", path="/memories/d")
    assert findings_of(hub).count(("password", 1, "resolved")) == 3
    assert len(read) > 4 and max(read[1:]) <= 2
    assert_audit_is_right(hub.store)


def test_a_deletion_resolves_and_bringing_it_back_opens() -> None:
    hub, rows = found(CARD, CARD)
    hub.call(command="delete", path="/memories/0.md")
    assert findings_of(hub) == [("card", 1, "resolved"), ("card", 1, "open")]
    version = str(MemoryVersion.objects.get(store=hub.store, memory=rows[0].memory_id, number=1).pk)
    curation.restore(hub.store.id, version, by_anna())
    assert findings_of(hub) == [("card", 1, "open")] * 2
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_of_many_resolved_findings_each_is_open_again_where_its_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "LOOK", 2)
    cards = [CARD, OTHER_CARD, "5555 5555 5555 4444", "3782 822463 10005"]
    hub, _ = found("\n".join(cards), "one")
    hub.call(command="delete", path="/memories/0.md")
    assert [state for _, _, state in findings_of(hub)] == ["resolved"] * 4
    curation.restore(hub.store.id, first_version(hub), by_anna())
    assert [state for _, _, state in findings_of(hub)] == ["open"] * 4
    for card in cards:
        hub.call(command="str_replace", path="/memories/0.md", old_str=card, new_str="gone")
    assert [state for _, _, state in findings_of(hub)] == ["resolved"] * 4
    hub.call(command="insert", path="/memories/0.md", insert_line=0, insert_text=f"again {CARD}")
    hub.call(command="rename", old_path="/memories/0.md", new_path="/memories/2.md")
    assert sorted(state for _, _, state in findings_of(hub)) == ["open", "resolved", "resolved", "resolved"]
    assert_audit_is_right(hub.store)


def test_an_edit_of_a_memory_that_had_many_values_reads_few_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "LOOK", 2)
    text = f"{CARD}\n{OTHER_CARD}\n5555 5555 5555 4444\n3782 822463 10005"
    hub, rows = found(text)
    hub.call(command="str_replace", path="/memories/0.md", old_str=text, new_str="nothing")
    read: list[int] = []
    values_of = settling._values
    monkeypatch.setattr(settling, "_values", lambda store, some: read.append(len(some)) or values_of(store, some))
    hub.call(command="insert", path="/memories/0.md", insert_line=0, insert_text="x")
    assert len(rows) == 4 and read == [2]


def first_version(hub: Hub) -> str:
    memory = Memory.objects.filter(store=hub.store, path="/0.md").earliest("created_at")
    return MemoryVersion.objects.get(store=hub.store, memory=memory, number=1).pk


def by_anna() -> Act:
    return Act(Actor.person(new_person("Anna")), Door.WEB, AT, note="back")


@pytest.mark.both_databases
def test_a_finding_of_a_redacted_version_stays_open_where_its_text_still_stands() -> None:
    hub, rows = found(f"one\n{CARD}\n")
    hub.call(command="insert", path="/memories/0.md", insert_line=0, insert_text="zero")
    redaction.redact_version(hub.store.id, rows[0].version_id, ACT)
    assert findings_of(hub) == [("card", 3, "open")]
    assert Finding.objects.get().version_id == Memory.objects.get().head_id


@pytest.mark.both_databases
def test_what_people_once_called_resolved_is_looked_at_and_opened_where_it_stands() -> None:
    hub, _ = found(CARD, OTHER_CARD)
    hub.call(command="str_replace", path="/memories/1.md", old_str=OTHER_CARD, new_str="gone")
    with tampering():
        Finding.objects.update(state=FindingState.RESOLVED, is_settled=False)
    while unsettled.step(AT):
        pass
    assert findings_of(hub) == [("card", 1, "open"), ("card", 1, "resolved")]
    assert not Finding.objects.filter(is_settled=False).exists()
    entry = newest_entry(hub.store.id)
    assert (entry.command, json.loads(entry.input or "")["because"]) == ("reopen_finding", "the text still stands")
    assert_audit_is_right(hub.store)

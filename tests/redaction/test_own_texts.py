"""The text of a `create` is stored once, in its version; every reader of the entry gets the exact input, as before."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.erasure import collecting, erasure, redaction, whole
from memoryhub.actions.retention import removal
from memoryhub.actions.stores import delete
from memoryhub.actions.verification import verify
from memoryhub.models import AuditChain, AuditEntry, Door, Memory, MemoryText, MemoryVersion, User
from memoryhub.models.inputs import lacks_text
from tests.api.harness import AT, Hub, new_hub
from tests.api.rules import set_rules
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

TEXT = 'Ärger "quoted" \\ with \U0001f600\r\n' + "quellenberg says so\n" * 6
CALL = {"command": "create", "path": "/memories/a.md", "file_text": TEXT}
INPUT = json.dumps(CALL, separators=(",", ":"))
ACT = Act(Actor.system("tests"), Door.WEB, AT + timedelta(days=400))


@pytest.fixture
def hub() -> Hub:
    """A store in which an agent has created a memory and changed it."""
    hub = new_hub()
    assert hub.call(**CALL)[0] == "ok"
    assert hub.call(command="str_replace", path="/memories/a.md", old_str="Ärger", new_str="Anger")[0] == "ok"
    return hub


def entry(hub: Hub) -> AuditEntry:
    return AuditEntry.objects.of_chain(hub.store.pk).of_command("create").newest()[0]


def stored(hub: Hub) -> str:
    """What the table has, read without the model."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select input from memoryhub_auditentry where chain = %s and seq = %s", [hub.store.pk, entry(hub).seq]
        )
        return str(cursor.fetchone()[0])


def first(hub: Hub) -> MemoryVersion:
    return MemoryVersion.objects.get(store=hub.store, number=1)


def is_right(hub: Hub) -> bool:
    return verify.verify(hub.store.pk)[1] is None


def counts_its_bytes(hub: Hub) -> bool:
    """Whether what the chain says about its size is what is stored, but for salts and masks."""
    return abs(AuditChain.objects.get(pk=hub.store.pk).bytes - AuditEntry.objects.of_chain(hub.store.pk).bytes()) < 100


def test_the_text_is_stored_once_and_read_whole_in_one_statement(hub: Hub, django_assert_num_queries: Any) -> None:
    assert "quellenberg" not in stored(hub) and len(stored(hub)) < 80
    here = AuditEntry.objects.of_chain(hub.store.pk).of_command("create")
    with django_assert_num_queries(5):
        assert here.get().input == INPUT
        assert here.only("input").get().input == INPUT
        assert here.values_list("input", flat=True).get() == INPUT
        assert [one.input for one in AuditEntry.objects.of_chain(hub.store.pk).oldest()].count(INPUT) == 1
        assert here.values("input").get() == {"input": INPUT}
    deferred = here.in_brief().get()
    assert deferred.input == INPUT and is_right(hub)


def test_an_overwritten_memory_too_but_not_a_text_that_was_there() -> None:
    hub = new_hub(overwrite_on_create=True)
    for text in ("short", TEXT, TEXT):
        assert hub.call(**(CALL | {"file_text": text}))[0] == "ok"
        assert json.loads(entry(hub).input or "") == CALL | {"file_text": text}
    made = AuditEntry.objects.of_chain(hub.store.pk).of_command("create")
    assert made.filter(lacks_text()).count() == 1 and made.count() == 3 and is_right(hub)


def test_a_call_sent_again_has_the_same_input(hub: Hub) -> None:
    block = hub.block(**(CALL | {"path": "/memories/b.md"}))
    answers = [hub.send(block).value for _ in range(2)]
    assert answers[0] == answers[1]
    again = AuditEntry.objects.of_chain(hub.store.pk).of_command("create").newest()[:2]
    assert again[0].input == again[1].input == INPUT.replace("a.md", "b.md") and again[0].replay_of == again[1].seq
    assert is_right(hub)


def test_a_masked_text_is_stored_once_where_it_is_the_same(hub: Hub) -> None:
    set_rules(hub.store, card="mask")
    hub.call(**(CALL | {"path": "/memories/c.md", "file_text": TEXT + "4111 1111 1111 1111\n"}))
    masked = TEXT + "[redacted:card]\n"
    assert Memory.objects.get(store=hub.store, path="/c.md").text.content == masked
    assert json.loads(entry(hub).input or "")["file_text"] == masked and is_right(hub)


def test_a_redaction_of_the_version_takes_the_text_from_the_entry(hub: Hub) -> None:
    redaction.redact_version(hub.store.pk, first(hub).pk, ACT)
    assert json.loads(stored(hub)) == CALL | {"file_text": "[redacted]"}
    assert is_right(hub) and counts_its_bytes(hub)


def test_an_erasure_finds_and_masks_the_text_in_version_and_entry(hub: Hub) -> None:
    found = erasure.search(hub.store.pk, ["quellenberg"], ACT.at)
    assert sorted((hit.kind, hit.what) for hit in found.hits) == [("entry", "input"), *[("text", "content")] * 2]
    told = collecting.collect(hub.store.pk, ["quellenberg"], "", whole_hub=True)
    assert [one["text"] for one in told if one["kind"] == "entry"] == [INPUT]
    erasure.erase(hub.store.pk, ["quellenberg"], found.digest, ACT)
    assert json.loads(stored(hub))["file_text"] == TEXT.replace("quellenberg", "[redacted]")
    assert is_right(hub) and not erasure.search(hub.store.pk, ["quellenberg"], ACT.at).hits


def test_an_erasure_of_a_text_that_only_the_rest_of_the_input_has(hub: Hub) -> None:
    hub.call(**(CALL | {"path": "/memories/d.md", "file_text": TEXT * 2, "extra": "finkenstein"}))
    found = erasure.search(hub.store.pk, ["finkenstein"], ACT.at)
    assert [hit.what for hit in found.hits] == ["input"] * len(found.hits) and found.hits
    erasure.erase(hub.store.pk, ["finkenstein"], found.digest, ACT)
    assert is_right(hub)


def test_retention_leaves_the_input_whole_when_it_removes_the_version(hub: Hub) -> None:
    version = first(hub)
    before = AuditChain.objects.get(pk=hub.store.pk).bytes
    with tree.locked(hub.store.pk, ACT) as store:
        grown = store.head.bytes
        removed = removal.remove_versions(store, version.memory_id, [version.pk])
        tree.commit(store, Record("prune_versions", redactions=removed.redactions))
    assert stored(hub) == INPUT == entry(hub).input and grown == before
    assert not MemoryText.objects.filter(store=hub.store, content=TEXT).exists() and is_right(hub)
    assert counts_its_bytes(hub)


def test_a_permanent_removal_leaves_what_it_left(hub: Hub) -> None:
    memory = Memory.objects.get(store=hub.store)
    hub.call(command="delete", path="/memories/a.md")
    whole.remove_memories(hub.store.pk, [memory.pk], ACT)
    assert "quellenberg" not in (entry(hub).input or "") and not MemoryText.objects.filter(store=hub.store).exists()
    assert is_right(hub)


def test_a_deleted_store_leaves_a_whole_audit(hub: Hub) -> None:
    hub.call(command="rename", old_path="/memories/a.md", new_path="/memories/b.md")
    delete.delete_store(hub.store.pk, act=ACT)
    while delete.step(hub.store.pk):
        assert entry(hub).input == INPUT
    assert stored(hub) == INPUT and is_right(hub)
    assert not MemoryText.objects.filter(store_id=hub.store.pk).exists()


def test_a_changed_or_a_missing_text_is_reported_as_that(hub: Hub) -> None:
    version = first(hub)
    texts = MemoryText.objects.filter(pk=version.text_id)
    with tampering():
        texts.update(content=TEXT + "!")
    assert f"the text of version {version.pk} was changed" in str(verify.verify(hub.store.pk)[1])
    with tampering():
        texts.delete()
    assert entry(hub).input is None
    assert f"the text of version {version.pk} is missing" in str(verify.verify(hub.store.pk)[1])


def test_another_stored_input_is_reported(hub: Hub) -> None:
    rest, seq = stored(hub).partition(":")[2], entry(hub).seq
    for changed in ("@14:{}", "@", "{}", *(f"{mark}:{rest}" for mark in ("@1", "@50", "@99999", "@050", ""))):
        with tampering():
            AuditEntry.objects.filter(chain=hub.store.pk, seq=seq).update(input=changed)
        assert "it was changed" in str(verify.verify(hub.store.pk)[1]), changed


def test_pages_and_exports_have_the_whole_input(hub: Hub, superuser: User) -> None:
    client: Client = signed_in(superuser)
    page = client.get(reverse("entry", args=[hub.store.pk, entry(hub).seq])).content.decode()
    assert page.count("quellenberg says so") >= 6
    answer = client.post(reverse("export_audit"), {"format": "json", "q": f"store:{hub.store.pk}"})
    lines = json.loads(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    assert INPUT in [line["input"] for line in lines]

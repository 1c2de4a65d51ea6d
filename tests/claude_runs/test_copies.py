"""Claude runs on throw-away copies of a memory store, and what becomes of their result."""

import io
import zipfile
from typing import Any

import pytest
from django.core.management import call_command

from memoryhub.actions.claude_runs import made, runs, work
from memoryhub.actions.core import proposing, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.hub.disk_space import DiskFull
from memoryhub.actions.erasure import redaction, whole
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.actions.stores import delete
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    ClaudeRun,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    ProposedChange,
    User,
)
from memoryhub.pure.path_rules import Effect, PathRule
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import by, started, worked
from tests.claude_runs.test_pages import ASKED
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.erasure.erasing import WHERE, erase, everywhere, fields, find
from tests.web.memories.pages import page, write

pytestmark = pytest.mark.django_db

DONE = Turn([say("Done.")])


@pytest.fixture(autouse=True)
def _key(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


def texts(store_id: str) -> dict[str, str]:
    rows = Memory.objects.live().filter(store_id=store_id).select_related("text")
    return {memory.path: memory.text.content for memory in rows if memory.text}


def ran(store: MemoryStore, person: User, *calls: dict[str, Any], **asked: Any) -> ClaudeRun:
    """A run on a copy that made some calls and ended."""
    with claude_api(Turn(list(calls)), DONE) as api:
        return worked(api, started(store, person, copies=True, **asked))


def test_a_run_on_a_copy_leaves_the_store_as_it_is(store: MemoryStore, alice: User) -> None:
    write(store, "/a.md", "one\n")
    before = AuditChain.objects.get(pk=store.id).last_seq
    write(store, "/b.md", "two\n")
    edit = call("t1", command="str_replace", path="/memories/a.md", old_str="one", new_str="three")
    run = ran(store, alice, edit, base=before)
    assert run.state == "finished" and run.copy and run.base == before
    assert texts(store.id) == {"/a.md": "one\n", "/b.md": "two\n"}
    assert texts(run.copy) == {"/a.md": "three\n"}, "the copy is the store as it was at that moment"
    assert [entry.command for entry in AuditEntry.objects.of_chain(run.copy).oldest()] == [
        "create_store",
        "copy_memories",
        "str_replace",
    ]
    for chain in (store.id, run.copy):
        call_command("verify_audit", chain=chain, verbosity=0)


def test_rules_hold_on_a_copy_and_what_they_hold_back_is_proposed_from_it(store: MemoryStore, alice: User) -> None:
    write(store, "/a.md"), write(store, "/secret/x.md")
    rules = [PathRule(Effect.PROPOSE, reason="A person decides."), PathRule(Effect.HIDE, pattern="/secret/")]
    with tampering():
        MemoryStore.objects.filter(pk=store.pk).update(path_rules=[rule.as_json() for rule in rules])
    look = call("t1", command="view", path="/memories")
    edit = call("t2", command="str_replace", path="/memories/a.md", old_str="text", new_str="more")
    held = ran(store, alice, look, edit)
    assert held.state == "finished" and Proposal.objects.get(store_id=held.copy).number == 1
    assert texts(held.place)["/a.md"] == "text\n", "it is a proposal in the copy, as it would be in the store"
    tidied = ran(store, alice, look, {**edit, "id": "t3"}, proposes=True)
    assert texts(tidied.place)["/a.md"] == "more\n"
    for run in (held, tidied):
        assert "secret" not in str(AuditEntry.objects.of_chain(run.place).get(command="view").message)


def test_no_list_has_a_copy_and_people_may_only_look_at_it(
    store: MemoryStore, alice: User, bob: User, charlie: User, superuser: User
) -> None:
    write(store, "/a.md")
    run = ran(store, alice, call("t1", command="create", path="/memories/b.md", file_text="two\n"))
    home = f"/stores/{run.copy}/"
    for person in (alice, bob, superuser):
        client = signed_in(person)
        assert "This is a throw-away copy" in page(client, home) and "Copy of" not in page(client, "/stores")
        for act in ("new", "export"):  # an export would leave no trace: the audit of a copy is deleted with it
            assert client.post(f"/stores/{run.copy}/{act}", {"format": "zip"}).status_code == 403
        assert "Export" not in page(client, home) and "Download all" not in page(client, home)
    assert signed_in(charlie).get(home).status_code == 404
    assert "two" in page(signed_in(bob), f"/audit/{run.copy}/3"), "so its entries are"
    html = page(signed_in(alice), f"/stores/{store.id}/claude/{run.pk}")
    assert home in html and "as it was at" in html and "two" in html
    again = page(signed_in(alice), f"/stores/{store.id}/claude/new?like={run.pk}&copy")
    assert f'name="seq" value="{run.base}"' in again and 'value="copy" id="id_place_1" checked' in again


@pytest.mark.both_databases
def test_a_copy_goes_with_its_run_with_an_erasure_and_for_another_one(
    store: MemoryStore, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_COPIES", 2)
    memory = write(store, "/a.md", "Quellenberg\n")
    edit = call("t1", command="str_replace", path="/memories/a.md", old_str="Quellenberg", new_str="Dana")
    first, second, third = (ran(store, alice, {**edit, "id": f"t{number}"}) for number in range(3))
    assert not MemoryStore.present.filter(pk=first.copy).exists() and first.copy
    assert "Quellenberg" not in str(list(AuditEntry.objects.of_chain(first.copy).values_list("input", "message")))
    html = page(signed_in(alice), f"/stores/{store.id}/claude/{first.pk}")
    assert "The copy on which the run worked has been deleted." in html
    with pytest.raises(runs.CopyGone):
        runs.go_on(first.pk, store.id, "More.", by(alice))
    with tampering():
        ClaudeRun.objects.filter(pk__in=[second.pk, third.pk]).update(state="running", ended_at=None)
    with pytest.raises(runs.TooManyCopies):
        started(store, alice, copies=True)
    with tampering():
        ClaudeRun.objects.filter(pk=second.pk).update(state="finished", ended_at=BY["at"])
    settings.MEMORYHUB_CLAUDE_DAYS = 1
    assert work.forget(BY["at"].replace(year=BY["at"].year + 1)) == 1
    assert list(MemoryStore.present.filter(copy_of=store.id).values_list("pk", flat=True)) == [third.copy]
    version = memory.head_id
    write_more = call("t9", command="str_replace", path="/memories/a.md", old_str="Quellenberg", new_str="Dana")
    with claude_api(Turn([write_more]), DONE) as api:
        worked(api, started(store, alice))
    redaction.redact_version(store.id, str(version), by(alice))
    assert not MemoryStore.present.filter(copy_of=store.id).exists()
    assert ClaudeRun.objects.get(pk=third.pk).problem == "erased"
    for copy in (first.copy, second.copy, third.copy):
        while delete.step(str(copy)):
            pass
        call_command("verify_audit", chain=str(copy), verbosity=0)
    assert not MemoryStore.every.exclude(copy_of=None).exists()
    assert not MemoryVersion.objects.exclude(store_id=store.id).exists()


@pytest.mark.both_databases
def test_a_copy_is_of_the_moment_that_a_person_writes(store: MemoryStore, alice: User) -> None:
    client, new = signed_in(alice), f"/stores/{store.id}/claude/new"
    form = ASKED | {"place": "copy"}
    for wrong, words in (("soon", "like 2026-03-31T14:02"), ("2001-01-01T10:00", "did not exist yet at that moment")):
        assert words in client.post(new, form | {"at": wrong}).content.decode()
    assert not ClaudeRun.objects.exists()
    newest = AuditChain.objects.get(pk=store.id).last_seq
    assert client.post(new, form | {"at": "2100-01-01T10:00", "seq": "1"}).status_code == 303
    first = ClaudeRun.objects.get()
    assert first.copy is not None and first.base == newest
    assert client.post(new, form | {"seq": "1"}).status_code == 303
    assert ClaudeRun.objects.exclude(pk=first.pk).get().base == 1


def test_what_retention_removes_of_the_original_is_nothing_that_claude_made(store: MemoryStore, alice: User) -> None:
    """Else a press would bring back what retention has removed."""
    there = {path: write(store, path, "text\n") for path in ("/a.md", "/b.md", "/c.md", "/d.md", "/e.md")}
    edits = [
        call(f"t{at}", command="insert", path=f"/memories/{at}.md", insert_line=0, insert_text="x\n") for at in "cd"
    ]
    run = ran(store, alice, *edits, call("te", command="delete", path="/memories/e.md"))
    for path in ("/a.md", "/d.md", "/e.md"):
        memory = there[path]
        curation.edit(store.pk, memory.pk, "newer\n", memory.sha256, by(alice))
        with tree.locked(store.pk, by(alice)) as locked:
            gone = removal.remove_versions(locked, memory.pk, [str(memory.head_id)])
            tree.commit(locked, Record("prune_versions", memory=memory.pk, redactions=gone.redactions))
    curation.delete(store.pk, "/b.md", by(alice))
    with tree.locked(store.pk, by(alice)) as locked:
        gone = removal.purge(locked, there["/b.md"].pk)
        tree.commit(locked, Record("purge", memory=there["/b.md"].pk, redactions=gone.redactions))
    proposed = made.propose(run.pk, store.pk, by(alice))
    (change,) = ProposedChange.objects.filter(store_id=store.pk)
    assert (change.memory, change.content) == (there["/c.md"].pk, "x\ntext\n")
    assert proposed.left_out == [("/d.md", made.LOST), ("/e.md", made.LOST)]
    assert "Retention has removed the version" in page(signed_in(alice), f"/stores/{store.id}/claude/{run.pk}")
    call_command("verify_audit", chain=store.id, verbosity=0)


def test_a_result_that_a_full_disk_has_no_room_for_is_proposed_later(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise DiskFull

    write(store, "/a.md")
    edit = call("t1", command="create", path="/memories/b.md", file_text="two\n")
    with monkeypatch.context() as full, claude_api(Turn([edit]), DONE) as api:
        full.setattr(proposing, "require_size", refuse)
        run = worked(api, started(store, alice, copies=True, proposes=True))
    assert (run.state, run.problem) == ("failed", "disk_full") and not caplog.records
    assert "disk" in page(signed_in(alice), f"/stores/{store.id}/claude/{run.pk}")
    runs.go_on(run.pk, store.id, "", by(alice))
    with claude_api() as api:
        run = worked(api, run)
        assert run.state == "finished" and not api.requests, "Claude had answered before"
    assert ProposedChange.objects.get(store_id=store.id).path == "/b.md"


def test_a_copy_goes_with_a_memory_that_is_removed_permanently(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text does not come back either by a proposal of which the text was read before."""
    memory = write(store, "/a.md", "Quellenberg\n")
    run = ran(store, alice, call("t1", command="create", path="/memories/b.md", file_text="Quellenberg, too\n"))
    read = made.made_of

    def meanwhile(asked: ClaudeRun) -> Any:
        found = read(asked)
        assert whole.remove_memories(store.pk, [memory.pk], by(alice)) == 1
        return found

    monkeypatch.setattr(made, "made_of", meanwhile)
    with pytest.raises(runs.CopyGone):
        made.propose(run.pk, store.pk, by(alice))
    assert not Proposal.objects.exists() and not MemoryStore.present.filter(copy_of=store.id).exists()


@pytest.mark.both_databases
def test_what_is_only_in_a_copy_is_found_handed_over_and_erased(store: MemoryStore, alice: User) -> None:
    write(store, "/a.md")
    sums = {"command": "create", "path": "/memories/sum.md", "file_text": "Quellenberg paid\n"}
    read = {"command": "view", "path": "/memories/of-quellenberg.md"}
    run = ran(store, alice, call("t1", **sums), call("t2", **read))
    client = signed_in(alice)
    found = find(client, "quellenberg")
    places = client.post(f"/stores/{store.id}/erase", fields(found, "look") | {"step": ""}).content.decode()
    assert "Throw-away copies on which Claude worked" in places
    body = b"".join(client.post(WHERE, fields(found, "collect")).streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(body)) as opened:
        (lines,) = (opened.read(name).decode() for name in opened.namelist() if name.endswith("places.jsonl"))
    assert "Quellenberg paid" in lines and "of-quellenberg.md" in lines
    assert "Erased from 1 memory store" in erase(client, found)
    assert not MemoryStore.present.filter(pk=run.copy).exists()
    while delete.step(str(run.copy)):
        pass
    assert everywhere("uellenberg") == []

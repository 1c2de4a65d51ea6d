"""Checkpoints: what shows that the newest part of a log was cut off, or that a database was put back."""

import io
import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.verification import checkpoints, missing, verify
from memoryhub.actions.verification.checkpoints import check as verification_checkpoints, reading as checkpoint_reading
from memoryhub.models import AuditChain, AuditEntry, Door
from tests.api.harness import AT, Hub, new_hub
from tests.api.server import Agent, served


def run_sql(text: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, values)


def cut_off(hub: Hub, entries: int) -> int:
    """Removes the newest entries with everything that they made, and sets the chain's row back; gives the last left."""
    store = hub.store.id
    last = AuditChain.objects.get(pk=store).last_seq - entries
    hash = AuditEntry.objects.get(chain=store, seq=last).hash
    run_sql("delete from memoryhub_auditentry where chain = %s and seq > %s", store, last)
    run_sql("delete from memoryhub_memoryversion where store_id = %s and seq > %s", store, last)
    run_sql("update memoryhub_auditchain set last_seq = %s, last_hash = %s where id = %s", last, hash, store)
    run_sql("delete from memoryhub_idempotentcall where store_id = %s and seq > %s", store, last)
    return last


@pytest.fixture
def long(db: None) -> Hub:
    """A store whose last 20 entries made a memory each, with its versions."""
    hub = new_hub()
    hub.call(command="create", path="/memories/kept.md", file_text="kept")
    for number in range(20):
        hub.call(command="create", path=f"/memories/{number}.md", file_text=str(number))
    return hub


def cut_off_whole(hub: Hub) -> int:
    """Cuts 20 entries off and makes the tree and its counters what they were before."""
    last = cut_off(hub, 20)
    store = hub.store.id
    run_sql("delete from memoryhub_memory where store_id = %s and path <> '/kept.md'", store)
    run_sql("delete from memoryhub_memorytext where store_id = %s and content <> 'kept'", store)
    run_sql("update memoryhub_directory set memory_count = 1, total_bytes = 4 where store_id = %s", store)
    run_sql("update memoryhub_memorystore set memory_count = 1, total_bytes = 4 where id = %s", store)
    return last


@pytest.mark.both_databases
def test_a_log_that_was_cut_off_is_noticed_after_a_checkpoint(long: Hub, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.jsonl"
    assert checkpoints.append(path, AT) >= 1
    last = cut_off_whole(long)
    assert verify.verify(long.store.id) == (last, None)  # nothing inside the database shows it
    counted, problem = verify.verify(long.store.id, path)
    assert counted == last and problem is not None
    assert problem.seq == last + 20 and "checkpoint" in problem.what


def test_other_entries_in_the_place_of_those_cut_off_are_noticed(long: Hub, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.jsonl"
    checkpoints.append(path, AT)
    cut_off_whole(long)
    for number in range(25):
        long.call(command="create", path=f"/memories/other-{number}.md", file_text="")
    assert verify.verify(long.store.id)[1] is None
    problem = verify.verify(long.store.id, path)[1]
    assert problem is not None and "it is not the one" in problem.what


@pytest.mark.both_databases
def test_what_a_clock_that_was_ahead_has_written_can_be_accepted_and_explains_no_later_loss(
    long: Hub, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoints.jsonl"
    checkpoints.append(path, AT + timedelta(days=400))
    cut_off_whole(long)
    act = Act(Actor.system("test"), Door.COMMAND, AT + timedelta(days=1))
    assert [one.chain for one in missing.accept(path, "put back", act)] == [long.store.id]
    assert verify.verify(long.store.id, path)[1] is None
    assert missing.accept(path, "put back", act) == []
    for number in range(20):
        long.call(command="create", path=f"/memories/{number}.md", file_text="again")
    checkpoints.append(path, AT + timedelta(days=2))
    assert verify.verify(long.store.id, path)[1] is None
    cut_off_whole(long)
    problem = verify.verify(long.store.id, path)[1]
    assert problem is not None and "it is missing" in problem.what


@pytest.mark.both_databases
def test_a_store_that_was_removed_whole_is_noticed_after_a_checkpoint(long: Hub, tmp_path: Path) -> None:
    path, store = tmp_path / "checkpoints.jsonl", long.store.id
    checkpoints.append(path, AT)
    for table, column in (("auditentry", "chain"), ("auditchain", "id"), ("memoryversion", "store_id")):
        run_sql(f"delete from memoryhub_{table} where {column} = %s", store)
    assert store in verify.chains(verification_checkpoints.check(path).chains)
    assert verify.verify(store, path)[1] is not None


def test_every_edit_of_a_checkpoint_is_noticed(long: Hub, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.jsonl"
    checkpoints.append(path, AT)
    whole = path.read_bytes()
    first = whole.index(b"\n")
    for place in range(0, first, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert checkpoint_problems(path), place
    path.write_bytes(whole)
    assert not checkpoint_problems(path)


def checkpoint_problems(path: Path) -> bool:
    wrong = verification_checkpoints.check(path).files
    return bool(wrong) or any(
        verify.verify(chain, path)[1] for chain in verify.chains(verification_checkpoints.check(path).chains)
    )


def test_checkpoints_are_appended_only_where_a_chain_has_moved(long: Hub, tmp_path: Path) -> None:
    path, known = tmp_path / "checkpoints.jsonl", checkpoints.Known()
    checkpoints.append(path, AT, known)
    assert checkpoints.append(path, AT, known) == 0
    long.call(command="view", path="/memories")
    assert checkpoints.append(path, AT, known) == 1
    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["chain"], last["seq"]) == (long.store.id, 23)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_server_writes_a_checkpoint_when_it_stops(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        store, secret = server.new_store()
        Agent(server, store, secret).call("toolu_1", command="view", path="/memories")
    lines = [json.loads(line) for line in (tmp_path / "checkpoints.jsonl").read_text().splitlines()]
    assert max(line["seq"] for line in lines if line["chain"] == store) == 2


def test_a_full_disk_leaves_no_half_line(long: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "checkpoints.jsonl"
    checkpoints.append(file, AT)
    before = file.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, text: write(descriptor, text[:10]))
    with pytest.raises(OSError):
        checkpoints.append(file, AT)
    assert file.read_bytes() == before


def test_the_checkpoint_file_is_read_once_for_all_chains(
    filled: Hub, own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = checkpoints.Known()
    for _ in range(3):
        filled.call(command="view", path="/memories")
        checkpoints.append(own_checkpoints, AT, known)
    read, reads = checkpoint_reading.Files, []
    monkeypatch.setattr(checkpoint_reading, "Files", lambda *path: reads.append(path) or read(*path))
    call_command("verify_audit", stdout=io.StringIO())
    assert reads == [(own_checkpoints, None)]
    monkeypatch.setattr(verification_checkpoints, "LINES", 2)
    assert verification_checkpoints.check(own_checkpoints).chains == {filled.store.id, "hub"}
    assert verification_checkpoints.check(own_checkpoints).problems == {}

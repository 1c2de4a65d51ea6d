"""The audit stream: every entry as a valid event of OCSF, in order and at least once, whatever fails."""

import json
import os
import socket
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Record, commands
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.stores import copies, delete
from memoryhub.actions.transfer import streaming
from memoryhub.background import audit_stream, stream_targets
from memoryhub.background.audit_stream import AuditStream
from memoryhub.models import HUB, AuditChain, AuditEntry, Installation, MemoryStore, StreamCursor, User
from memoryhub.pure import ocsf
from tests.api.harness import AT
from tests.operating.test_metrics import in_the_audit, load
from tests.support.fixtures import PASSWORD, signed_in
from tests.support.long import tried
from tests.transfer.ocsf_schema import EVENT
from tests.web.memories.pages import act

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
VALID = jsonschema_rs.validator_for(EVENT, validate_formats=True)


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Path:
    settings.MEMORYHUB_AUDIT_STREAM = str(tmp_path / "audit.jsonl")
    return tmp_path / "audit.jsonl"


def write_all(stream: AuditStream | None = None) -> None:
    stream = stream or AuditStream()
    for _round in range(500):
        if stream.go_on(AT):
            return
    raise AssertionError("it does not end")


def events(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines() if line]


def places(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(event["metadata"]["log_name"], event["metadata"]["sequence"]) for event in found]


@pytest.mark.both_databases
def test_after_a_mixed_load_the_events_are_valid_and_are_the_audits_own_counts(
    store: MemoryStore, key: str, alice: User, file: Path
) -> None:
    """In the long form, some 10,000 calls."""
    for number in range(tried(1_100, 3)):
        load(store, key, number)
    for password in ("wrong", PASSWORD):
        Client().post("/sign-in", {"email": alice.email, "password": password})
    signed_in(alice).post(f"/stores/{store.pk}/export", {"format": "zip"})
    write_all()
    found = events(file)
    for event in found:
        VALID.validate(event)
    assert Counter(places(found)) == Counter(AuditEntry.objects.values_list("chain", "seq"))
    counted = Counter(
        (event["api"]["operation"], event["src_endpoint"]["svc_name"], event["status_code"])
        for event in found
        if event["metadata"]["log_name"] != HUB
    )
    expected = in_the_audit()
    for (command, door, outcome), number in list(counted.items()):
        if command.startswith("dance"):
            counted["other", door, outcome] += number
            del counted[command, door, outcome]
    assert counted == expected and expected.total() > 20
    failed, signed = (event for event in found if event["class_uid"] == 3002)
    assert failed["status"] == "Failure" and failed["user"]["email_addr"] == alice.email
    assert failed["src_endpoint"]["ip"] == "127.0.0.1" and signed["status"] == "Success"
    assert signed["user"]["uid"] == alice.pk and signed["activity_name"] == "Logon"
    hashes = dict(AuditEntry.objects.of_chain(store.pk).values_list("seq", "hash"))
    for event in found:
        if event["metadata"]["log_name"] == store.pk:
            assert event["unmapped"]["hash"] == hashes[event["metadata"]["sequence"]]
            assert event["metadata"]["uid"].endswith(event["unmapped"]["hash"][:16]), "others have it after a restore"
            assert event["resources"][0] == {"type": "memory_store", "uid": store.pk, "name": store.name}
        elif event["class_uid"] == 6003:
            assert event["resources"][0] == {"type": "hub", "uid": "hub", "name": "Hub"}


def test_no_text_of_a_memory_and_no_answer_is_in_the_stream(store: MemoryStore, key: str, file: Path) -> None:
    load(store, key, 1)
    write_all()
    assert "One" not in file.read_text() and "/notes/1.md" in file.read_text()


@pytest.mark.both_databases
def test_each_chain_is_in_order_and_nothing_is_written_twice_without_a_failure(
    store: MemoryStore, key: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "ENTRIES", 3)
    stream = AuditStream()
    for number in range(3):
        load(store, key, number)
        stream.go_on(AT)
    write_all(stream)
    write_all()
    found = places(events(file))
    heads = dict(AuditChain.objects.values_list("pk", "last_seq"))
    for chain, last in heads.items():
        assert [seq for of, seq in found if of == chain] == list(range(1, last + 1))


@pytest.mark.both_databases
def test_a_busy_chain_does_not_keep_the_others_from_the_stream(
    store: MemoryStore, key: str, alice: User, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_stream, "ROUND", 0.0)
    stream, chains = AuditStream(), AuditChain.objects.count()
    for number in range(chains):
        signed_in(alice).post("/sign-out")  # the chain of the hub is the first one
        load(store, key, number)
        stream.go_on(AT)
    assert {chain for chain, _seq in places(events(file))} == {HUB, store.pk}


def test_a_copy_is_not_in_the_stream_and_neither_is_what_is_left_of_its_audit(
    store: MemoryStore, alice: User, file: Path
) -> None:
    with tree.locked(store.pk, act(alice)) as locked:
        copy = copies.make(locked, proposes=False)
        tree.commit(locked, Record("start_claude_run", input="{}"))
    write_all()
    assert copy not in {chain for chain, _seq in places(events(file))}
    delete.delete_copy(copy, act(alice))
    while MemoryStore.every.filter(pk=copy).exists():
        delete.step(copy)
    write_all()
    assert copy not in {chain for chain, _seq in places(events(file))}


@pytest.mark.both_databases
def test_what_could_not_be_written_is_written_later_and_a_line_that_was_cut_off_is_repeated(
    store: MemoryStore, key: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(store, key, 1)
    real, cut = os.write, 700

    def full(descriptor: int, data: Any) -> int:
        real(descriptor, bytes(data[:cut]))
        raise OSError(28, "No space left on device", str(file))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            write_all()
    assert not StreamCursor.objects.exists()
    write_all()
    whole = []
    for line in file.read_text().splitlines():
        try:
            whole.append(json.loads(line))
        except ValueError:
            continue  # the line that was cut off
    chains = {chain for chain, _seq in places(whole)}
    assert Counter(places(whole)).total() >= AuditEntry.objects.count()
    for chain in chains:
        seen = list(dict.fromkeys(seq for of, seq in places(whole) if of == chain))
        assert seen == list(AuditEntry.objects.of_chain(chain).oldest().values_list("seq", flat=True))


def test_a_file_that_was_moved_away_is_begun_again_and_only_its_owner_reads_it(
    store: MemoryStore, key: str, file: Path
) -> None:
    stream = AuditStream()
    load(store, key, 1)
    write_all(stream)
    moved = file.rename(file.with_suffix(".1"))
    load(store, key, 2)
    write_all(stream)
    assert file.stat().st_mode & 0o777 == 0o600
    both = places(events(moved)) + places(events(file))
    assert len(both) == len(set(both)) == AuditEntry.objects.count()


@pytest.mark.both_databases
def test_one_process_writes_at_a_time_and_another_goes_on_when_it_is_gone(
    store: MemoryStore, key: str, file: Path
) -> None:
    load(store, key, 1)
    one, two = AuditStream(), AuditStream()
    one.holder, two.holder = "node-1 10", "node-2 10"
    write_all(one)
    load(store, key, 2)
    there = len(events(file))
    two.go_on(AT)
    assert len(events(file)) == there
    assert two.go_on(AT + streaming.LEASE) and len(events(file)) == AuditEntry.objects.count()
    with writing():
        Installation.objects.update(stream_until=AT + timedelta(days=400))  # by a clock that was ahead
    load(store, key, 3)
    assert one.go_on(AT) and len(events(file)) == AuditEntry.objects.count()


@pytest.mark.both_databases
def test_a_process_that_was_overtaken_does_not_move_the_place_back(store: MemoryStore) -> None:
    streaming.note_written(store.pk, 9)
    streaming.note_written(store.pk, 4)
    assert StreamCursor.objects.get().seq == 9


def test_a_syslog_server_gets_each_event_and_one_that_goes_away_gets_them_later(
    store: MemoryStore, key: str, settings: Any
) -> None:
    load(store, key, 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        settings.MEMORYHUB_AUDIT_STREAM = f"syslog://127.0.0.1:{port}"
        taken: list[bytes] = []

        def take() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                taken.extend(lines)

        thread = threading.Thread(target=take)
        thread.start()
        stream = AuditStream()
        write_all(stream)
        stream.target.handler.close()  # type: ignore[union-attr]
        thread.join(10)
    found = [json.loads(line.split(b"memoryhub: ", 1)[1]) for line in taken]
    assert len(found) == AuditEntry.objects.count() and all(line.startswith(b"<134>") for line in taken)
    load(store, key, 2)
    stream = AuditStream()
    with pytest.raises(OSError, match="refused"):
        stream.go_on(AT)
    assert streaming.behind()


def test_standard_output_has_one_line_an_event(
    store: MemoryStore, key: str, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    load(store, key, 1)
    settings.MEMORYHUB_AUDIT_STREAM = "stdout"
    write_all()
    assert len(capsys.readouterr().out.splitlines()) == AuditEntry.objects.count()


def test_each_command_of_the_registry_has_an_activity() -> None:
    """OTHER is for what an agent made up. A new command needs its verb in `ocsf.VERBS`."""
    names = {command.name for command in commands.COMMANDS.values()} - ocsf.SIGN_INS.keys()
    without = {name for name in names if ocsf.activity_of(name)[0] == ocsf.OTHER}
    assert without <= {"refused", "refused_more", "ask_scrub", "ask_verify_audit", "ask_backup", "request_password",
                       "test_webhook", "note_findings"}  # fmt: skip


@pytest.mark.parametrize("address", ["stdin", "audit.jsonl", "syslog://", "syslog://host", "udp://host:514", "s3://x"])
def test_a_place_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=address):
        stream_targets.of(address)

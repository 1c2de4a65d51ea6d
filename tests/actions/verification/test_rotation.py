"""The audit key is replaced: what was written before keeps verifying, and an older key opens nothing any more."""

import json
import secrets
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from memoryhub.actions.backups import databases, make
from memoryhub.actions.core import proofs
from memoryhub.actions.core.audit import Act, Actor, documents, keys
from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import erasure
from memoryhub.actions.findings import findings
from memoryhub.actions.retention import certificate, removal
from memoryhub.actions.review import decisions
from memoryhub.actions.transfer.exporting import held
from memoryhub.actions.verification import checkpoints, rotation, verify
from memoryhub.actions.webhooks import manage
from memoryhub.doctor import inside
from memoryhub.models import HUB, AuditChain, AuditEntry, Door, HoldKind, Installation, MemoryVersion, Receipt
from memoryhub.operating import health, starting
from memoryhub.pure import chain
from memoryhub.pure.webhook_rules import signing
from tests.api.harness import AT, Hub, new_hub
from tests.support.long import LONG
from tests.support.tampering import undone
from tests.support.write_guard import tampering

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_checkpoints", "own_key")]

LATER = timezone.now() + timedelta(days=60)
ROTATIONS = 4 if LONG else 2
WHO = "anna.miller@example.com"


def act() -> Act:
    return Act(Actor.system("tests"), Door.COMMAND, LATER)


def new_key() -> str:
    return secrets.token_urlsafe(48)


@pytest.fixture(scope="module")
def made_once(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> Hub:
    with django_db_blocker.unblock():
        return made()


@pytest.fixture
def hub(made_once: Hub, db: None) -> Hub:
    """A store with an erasure, whose oldest entries are gone; what a test changes is undone."""
    return made_once


def made() -> Hub:
    hub = new_hub()
    for number in range(4):
        hub.call(command="create", path=f"/memories/{number}.md", file_text=f"{WHO} {number}\n")
    found = erasure.search(hub.store.pk, [WHO], LATER)
    erasure.erase(hub.store.pk, [WHO], found.digest, act())
    waiting = MemoryVersion.objects.filter(store=hub.store).unreviewed().values_list("pk", flat=True)
    decisions.approve_many(hub.store.pk, list(waiting), act())
    removal.remove_entries(hub.store.pk, 3, act())
    assert AuditChain.objects.get(pk=hub.store.pk).start_seq == 3
    return hub


def problems() -> list[str]:
    return [str(found) for name in verify.chains(set()) if (found := verify.verify(name)[1])]


def verified() -> tuple[int, str]:
    """The code and the words of `verify_audit`."""
    said = StringIO()
    try:
        call_command("verify_audit", stdout=said)
    except CommandError as error:
        return error.returncode, str(error)
    return 0, said.getvalue()


# ------------------------------------------------------------------------------------------------ it keeps verifying


@pytest.mark.both_databases
def test_entries_under_older_keys_keep_verifying_and_so_do_new_ones(hub: Hub, own_checkpoints: Path) -> None:
    known = checkpoints.Known()
    names = [keys.key_name()]
    for number in range(ROTATIONS):
        checkpoints.append(own_checkpoints, LATER, known)
        rotation.rotate(new_key(), act())
        names.append(keys.key_name())
        hub.call(command="create", path=f"/memories/after-{number}.md", file_text="new\n")
        checkpoints.append(own_checkpoints, LATER, known)
        assert problems() == [] and keys.names() == names
        assert removal.remove_entries(hub.store.pk, 1_000, act()) is not None
    assert verified()[0] == 0
    told = json.loads(AuditEntry.objects.of_chain(HUB).of_command("rotate_audit_key").newest()[0].input or "")
    assert (told["key"], told["older"]) == (names[-1], names[:-1])
    assert len(checkpoints.segments(own_checkpoints)) == ROTATIONS and make._marks() == names
    assert list(inside.secrets(LATER)) == [] and list(inside.written(LATER)) == []
    assert not [one for one in inside.audit(LATER) if "In the audit" in one.says]


def test_a_key_that_was_used_or_is_short_is_refused_and_so_is_an_audit_that_is_not_right(hub: Hub) -> None:
    first = keys.current().decode()
    rotation.rotate(new_key(), act())
    for wrong in (first, keys.current().decode(), "short", f" {new_key()}"):
        with pytest.raises(rotation.NotRotated):
            rotation.rotate(wrong, act())
    with undone(), tampering():
        AuditEntry.objects.filter(chain=HUB, seq=1).update(path="/x")
        current = keys.current()
        with pytest.raises(rotation.NotRotated, match="not right"):
            rotation.rotate(new_key(), act())
        assert keys.current() == current
    assert problems() == []


# ------------------------------------------------------------------------------------------------ an old key is no use


def forge(row: AuditChain, seq: int, key: bytes, **changed: Any) -> None:
    """Change an entry with a key that somebody holds, and all entries after it up to the end of that key."""
    last = row.older_seq or row.last_seq
    previous = None
    for entry in AuditEntry.objects.of_chain(row.pk).filter(seq__gte=seq, seq__lte=last).oldest():
        for name, value in changed.items() if entry.seq == seq else ():
            setattr(entry, name, value)
        entry.previous_hash = previous or entry.previous_hash
        entry.key_name = chain.key_id(key)
        entry.hash = previous = proofs.hash_of(entry, key)
        entry.save()
    after = AuditEntry.objects.filter(chain=row.pk, seq=last + 1)
    if not after.update(previous_hash=previous):
        AuditChain.objects.filter(pk=row.pk).update(last_hash=previous)


def _rewrite(row: AuditChain, key: bytes) -> None:
    forge(row, row.older_seq - 1, key, duration=77)


def _rewrite_the_last(row: AuditChain, key: bytes) -> None:
    forge(row, row.older_seq, key, duration=77)


def _rewrite_and_sign(row: AuditChain, key: bytes) -> None:
    _rewrite(row, key)
    entry = AuditEntry.objects.get(chain=row.pk, seq=row.older_seq)
    signed = chain.seal_of(key, ["older", row.pk, row.older_seq, entry.hash])
    AuditChain.objects.filter(pk=row.pk).update(older_signature=signed)


def _cut_off_what_the_new_key_wrote(row: AuditChain, key: bytes) -> None:
    _rewrite(row, key)
    AuditEntry.objects.filter(chain=row.pk, seq__gt=row.older_seq).delete()
    last = AuditEntry.objects.get(chain=row.pk, seq=row.older_seq)
    AuditChain.objects.filter(pk=row.pk).update(
        last_seq=last.seq, last_hash=last.hash, key_name=None, older_seq=0, older_signature=None
    )


def _cut_off_more(row: AuditChain, key: bytes) -> None:
    AuditEntry.objects.filter(chain=row.pk, seq__gte=row.older_seq).delete()
    last = AuditEntry.objects.get(chain=row.pk, seq=row.older_seq - 1)
    AuditChain.objects.filter(pk=row.pk).update(last_seq=last.seq, last_hash=last.hash)


def _append(row: AuditChain, key: bytes) -> None:
    last = AuditEntry.objects.get(chain=row.pk, seq=row.last_seq)
    last.pk, last.seq, last.previous_hash, last.key_name = None, row.last_seq + 1, row.last_hash, chain.key_id(key)
    last.digest = None
    last.hash = proofs.hash_of(last, key)
    last.save(force_insert=True)
    AuditChain.objects.filter(pk=row.pk).update(last_seq=last.seq, last_hash=last.hash)


def _append_as_older(row: AuditChain, key: bytes) -> None:
    _append(row, key)
    AuditChain.objects.filter(pk=row.pk).update(older_seq=row.last_seq + 1)


def _version_that_outlived(row: AuditChain, key: bytes) -> None:
    version = MemoryVersion.objects.filter(store_id=row.pk, seq__lte=row.start_seq).order_by("pk")[0]
    version.review_state = "approved"
    version.commitment = "0" * 64
    values = [version.store_id, version.pk, version.memory_id, version.number, version.seq, version.commitment, None]
    version.seal = chain.seal_of(key, values)
    version.save()


def _start(row: AuditChain, key: bytes) -> None:
    row.start_hash = "0" * 64
    at = chain.moment(row.start_at) if row.start_at else None
    values = ["start", row.pk, row.start_seq, row.start_hash, at, row.start_versions]
    row.start_signature = chain.seal_of(key, values if row.start_seals is None else [*values, row.start_seals])
    row.save()


def _receipt(row: AuditChain, key: bytes) -> None:
    receipt = Receipt.objects.get(store=row.pk)
    receipt.content = {**receipt.content, "by": "somebody else"}
    receipt.signature = documents.signature(receipt.content, key)
    receipt.save()


TAMPERINGS = [
    _rewrite, _rewrite_the_last, _rewrite_and_sign, _cut_off_what_the_new_key_wrote, _cut_off_more, _append,
    _append_as_older, _version_that_outlived, _start, _receipt,
]  # fmt: skip


def test_who_holds_an_older_key_and_the_database_forges_nothing_unnoticed(hub: Hub) -> None:
    first = keys.current()
    rotation.rotate(new_key(), act())
    hub.call(command="create", path="/memories/after.md", file_text="new\n")
    rotation.rotate(new_key(), act())
    hub.call(command="create", path="/memories/later.md", file_text="new\n")
    unnoticed = []
    older = (first, keys.known().keys[-1].key.encode())
    for number, tamper in enumerate(TAMPERINGS):
        for key in older if LONG else older[number % 2 :][:1]:
            with undone(), tampering():
                tamper(AuditChain.objects.get(pk=hub.store.pk), key)
                found = verify.verify(hub.store.pk)[1]
                if found is None or found.is_unknown:
                    unnoticed.append((tamper.__name__, chain.key_id(key)))
    assert unnoticed == []
    assert problems() == []


def test_checkpoints_that_an_older_key_signs_are_refused_after_the_rotation(hub: Hub, own_checkpoints: Path) -> None:
    checkpoints.append(own_checkpoints, LATER)
    first, old = keys.current(), own_checkpoints.read_bytes()
    rotation.rotate(new_key(), act())
    checkpoints.append(own_checkpoints, LATER)
    new = keys.current()
    segment = checkpoints.segment_of(own_checkpoints, 1)
    whole, live = segment.read_bytes(), own_checkpoints.read_bytes()
    assert verified()[0] == 0 and whole.startswith(old)
    keys.use(first)
    head = AuditChain.objects.get(pk=HUB)
    line = checkpoints.Checkpoint(chain.moment(LATER), HUB, head.last_seq, head.last_hash, keys.key_name())
    forged = checkpoints.checkpoint_lines.written(line, 2, len(live.splitlines()) + 1)
    in_segment = checkpoints.checkpoint_lines.written(line, 1, 1)
    keys.use(new)
    own_checkpoints.write_bytes(live + forged)
    assert "is signed with an older audit key than the line before it" in verified()[1]
    own_checkpoints.write_bytes(live)
    segment.write_bytes(in_segment + b"".join(whole.splitlines(keepends=True)[1:]))
    assert "was changed" in verified()[1]


# ------------------------------------------------------------------------------------------------ documents


def test_receipts_and_certificates_of_before_are_right_and_forged_ones_are_not(hub: Hub) -> None:
    receipt = Receipt.objects.get(store=hub.store.pk)
    paper = documents.document(documents.RECEIPT, receipt.content, receipt.signature)
    certified = certificate.certify(hub.store.pk, act())
    hold = holds.place(hub.store.pk, act(), kind=HoldKind.HOLD, reason="case 1", path="")
    body = BytesIO(b"".join(held.begin(hub.store.pk, hold.pk, act).body()))
    of_held = ZipFile(body).read(held.CERTIFICATE).decode()
    first = keys.current()
    rotation.rotate(new_key(), act())
    papers = (documents.RECEIPT, paper), (documents.CERTIFICATE, certified), (documents.CERTIFICATE, of_held)
    for kind, text in papers:
        assert documents.check(text) is documents.Verdict.RIGHT
        for other in ({"overdue": 7, "memories": 7}, {"at": chain.moment(AT)}, {"by": "user_1"}, {"kept": "nothing"}):
            content = {**json.loads(text)[kind], **other}
            forged = documents.document(kind, content, documents.signature(content, first))
            assert documents.check(forged) is documents.Verdict.UNCONFIRMED, other
        assert documents.check(documents.document(kind, content, "0" * 64)) is documents.Verdict.WRONG
    content = {**json.loads(certified)[documents.CERTIFICATE], "type": "certificate_of_held"}
    forged = documents.document(documents.CERTIFICATE, content, documents.signature(content, first))
    assert documents.check(forged) is documents.Verdict.UNCONFIRMED


@pytest.mark.both_databases
def test_what_other_programs_know_stays_and_a_new_secret_follows_from_the_new_key(hub: Hub) -> None:
    wanted = manage.WebhookSettings("One", "https://example.com/hook", ["memory.created"])
    webhook = manage.create_webhook(None, wanted, act())
    first, secret = keys.current(), manage.secrets_of(webhook, LATER)
    mark = findings.fingerprint("email_address", WHO)
    rotation.rotate(new_key(), act())
    webhook.refresh_from_db()
    assert manage.secrets_of(webhook, LATER) == secret and findings.fingerprint("email_address", WHO) == mark
    renewed = manage.rotate(webhook.pk, act())
    assert manage.secrets_of(renewed, LATER) == [signing.secret_of(keys.current(), webhook.pk, 2), *secret]
    assert keys.first() == first and problems() == []


# ------------------------------------------------------------------------------------------------ a key that is lost


@pytest.mark.both_databases
def test_a_lost_key_is_called_lost_and_not_tampering_until_it_is_put_back(hub: Hub, own_checkpoints: Path) -> None:
    checkpoints.append(own_checkpoints, LATER)
    lost = keys.current().decode()
    name = keys.key_name()
    rotation.rotate(new_key(), act())
    hub.call(command="create", path="/memories/after.md", file_text="new\n")
    checkpoints.append(own_checkpoints, LATER)
    with tampering():
        Installation.objects.update(older_keys=None)
    keys._read.clear()
    code, said = verified()
    assert code == 2 and f"cannot be verified: the older audit key {name} is missing" in said
    assert "changed" not in said
    assert [one.says for one in inside.secrets(LATER)] == [
        "Older audit keys are missing from the database: their entries are not verified."
    ]
    assert list(inside.written(LATER)) == []
    with pytest.raises(rotation.NotRotated, match="is missing"):
        rotation.rotate(new_key(), act())
    with undone(), tampering():
        AuditEntry.objects.filter(chain=hub.store.pk, seq=AuditChain.objects.get(pk=hub.store.pk).last_seq).update(
            duration=7
        )
        assert verified()[0] == 1
    with pytest.raises(rotation.NotRotated, match="No entry"):
        rotation.put_back(new_key(), act())
    assert rotation.put_back(lost, act()) == name
    keys._read.clear()
    assert verified()[0] == 0


# ------------------------------------------------------------------------------------------------ around it


@pytest.mark.both_databases
def test_a_process_with_the_older_key_writes_nothing_and_says_why(hub: Hub) -> None:
    old = keys.current()
    rotation.rotate(new_key(), act())
    new = keys.current()
    entries = AuditEntry.objects.of_chain(HUB).count()
    keys.use(old)
    with pytest.raises(keys.Replaced, match="rotated while this process ran"):
        new_hub()
    health.transactions.Last.committed = float("-inf")
    assert health.unready() == "the audit key was rotated, and this process has the older one"
    with pytest.raises(starting.NotStarted, match="is not the audit key of this database"):
        starting.require_own_secrets(["MEMORYHUB_AUDIT_KEY"])
    with pytest.raises(keys.Replaced):  # and calls nothing wrong that it verifies
        verify.verify(hub.store.pk)
    with pytest.raises(databases.Failed, match="it was rotated meanwhile"):
        databases.verdict()
    keys.use(new)
    assert AuditEntry.objects.of_chain(HUB).count() == entries and problems() == []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Path:
    """A data directory with the key of the tests, which a command may replace."""
    monkeypatch.delenv("MEMORYHUB_AUDIT_KEY", raising=False)
    monkeypatch.setattr(starting, "_lock", [0])
    settings.DATA_DIR, settings.MEMORYHUB_CHECKPOINT_FILE = tmp_path, tmp_path / "checkpoints.jsonl"
    (tmp_path / "audit_key").write_text(keys.current().decode())
    return tmp_path


@pytest.mark.both_databases
def test_the_command_replaces_the_file_and_goes_on_where_it_was_interrupted(hub: Hub, home: Path) -> None:
    before = (home / "audit_key").read_text()
    said = StringIO()
    call_command("rotate_audit_key", stdout=said)
    after = (home / "audit_key").read_text()
    assert after == keys.current().decode() != before and not (home / "audit_key.new").exists()
    assert f"The new one, {keys.key_name()}, has signed" in said.getvalue() and verified()[0] == 0
    (home / "audit_key").write_text(before)
    (home / "audit_key.new").write_text(after)
    keys.use(before.encode())
    with pytest.raises(starting.NotStarted, match="Run rotate_audit_key again"):
        starting.require_own_secrets(["MEMORYHUB_AUDIT_KEY"])
    call_command("rotate_audit_key", stdout=said)
    assert (home / "audit_key").read_text() == after and not (home / "audit_key.new").exists()


def test_where_the_key_is_in_the_environment_the_new_one_is_named(hub: Hub, home: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MEMORYHUB_AUDIT_KEY", keys.current().decode())
    with pytest.raises(CommandError, match="name it with --new-key"):
        call_command("rotate_audit_key")
    (home / "new").write_text(f"{'n' * 48}\n")
    call_command("rotate_audit_key", "--new-key", str(home / "new"), stdout=StringIO())
    assert keys.current() == b"n" * 48 and verified()[0] == 0

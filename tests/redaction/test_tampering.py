"""What somebody might try who can write to the database and has heard of redactions: `verify_audit` names it."""

import hashlib
from collections.abc import Callable
from datetime import timedelta

import pytest

from memoryhub.actions.core import audit, proofs, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.actions.verification import verify
from memoryhub.models import AuditChain, AuditEntry, Door, Memory, MemoryStore, MemoryText, MemoryVersion, Redaction
from memoryhub.pure import chain, ids
from tests.support import older_entries
from tests.support.fixtures import AT
from tests.support.long import LONG, some
from tests.support.tampering import Cell, cells, edited, undone
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

SECRET = "the password is hunter2"
LATER = AT + timedelta(days=60)
BY_HUB = Actor.system("tests")


@pytest.fixture
def history(store: MemoryStore, key: str) -> MemoryStore:
    """A store with all that can be gone: a removed version, a purged memory, a redacted version, an erased text."""
    caller = Caller(store, key, session="run-1")
    caller.create("/a.md", "one\n")
    for number in range(6):
        caller.call("str_replace", path="/memories/a.md", old_str="one", new_str=f"one\nline {number}")
        caller.call("view", path="/memories/a.md")
    caller.create("/b.md", f"{SECRET}\n")
    caller.call("view", path="/memories/b.md")
    caller.call("str_replace", path="/memories/b.md", old_str="nothing", new_str=SECRET)
    caller.create("/c.md", "to be purged\n")
    caller.delete("/c.md")
    _remove(store, 2)
    _purge(store)
    redaction.redact_version(store.pk, version(store, 3).pk, Act(BY_HUB, Door.API, LATER))
    found = erasure.search(store.pk, [SECRET], LATER)
    erasure.erase(store.pk, [SECRET], found.digest, Act(BY_HUB, Door.WEB, LATER))
    return store


def version(store: MemoryStore, number: int) -> MemoryVersion:
    """Of the memory that has changed most."""
    memory = Memory.objects.at("/a.md").get(store=store)
    return MemoryVersion.objects.of_memory(memory).get(number=number)


def _remove(store: MemoryStore, number: int) -> None:
    gone = version(store, number)
    with tree.locked(store.pk, Act(BY_HUB, Door.COMMAND, LATER)) as locked:
        removed = removal.remove_versions(locked, gone.memory_id, [gone.pk])
        tree.commit(locked, Record("prune_versions", memory=gone.memory_id, redactions=removed.redactions))


def _purge(store: MemoryStore) -> None:
    memory = Memory.objects.in_trash().get(store=store)
    with tree.locked(store.pk, Act(BY_HUB, Door.COMMAND, LATER)) as locked:
        removed = removal.purge(locked, memory.pk)
        tree.commit(locked, Record("purge", memory=memory.pk, redactions=removed.redactions))


def problem(store: MemoryStore) -> verify.Problem | None:
    return verify.verify(store.pk)[1]


def test_all_that_is_gone_is_accounted_for(history: MemoryStore) -> None:
    assert problem(history) is None
    removed = verify.removed(history.pk)
    assert removed.values > 3
    assert removed.versions == 3
    assert SECRET not in "".join(str(cell.read()) for cell in cells(AuditEntry, chain=history.pk))


# ------------------------------------------------------------------------------------------------ what they try


def _drop_version(store: MemoryStore) -> None:
    """A version's row goes, without a redaction that stands for it."""
    version(store, 5).delete()


def _drop_version_as_removed(store: MemoryStore) -> None:
    """The same, with a row as the hub writes it, told by an entry that tells of others."""
    gone = version(store, 5)
    model = Redaction.objects.of_chain(store.pk).removed().order_by("pk")[0]
    forged = Redaction(
        id=ids.new_id(ids.REDACTION, LATER), chain=store.pk, seq=model.seq, entry_seq=gone.seq, version=gone.pk,
        memory=gone.memory_id, number=gone.number, superseded_seq=gone.superseded_seq, original=gone.commitment,
    )  # fmt: skip
    values = [
        forged.pk, forged.chain, forged.seq, forged.entry_seq, None, forged.version, forged.memory, forged.number,
        forged.superseded_seq, forged.original,
    ]  # fmt: skip
    forged.commitment = chain.redaction_commitment(None, values)
    forged.save(force_insert=True)
    gone.delete()


def _blank_version(store: MemoryStore) -> None:
    """Text, path and salt of a version go, and it is marked as redacted."""
    mine = version(store, 5)
    MemoryText.objects.filter(pk=mine.text_id).delete()
    seq = version(store, 3).redacted_seq
    MemoryVersion.objects.filter(pk=mine.pk).update(
        text=None, path=None, sha256=None, salt=None, redacted_seq=seq, redacted_at=LATER, redacted_by=None
    )


def _blank_input(store: MemoryStore) -> None:
    """An entry's input goes with its salt, and the commitment to it stays."""
    entry = AuditEntry.objects.of_chain(store.pk).of_command("str_replace").at_path("/a.md").newest()[0]
    AuditEntry.objects.filter(chain=store.pk, seq=entry.seq).update(input=None, **proofs.without_salt(entry, "input"))


def _blank_older_input(store: MemoryStore) -> None:
    """The same in an entry of an older version of the hub."""
    entry = AuditEntry.objects.of_chain(store.pk).of_command("str_replace").at_path("/a.md").newest()[0]
    older_entries.age(store.pk, [entry.seq])
    with tampering():
        _blank_input(store)


def _blank_input_without_commitment(store: MemoryStore) -> None:
    """The commitment goes, too, as if there had never been an input."""
    entry = AuditEntry.objects.of_chain(store.pk).of_command("str_replace").at_path("/a.md").newest()[0]
    salts, commitments = chain.unpacked(bytes(entry.proof))
    del salts["input"]
    AuditEntry.objects.filter(chain=store.pk, seq=entry.seq).update(input=None, proof=chain.packed(salts, commitments))


def _add_value(store: MemoryStore) -> None:
    """A field that had no value gets one, which no commitment covers."""
    entry = AuditEntry.objects.of_chain(store.pk).of_command("str_replace").at_path("/a.md").newest()[0]
    AuditEntry.objects.filter(chain=store.pk, seq=entry.seq).update(new_path="/b.md")


def _keep_commitment(store: MemoryStore) -> None:
    """An entry gets a commitment that it would not contain, to another value than the one that it has."""
    entry = AuditEntry.objects.of_chain(store.pk).of_command("str_replace").at_path("/a.md").newest()[0]
    salts, kept = chain.unpacked(bytes(entry.proof))
    kept["input"] = proofs.commitments_of(entry)["input"]
    AuditEntry.objects.filter(chain=store.pk, seq=entry.seq).update(input="{}", proof=chain.packed(salts, kept))


def _blank_input_as_redacted(store: MemoryStore) -> None:
    """The same, with a Redaction row that the erasure's entry would tell."""
    entry = AuditEntry.objects.of_chain(store.pk).of_command("str_replace").at_path("/a.md").newest()[0]
    _blank_input(store)
    seq = AuditEntry.objects.of_chain(store.pk).of_command("erase").get().seq
    forged = Redaction(id=ids.new_id(ids.REDACTION, LATER), chain=store.pk, seq=seq, entry_seq=entry.seq, field="input")
    values = [forged.pk, forged.chain, seq, entry.seq, "input", None, None, None, None, None, None]
    forged.commitment = chain.redaction_commitment(None, values)
    forged.save(force_insert=True)


def _swap_masked_input(store: MemoryStore) -> None:
    """What is left of a redacted input becomes something else."""
    redacted = Redaction.objects.of_chain(store.pk).filter(field="input", salt__isnull=False).order_by("-entry_seq")[0]
    other = audit.to_json({"command": "view", "path": "/memories/harmless.md"})
    AuditEntry.objects.filter(chain=store.pk, seq=redacted.entry_seq).update(input=other)


def _swap_masked_text(store: MemoryStore) -> None:
    """What is left of a redacted text becomes something else, its SHA-256 and size with it."""
    masked = MemoryVersion.objects.filter(store=store, redacted_seq__isnull=False, text__isnull=False)[0]
    MemoryText.objects.filter(pk=masked.text_id).update(content="harmless\n")
    MemoryVersion.objects.filter(pk=masked.pk).update(sha256=hashlib.sha256(b"harmless\n").hexdigest(), size=9)


def _drop_redaction(store: MemoryStore) -> None:
    """The row that stands for a removed version goes too."""
    Redaction.objects.of_chain(store.pk).removed()[0].delete()


def _drop_redaction_of_a_field(store: MemoryStore) -> None:
    Redaction.objects.of_chain(store.pk).filter(field="input").order_by("-entry_seq")[0].delete()


def _move_redaction(store: MemoryStore) -> None:
    """A redaction of one entry becomes one of another."""
    redacted = Redaction.objects.of_chain(store.pk).filter(field="input").order_by("-entry_seq")[0]
    Redaction.objects.filter(pk=redacted.pk).update(entry_seq=redacted.entry_seq - 1)


def _salt_again(store: MemoryStore) -> None:
    """A redacted field gets a salt again, and a value that anybody may have thought of."""
    redacted = Redaction.objects.of_chain(store.pk).filter(field="input").order_by("-entry_seq")[0]
    entry = AuditEntry.objects.get(chain=store.pk, seq=redacted.entry_seq)
    salts, commitments = chain.unpacked(bytes(entry.proof))
    proof = chain.packed({**salts, "input": chain.new_salt()}, commitments)
    AuditEntry.objects.filter(chain=store.pk, seq=entry.seq).update(proof=proof)


def _forget_redacted_commitment(store: MemoryStore) -> None:
    """The commitment to what was redacted becomes one to what is left."""
    redacted = Redaction.objects.of_chain(store.pk).filter(field="input").order_by("-entry_seq")[0]
    entry = AuditEntry.objects.get(chain=store.pk, seq=redacted.entry_seq)
    salts, commitments = chain.unpacked(bytes(entry.proof))
    commitments["input"] = chain.commit(bytes.fromhex(chain.new_salt()), entry.input or "")
    AuditEntry.objects.filter(chain=store.pk, seq=entry.seq).update(proof=chain.packed(salts, commitments))


def _renumber(store: MemoryStore) -> None:
    """The gap of a removed version is closed."""
    mine = version(store, 3)
    MemoryVersion.objects.filter(pk=mine.pk).update(number=2)


def _start_later(store: MemoryStore) -> None:
    """The oldest entries go, and the chain says so, without the audit key."""
    last = AuditEntry.objects.get(chain=store.pk, seq=3)
    AuditEntry.objects.of_chain(store.pk).filter(seq__lte=3).delete()
    AuditChain.objects.filter(pk=store.pk).update(
        start_seq=3, start_hash=last.hash, start_at=LATER, start_versions="0" * 64, start_signature="0" * 64
    )


ATTEMPTS = (
    _drop_version, _drop_version_as_removed, _blank_version, _blank_input, _blank_older_input,
    _blank_input_without_commitment, _blank_input_as_redacted, _add_value, _keep_commitment, _swap_masked_input,
    _swap_masked_text, _drop_redaction, _drop_redaction_of_a_field, _move_redaction, _salt_again,
    _forget_redacted_commitment, _renumber, _start_later,
)  # fmt: skip


def test_content_that_is_missing_or_changed_without_an_entry_is_an_alarm(history: MemoryStore) -> None:
    unnoticed = [attempt.__name__ for attempt in ATTEMPTS if _passes(history, attempt)]
    assert not unnoticed
    assert problem(history) is None


def _passes(store: MemoryStore, attempt: Callable[[MemoryStore], None]) -> bool:
    with undone(), tampering():
        attempt(store)
        return problem(store) is None


# ----------------------------------------------------------------------------------- a chain that starts late


@pytest.fixture
def late(history: MemoryStore) -> MemoryStore:
    """The same store, of whose audit the oldest entries have been removed."""
    waiting = MemoryVersion.objects.filter(store=history).unreviewed().values_list("pk", flat=True)
    decisions.approve_many(history.pk, list(waiting), Act(BY_HUB, Door.COMMAND, LATER))
    assert removal.remove_entries(history.pk, 8, Act(BY_HUB, Door.COMMAND, LATER + timedelta(days=1))) > 0
    return history


def _versions_of_removed_entries(store: MemoryStore) -> list[MemoryVersion]:
    start = AuditChain.objects.get(pk=store.pk).start_seq
    return list(MemoryVersion.objects.filter(store=store, seq__lte=start).order_by("seq"))


def _drop_what_outlived_its_entry(store: MemoryStore) -> None:
    _versions_of_removed_entries(store)[0].delete()


def _change_what_outlived_its_entry(store: MemoryStore) -> None:
    text = _versions_of_removed_entries(store)[0].text
    assert text is not None
    MemoryText.objects.filter(pk=text.pk).update(content="another text\n")


def _take_the_seal(store: MemoryStore) -> None:
    mine = _versions_of_removed_entries(store)[0]
    MemoryVersion.objects.filter(pk=mine.pk).update(seal=None)


def _swap_the_seals(store: MemoryStore) -> None:
    one, other = _versions_of_removed_entries(store)[:2]
    MemoryVersion.objects.filter(pk=one.pk).update(seal=other.seal)
    MemoryVersion.objects.filter(pk=other.pk).update(seal=one.seal)


def _start_even_later(store: MemoryStore) -> None:
    start = AuditChain.objects.get(pk=store.pk).start_seq + 1
    entry = AuditEntry.objects.get(chain=store.pk, seq=start)
    entry.delete()
    AuditChain.objects.filter(pk=store.pk).update(start_seq=start, start_hash=entry.hash)


def _start_at_the_beginning(store: MemoryStore) -> None:
    AuditChain.objects.filter(pk=store.pk).update(
        start_seq=0, start_hash=None, start_at=None, start_versions=None, start_signature=None
    )


LATE_ATTEMPTS = (
    _drop_what_outlived_its_entry, _change_what_outlived_its_entry, _take_the_seal, _swap_the_seals, _start_even_later,
    _start_at_the_beginning,
)  # fmt: skip


@pytest.mark.both_databases
def test_a_chain_that_starts_late_is_guarded_as_well(late: MemoryStore) -> None:
    assert problem(late) is None
    assert verify.removed(late.pk).entries == AuditChain.objects.get(pk=late.pk).start_seq
    unnoticed = [attempt.__name__ for attempt in (*ATTEMPTS[2:-2], *LATE_ATTEMPTS) if _passes(late, attempt)]
    assert not unnoticed
    assert problem(late) is None


# ------------------------------------------------------------------------------------------------ any byte


def _guarded(store: MemoryStore) -> list[Cell]:
    """Every column of one redaction of each kind, of redacted and sealed versions, and of the chain's start.

    The entries that were redacted are there: nothing can be checked against those that have been removed.
    """
    rows = Redaction.objects.of_chain(store.pk).filter(entry_seq__gt=AuditChain.objects.get(pk=store.pk).start_seq)
    kinds = (
        rows.filter(field__isnull=False, salt__isnull=False), rows.filter(field=None, number=None), rows.removed(),
    )  # fmt: skip
    chosen = [cell for found in kinds for cell in cells(Redaction, pk=found.order_by("-pk")[0].pk)]
    versions = MemoryVersion.objects.filter(store=store)
    redacted = versions.filter(redacted_seq__isnull=False)
    of_versions = (redacted.filter(text=None), redacted.filter(text__isnull=False), versions.filter(seal__isnull=False))
    for found in of_versions:
        chosen += cells(MemoryVersion, pk=found.order_by("-seq")[0].pk)
    return [*chosen, *cells(AuditChain, pk=store.pk)]


UNGUARDED = {("AuditChain", "closed_at"), ("AuditChain", "bytes")}
"""What is no moment reads as null in `closed_at` and changes nothing; a moment is noticed, as the tests of deletion
show. `bytes` is counted from the entries."""


def test_any_edit_of_what_stands_for_something_gone_is_noticed(late: MemoryStore) -> None:
    """A byte of any third value, or the whole value, and in the long form both of all values."""
    unnoticed = set()
    for number, cell in enumerate(some(_guarded(late), 3)):
        for kind in (1, 10) if LONG else ((1,), (10,))[number % 2]:
            if (cell.model.__name__, cell.column) not in UNGUARDED and _can_be_edited(late, cell, kind):
                unnoticed.add((cell.model.__name__, cell.column, kind))
    assert not unnoticed


def _can_be_edited(store: MemoryStore, cell: Cell, kind: int) -> bool:
    with undone(), tampering():
        return edited(cell, 3, kind) and problem(store) is None

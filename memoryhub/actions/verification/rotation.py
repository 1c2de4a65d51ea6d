"""Replaces the audit key: a new key becomes the current one, and older keys only verify older entries.

In one transaction, everything that the old key signed is signed with the new key: the end and the start of each chain,
and the receipts. So an attacker with an older key can no longer make a valid signature.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain as joined

from django.conf import settings
from django.db import connection

from memoryhub.actions.core import audit, proofs, sql
from memoryhub.actions.core.audit import Act, Record, documents, keys, seals
from memoryhub.actions.core.audit.keys import Known, Older
from memoryhub.actions.core.hub import installation
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.retention import removal
from memoryhub.actions.verification import older_keys, verify
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.actions.verification.start import newest_redactions, outlived
from memoryhub.models import HUB, AuditChain, AuditEntry, Installation, MemoryVersion, Receipt
from memoryhub.pure import chain

COMMAND, PUT_BACK = "rotate_audit_key", "put_back_audit_key"
LEAST = 32
"""The fewest characters of a key."""
PART = 500


class NotRotated(Exception):
    """The key was not replaced, and nothing has changed. The message says why in a sentence or two."""


def rotate(new: str, act: Act) -> int:
    """Make `new` the audit key, and return how many chains were signed with it. No other process may write during this.

    If NotRotated is raised, nothing has changed.
    """
    _require_usable(new)
    verified = _require_right()
    kept, before = keys.with_replaced(act.at), keys.current()
    try:
        with writing():
            _lock()
            rows = list(AuditChain.objects.select_for_update().order_by("id"))
            if {row.pk: (row.last_seq, row.last_hash) for row in rows} != verified:
                raise NotRotated("Something wrote to the audit in the meantime. Stop all nodes of the hub first.")
            keys.use(new.encode())
            for row in rows:
                _sign(row)
                _sign_receipts(row.pk)
            names = [one.name for one in kept.keys]
            details = {"key": keys.key_name(), "older": names, "chains": len(rows)}
            installation.replace_audit_key(keys.encrypted(kept))
            audit.on_hub(act, Record(COMMAND, input=audit.to_json(details)))
    except BaseException:
        keys.use(before)
        raise
    return len(rows)


def put_back(key: str, act: Act) -> str:
    """Store an older key that was lost, and return its name.

    Raises NotRotated if no entry was written with the key, or if the hub has it already.
    """
    name = chain.key_id(key.encode())
    known = keys.known()
    if keys.of(name) is not None:
        raise NotRotated(f"The audit key {name} is there already.")
    if not _wrote_an_entry(key, name):
        raise NotRotated(f"No entry of this hub was written with the audit key {name}.")
    until = _until(name)
    found = sorted([*known.keys, Older(name, key, until.isoformat())], key=lambda one: one.until)
    with writing():
        Installation.objects.filter(pk=1).update(older_keys=keys.encrypted(Known(tuple(found), known.is_complete)))
        audit.on_hub(act, Record(PUT_BACK, input=audit.to_json({"key": name})))
    return name


def _require_usable(new: str) -> None:
    if len(new) < LEAST or not new.isascii() or not new.isprintable() or new != new.strip():
        raise NotRotated(f"An audit key has at least {LEAST} printable characters of ASCII, without spaces around it.")
    if chain.key_id(new.encode()) in keys.names():
        raise NotRotated("This key is, or was, the audit key of this hub. Make a new one.")


def _require_right() -> dict[str, tuple[int, str]]:
    """Verify everything, and return {chain: (seq, hash) of its head}. Raises NotRotated if anything is wrong."""
    heads = {row.pk: (row.last_seq, row.last_hash) for row in AuditChain.objects.all()}
    written = checkpoint_check.check(settings.MEMORYHUB_CHECKPOINT_FILE)
    wrong = [*written.files, *(f"{name} entry {seq}: {what}" for name, (seq, what) in written.problems.items())]
    found = (verify.verify(name)[1] for name in verify.chains(written.chains))
    problem = next(joined(wrong, (str(one) for one in found if one)), None)
    # A signature with the new key would hide what is wrong.
    if problem:
        raise NotRotated(f"The audit is not right, so the key was not replaced: {problem}.")
    return heads


def _lock() -> None:
    """On PostgreSQL, keep other nodes from starting a chain until the transaction ends."""
    if connection.vendor != "sqlite":
        sql.run(sql.Statement("lock table memoryhub_auditchain in share row exclusive mode"))


# ------------------------------------------------------------------------------------------------ signing anew


def _sign(row: AuditChain) -> None:
    """Sign the end and the start of a chain with the new key."""
    row.key_name = keys.key_name()
    if row.last_seq:
        row.older_seq, row.older_signature = row.last_seq, older_keys.signature(row.pk, row.last_seq, row.last_hash)
    if row.start_seq:
        _sign_start(row)
    row.save()


def _sign_start(row: AuditChain) -> None:
    """Sign the start of a chain whose oldest entries were removed. The signature also covers the versions that
    outlived these entries."""
    if row.start_seals is not None:
        row.start_seals = seals.digest_at_start(row.pk, row.start_seq)
    if row.closed_at is None:
        row.start_versions = chain.set_digest(keys.current(), _sealed_versions(row))
    row.start_signature = removal.start_signature(row)


def _sealed_versions(row: AuditChain) -> Iterator[str]:
    redactions = newest_redactions(row.pk, row.start_seq)
    versions, gone = outlived(row)
    part: list[MemoryVersion] = []
    for version in versions.order_by("pk").iterator(PART):
        at_start = redactions.get(version.pk, (None, None))[0]
        version.seal = removal.seal_of(version, at_start.commitment if at_start else None)
        part.append(version)
        yield version.pk
        if len(part) == PART:
            _save(row.pk, part)
            part = []
    _save(row.pk, part)
    yield from (str(version) for _, _, version in gone)


def _save(store_id: str, versions: Iterable[MemoryVersion]) -> None:
    MemoryVersion.objects.filter(store_id=store_id).bulk_update(versions, ["seal"], batch_size=200)


def _sign_receipts(store_id: str) -> None:
    for receipt in Receipt.objects.filter(store=store_id).order_by("pk").iterator(PART):
        receipt.signature = documents.signature(receipt.content)
        receipt.save(update_fields=["signature"])


# ------------------------------------------------------------------------------------------------ putting back


def _wrote_an_entry(key: str, name: str) -> bool:
    for row in AuditChain.objects.filter(older_seq__gt=0).order_by("pk"):
        entry = AuditEntry.objects.of_chain(row.pk).filter(seq__lte=row.older_seq, key_name=name).newest().first()
        if entry is not None:
            return proofs.fits(entry, key.encode())
    return False


def _until(name: str) -> datetime:
    """Return when a lost key was replaced, according to the hub's entries."""
    rotations = AuditEntry.objects.of_chain(HUB).of_command(COMMAND).oldest()
    after = next((entry.at for entry in rotations if f'"{name}"' in (entry.input or "")), None)
    return after or AuditEntry.objects.of_chain(HUB).newest().values_list("at", flat=True)[0]

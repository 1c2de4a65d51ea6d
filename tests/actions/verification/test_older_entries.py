"""Entries from before they had a `proof` verify beside new ones; going back gives all of them that form again."""

import hashlib
import hmac
import random
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from memoryhub.actions.verification import verify
from memoryhub.models import HUB, AuditEntry
from memoryhub.pure import chain
from tests.actions.verification.test_audit_chain import ENTRIES, run_sql, tell
from tests.support import older_entries
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_entries_verify_after_the_migration_and_after_one_back() -> None:
    hub = tell()
    rows = AuditEntry.objects.of_chain(hub.store.pk).oldest()
    hashes = list(rows.values_list("hash", flat=True))
    assert {proof is None for proof in rows.values_list("proof", flat=True)} == {True, False}
    told = {entry.seq: older_entries.read(entry) for entry in rows.all()}
    with tampering():
        import_module("memoryhub.migrations.0064_proofs_of_entries").write_as_before(apps, None)
    run_sql("alter table memoryhub_auditentry drop column proof")
    run_sql(f"alter table memoryhub_auditentry add column proof {'bytea' if _is_postgres() else 'blob'} null")
    assert {entry.seq: (entry.salts, entry.commitments) for entry in rows.all()} == told
    hub.call(command="view", path="/memories")
    for name, count in ((hub.store.pk, ENTRIES + 1), (HUB, AuditEntry.objects.of_chain(HUB).count())):
        assert verify.verify(name) == (count, None)
        assert not older_entries.wrong_hashes(name)
    assert list(rows.all().values_list("hash", flat=True))[:ENTRIES] == hashes
    assert list(rows.all().values_list("proof", flat=True))[:ENTRIES] == [None] * ENTRIES
    assert rows.last().proof is not None


def test_a_proof_has_one_form_and_nothing_else_is_read_as_one() -> None:
    of = random.Random(7)
    for _ in range(300):
        values = {field: of.choice((None, "", "x\ud800")) for field in chain.COMMITTED}
        away = of.sample(chain.COMMITTED, of.randrange(3))
        proof, commitments = chain.seal(values, away)
        salts, kept = chain.unpacked(proof)
        assert list(salts) == list(commitments) == [field for field in chain.COMMITTED if values[field] is not None]
        assert kept == {field: commitments[field] for field in salts if field in away}
        for field, salt in salts.items():
            value = str(values[field]).encode("utf-8", "surrogatepass")
            assert hmac.new(bytes.fromhex(salt), value, hashlib.sha256).hexdigest() == commitments[field]
        assert chain.packed(salts, kept) == proof
        for other in (proof[:-1], proof + b"x", bytes((proof[0] ^ 1 << of.randrange(8),)) + proof[1:], b"", b"\0"):
            with pytest.raises(ValueError):
                chain.unpacked(other)


def _is_postgres() -> bool:
    return connection.vendor == "postgresql"

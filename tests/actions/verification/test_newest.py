"""The check of the newest entries, while others write."""

import pytest

from memoryhub.actions.core import proofs
from memoryhub.actions.verification import newest
from memoryhub.models import AuditEntry, MemoryStore
from tests.api.harness import Hub, new_secret
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_an_entry_that_is_written_during_the_check_is_no_sign_of_a_missing_one(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, is_right = Hub(store, new_secret(store)), proofs.is_right

    def write_first(entry: AuditEntry) -> bool:
        monkeypatch.setattr(proofs, "is_right", is_right)
        hub.call(command="create", path="/memories/a.md", file_text="one\n")
        return is_right(entry)

    assert AuditEntry.objects.of_chain("hub").exists(), "this chain is checked first"
    monkeypatch.setattr(proofs, "is_right", write_first)
    assert list(newest.problems()) == []
    last = AuditEntry.objects.of_chain(store.pk).newest()[0]
    assert last.command == "create"
    with tampering():
        AuditEntry.objects.of_chain(store.pk).filter(seq=last.seq).delete()
    assert list(newest.problems()) == [f"entry {last.seq} of {store.pk} is missing"]

"""A copy that becomes a memory store of its own has the rules and the settings that the original has by then."""

import pytest

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act
from memoryhub.actions.findings import rules
from memoryhub.actions.stores import copies, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.actions.verification import verify
from memoryhub.models import MemoryStore
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.path_rules.test_path_rules import set_rules
from tests.support.fixtures import BY

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_what_was_changed_while_the_copy_was_in_use_holds_in_the_new_store(store: MemoryStore) -> None:
    act = Act(**BY)
    with tree.locked(store.pk, act) as locked:
        copy = copies.make(locked, proposes=True)
    rules.save_rules(store.pk, {"card": "block"}, act)
    set_rules(store, PathRule(Effect.REFUSE, "/policies/"))
    wanted = StoreSettings(store.name, overwrite_on_create=True, limits={"limit_memories": 7})
    stores.edit_store(MemoryStore.objects.get(pk=store.pk), wanted, **BY)
    with tree.locked(store.pk, act) as locked:
        copies.keep(locked, copy, "Kept")
    kept, original = MemoryStore.objects.get(pk=copy), MemoryStore.objects.get(pk=store.pk)
    for name in ("rules", "path_rules", "overwrite_on_create", "limit_memories"):
        assert getattr(kept, name) == getattr(original, name), name
    assert kept.limit_memories == 7 and verify.verify(copy)[1] is None

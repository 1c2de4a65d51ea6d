"""The page of two edits that met shows the values of both versions, which counts as revealing each that has some."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.memories import viewing
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, User
from tests.support.fixtures import BY, signed_in
from tests.web.findings.flagged import CARD, with_card
from tests.web.history.versions import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def memory(store: MemoryStore, key: str) -> Memory:
    """A memory that has a card number in its versions 2 and 3, and not in its fourth; the store records who reads."""
    caller = Caller(store, key, at=timezone.now() - timedelta(hours=1))
    memory = with_card(caller)
    caller.replace(memory.path, f" {CARD}", "")
    stores.edit_store(store, replace(StoreSettings.of(store), records_views=True), **BY)
    return Memory.objects.get(pk=memory.pk)


def version(memory: Memory, number: int) -> str:
    return MemoryVersion.objects.of_memory(memory).get(number=number).pk


def entries(memory: Memory, command: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.of_chain(memory.store_id).of_command(command).oldest())


@pytest.mark.parametrize("number", [1, 2])
def test_the_version_from_which_an_edit_went_out_is_revealed_if_it_has_values(
    memory: Memory, alice: User, number: int
) -> None:
    address, began = reverse("edit_memory", args=[memory.store_id, memory.pk]), version(memory, number)
    form = {"text": "Mine\n", "newlines": "lf", "sha256": "0" * 64, "version": began, "note": "", "path": memory.path}
    page = signed_in(alice).post(address, form).content.decode()
    assert "Mine" in page and (CARD in page) == (number == 2)
    revealed = [entry.version for entry in entries(memory, "reveal")]
    assert revealed == ([began] if number == 2 else []) + [memory.head_id]
    (viewed,) = entries(memory, viewing.COMMAND)
    assert set(viewing.versions_in(viewed.input)) == {began, memory.head_id}

"""The letter of an erasure: what was left, also when it is opened later, and the memories to read."""

import pytest
from django.urls import reverse

from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.memories import curation
from memoryhub.actions.stores.stores import StoreSettings, create_store
from memoryhub.models import MemoryStore, Receipt, Role, User
from memoryhub.web.erasure import everywhere as view
from tests.api.harness import BY
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import WHERE, erase, fields, find, write
from tests.web.memories.pages import act, page

pytestmark = pytest.mark.django_db


def test_the_letter_says_what_was_left_also_after_it_went_on_and_when_it_is_opened_later(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = create_store(StoreSettings(name="Archive"), **BY)
    set_role(third, alice, Role.ADMIN, **BY)
    write(third, "/old.md", "Quellenberg long ago\n")
    monkeypatch.setattr(view, "SECONDS_OF_ERASING", -1.0)
    client = signed_in(alice)
    html = erase(client, find(client, "quellenberg"), term=["Quellenberg"], store=[store.id, other.id])
    letter = client.post(WHERE, fields(erase(client, html), "erase")).content.decode()
    assert "Erased from 2 memory stores" in letter
    assert "<code>QUELLENBERG</code>" in letter and "Archive: kept unchanged on purpose." in letter
    group = Receipt.objects.all()[0].content["group"]
    again = page(client, reverse("erasure_letter", args=[group]))
    assert "1 more spelling. The receipts contain a checksum of it." in again
    assert "the memory stores in which nothing was erased" in again


def test_beside_the_letter_are_the_memories_to_read(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    kept = write(store, "/visit.md", "Quellenberg came\nContact: Luis\n")
    gone = write(store, "/old.md", "Quellenberg left\n")
    curation.delete(store.pk, "/old.md", act())
    write(store, "/other.md", "nothing\n")
    letter = erase(client, find(client, "quellenberg"))
    assert "Only these words were removed: the text around them stays." in letter
    receipt = Receipt.objects.get(store=store.pk)
    entry = page(client, reverse("entry", args=[store.pk, receipt.content["entry"]]))
    assert "Undo this…" not in entry, "nothing brings back what was erased"
    for html in (letter, page(client, reverse("erasure_letter", args=[receipt.content["group"]]))):
        assert "Read what else these memories say" in html
        assert reverse("memory", args=[store.pk, kept.pk]) in html and gone.pk in html and "/other.md" not in html

"""What an erasure from several stores says when the database goes away before its end."""

from typing import Any

import pytest
from django.db import connection

from memoryhub.actions.erasure import erasure
from memoryhub.models import MemoryStore, Receipt, User
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import erase, find

pytestmark = pytest.mark.django_db


def test_a_database_that_goes_away_in_one_store_is_said_beside_what_was_erased_before(
    store: MemoryStore, other: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the error is the driver's own, as that of a cursor which is closed."""
    client, real = signed_in(alice), erasure.erase_prepared

    def goes_away(where: str, *more: Any) -> Receipt:
        if where == other.id:
            raise connection.Database.OperationalError("server closed the connection unexpectedly")
        return real(where, *more)

    html = find(client, "quellenberg")
    monkeypatch.setattr(erasure, "erase_prepared", goes_away)
    letter = erase(client, html)
    assert "In 1 memory store nothing was erased:" in letter and "the hub could not complete it" in letter
    assert Receipt.objects.get().store == store.id

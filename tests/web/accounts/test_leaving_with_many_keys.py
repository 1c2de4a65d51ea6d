"""Somebody leaves who issued more keys than a page lists: the others are counted."""

import re

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import MemoryStore, Role, User
from memoryhub.web.accounts import leaving_keys
from tests.support.fixtures import new_person, signed_in
from tests.web.accounts.test_leaving import by, issued_by, text, works

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_keys_beyond_those_that_are_listed_are_said_to_go_on_working(
    store: MemoryStore, superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving_keys, "MOST_KEYS", 1)
    maker, client = new_person("Maker"), signed_in(superuser)
    keys_and_roles.set_role(store, maker, Role.ADMIN, **by(superuser))
    secrets = [issued_by(maker, store)[1] for _ in range(2)]
    addresses = f"/stores/{store.id}/members/{maker.id}/leaving", f"/people/{maker.id}/deactivate"
    for address in addresses:
        assert "1 older key goes on working" in text(client.get(address))
    assert "They issued 2 keys that still work" in text(client.get(addresses[1]))
    [shown] = re.findall(r'name="key" value="(\w+)" checked', text(client.get(addresses[1])))
    page = text(client.post(addresses[1], {"shown": shown, "key": shown}, follow=True))
    assert "1 key was revoked. 1 key of theirs goes on working." in page
    assert [works(secret, store) for secret in secrets].count(True) == 1

"""Somebody loses a role or the account: webhooks that they made or changed are shown, and paused if ticked."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.retention.removal import remove_entries
from memoryhub.actions.webhooks import manage
from memoryhub.models import HUB, AuditChain, Door, MemoryStore, Role, User, Webhook
from tests.api.harness import new_store
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.accounts.test_leaving import by, text, told

pytestmark = pytest.mark.django_db


def made_by(user: User, store: MemoryStore | None, name: str) -> Webhook:
    wanted = manage.WebhookSettings(name, "https://example.com/hook", ("memory.created",))
    return manage.create_webhook(store.id if store else None, wanted, Act(**by(user)))


def paused() -> set[str]:
    return set(Webhook.objects.exclude(paused_at=None).values_list("name", flat=True))


def test_removing_an_admin_of_a_store_shows_their_webhooks_and_pauses_those_that_stay_ticked(
    store: MemoryStore, alice: User
) -> None:
    other, second = new_store(), new_person("Second")
    for one in (store, other):
        keys_and_roles.set_role(one, second, Role.ADMIN, **BY)
    first, left, third = (made_by(second, store, name) for name in ("first", "left", "third"))
    changed, mine = made_by(alice, store, "changed"), made_by(alice, store, "mine")
    made_by(second, other, "elsewhere")
    theirs = manage.WebhookSettings("changed", "https://second.example.com/", ("memory.created",))
    manage.edit_webhook(changed.pk, theirs, Act(**by(second)))
    manage.pause(third.pk, Act(**by(alice)))
    client = signed_in(alice)
    asks = f"/stores/{store.id}/members/{second.id}/leaving"
    page = text(client.get(asks))
    shown = re.findall(r'name="webhook" value="(\w+)" checked', page)
    assert sorted(shown) == sorted([first.pk, left.pk, changed.pk])

    made_by(second, store, "late")
    done = client.post(asks, {"shown": shown, "webhook": [first.pk, changed.pk, mine.pk]}, follow=True)
    assert "1 key or webhook that was made in the meantime has ended, too." in text(done)
    assert second.role_in(store) is None and paused() == {"first", "changed", "third", "late"}
    assert {entry["name"] for entry in told(store.id, "pause_webhook")} == paused()


@pytest.mark.both_databases
def test_deactivating_somebody_shows_all_their_webhooks_and_pauses_those_that_stay_ticked(
    store: MemoryStore, superuser: User
) -> None:
    other = new_person("Other", is_superuser=True)
    made = [made_by(other, place, name) for place, name in ((store, "of the store"), (None, "of the hub"))]
    kept = made_by(superuser, None, "kept")
    client, address = signed_in(superuser), f"/people/{other.id}/deactivate"
    page = text(client.get(address))
    assert "Webhooks that Other made or changed" in page and "all memory stores" in page
    shown = re.findall(r'name="webhook" value="(\w+)" checked', page)
    assert sorted(shown) == sorted(one.pk for one in made)
    client.post(address, {"shown": shown, "webhook": [*shown, kept.pk]})
    assert not User.objects.get(pk=other.pk).is_active and paused() == {"of the store", "of the hub"}
    for chain, name in ((store.id, "of the store"), (HUB, "of the hub")):
        assert [entry["name"] for entry in told(chain, "pause_webhook")] == [name]


def test_a_webhook_that_somebody_may_have_changed_before_the_audit_begins_is_shown_unticked(
    store: MemoryStore, alice: User
) -> None:
    second = new_person("Second")
    keys_and_roles.set_role(store, second, Role.ADMIN, **BY)
    changed = made_by(alice, store, "changed")
    theirs = manage.WebhookSettings("changed", "https://second.example.com/", ("memory.created",))
    manage.edit_webhook(changed.pk, theirs, Act(**by(second)))
    later = Act(Actor.system("tests"), Door.COMMAND, timezone.now() + timedelta(days=60))
    curation.create(store.pk, "/a.md", "text\n", later)
    assert remove_entries(store.pk, AuditChain.objects.get(pk=store.pk).last_seq - 1, later)
    client = signed_in(alice)
    asks = f"/stores/{store.id}/members/{second.id}/leaving"
    page = text(client.get(asks))
    assert f'name="webhook" value="{changed.pk}" aria-label' in page and "https://second.example.com/" in page
    assert "retention has removed the audit entries that would show it" in page
    client.post(asks, {"shown": changed.pk, "webhook": changed.pk})
    assert second.role_in(store) is None and paused() == {"changed"}

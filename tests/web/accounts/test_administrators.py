"""An administrator of the hub makes another person one, and takes the role away again."""

from typing import Any

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import administrators, keys_and_roles, people, second_person
from memoryhub.actions.accounts.single_sign_on import PROVIDER
from memoryhub.models import HUB, AuditEntry, Door, Identity, Key, MemoryStore, Role, User, Webhook
from memoryhub.pure.group_roles import parsed
from tests.api.harness import new_store
from tests.support.fixtures import BY, PASSWORD, new_person, signed_in
from tests.support.write_guard import arranging
from tests.web.accounts.test_leaving import by, issued_by, opens, told
from tests.web.accounts.test_leaving_webhooks import made_by, paused
from tests.web.accounts.test_second_person import TURN, allow, ask, do
from tests.web.common.test_fresh import asked, stale

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]

TAKE, GIVE = {"is_one": "0"}, {"is_one": "1"}


@pytest.fixture
def other(superuser: User) -> User:
    return new_person("Olga", is_superuser=True)


def where(user: User) -> str:
    return f"/people/{user.pk}/administrator"


def text(response: Any) -> str:
    return str(response.content.decode())


def is_one(user: User) -> bool:
    return User.objects.get(pk=user.pk).is_superuser


@pytest.mark.both_databases
def test_what_only_an_administrator_could_make_goes_with_the_role(
    store: MemoryStore, superuser: User, other: User
) -> None:
    keys_and_roles.set_role(store, other, Role.ADMIN, **BY)
    elsewhere = new_store()
    beyond, _ = issued_by(other, elsewhere)
    everywhere, _ = issued_by(other, all_stores=True)
    own, _ = issued_by(other, store)
    for place, name in ((None, "hub"), (elsewhere, "elsewhere"), (store, "own")):
        made_by(other, place, name)
    _, to_hub = people.invite(email="eve@example.com", is_superuser=True, **by(other))
    _, to_own = people.invite(email="dora@example.com", store=store, role=Role.VIEWER, **by(other))
    client = signed_in(superuser)
    assert f"Take the role of administrator away from {other.email}" in text(client.get("/people"))
    page = text(client.get(where(other)))
    assert "eve@example.com" in page and "dora@example.com" not in page
    hooks = {hook.name: hook.pk for hook in Webhook.objects.all()}
    shown = [one for one in (*Key.objects.values_list("pk", flat=True), *hooks.values()) if f'value="{one}"' in page]
    assert set(shown) == {beyond.pk, everywhere.pk, hooks["hub"], hooks["elsewhere"]}
    issued_by(other, all_stores=True)  # after the page was opened
    done = client.post(where(other), TAKE | {"shown": shown, "key": [*shown, own.pk], "webhook": shown}, follow=True)
    said = text(done)
    for part in ("Olga", "is no administrator of the hub any more. 3 keys were revoked. 1 invitation was withdrawn."):
        assert part in said
    assert not is_one(other) and paused() == {"hub", "elsewhere"} and not opens(to_hub) and opens(to_own)
    assert set(Key.objects.filter(revoked_at=None).values_list("pk", flat=True)) == {own.pk}
    [entry] = told(HUB, "unset_administrator")
    assert (entry["user"], entry["is_superuser"]) == (other.pk, False)
    assert signed_in(other).get("/people").status_code == 403
    assert "took the rights of an administrator from Olga" in text(client.get("/audit"))


def test_a_person_becomes_an_administrator_once(superuser: User, charlie: User) -> None:
    client = signed_in(superuser)
    assert "Make Charlie an administrator" in text(client.get(where(charlie)))
    for _ in range(2):
        assert client.post(where(charlie), GIVE).status_code == 303
    assert is_one(charlie) and len(told(HUB, "set_administrator")) == 1
    assert client.post(where(charlie), {}).status_code == 400
    people.set_active(charlie, False, **BY)
    administrators.set_administrator(charlie, False, **by(superuser))
    assert client.get(where(charlie)).status_code == 404


@pytest.mark.both_databases
def test_the_last_administrator_keeps_the_role(superuser: User, other: User) -> None:
    people.set_active(other, False, **BY)
    client = signed_in(superuser)
    assert "only administrator of the hub" in text(client.get(where(superuser)))
    assert where(superuser) not in text(client.get("/people")) and where(other) in text(client.get("/people"))
    assert "Make another person an administrator first" in text(client.post(where(superuser), TAKE, follow=True))
    assert is_one(superuser) and not told(HUB, "unset_administrator")
    client.post(where(other), TAKE)
    assert not is_one(other), "nobody needs it whose account is deactivated"


def test_nobody_needs_to_ask_for_one_s_own_role_to_end(superuser: User, other: User) -> None:
    done = signed_in(superuser).post(where(superuser), TAKE)
    assert done.headers["Location"] == "/" and not is_one(superuser)


def test_both_ask_for_the_password(superuser: User, other: User, charlie: User) -> None:
    for user, form in ((charlie, GIVE), (other, TAKE)):
        client, before = stale(superuser), is_one(user)
        kept = asked(client.post(where(user), form))
        assert is_one(user) is before
        client.post(where(user), kept | {"proof": PASSWORD})
        assert is_one(user) is not before


def test_both_wait_for_a_second_person_and_what_was_asked_before_lapses(
    superuser: User, other: User, charlie: User
) -> None:
    client = signed_in(superuser)
    client.post(TURN, {"on": "1"})
    theirs = ask(signed_in(other), "/people/invite", {"email": "eve@example.com", "is_superuser": "on", "form": "f1"})
    assert "only one administrator is left" in text(client.get(where(other)))
    for user, form in ((charlie, GIVE), (other, TAKE)):
        request = ask(client, where(user), form)
        allow(other, request)
        do(client, request)
    assert is_one(charlie) and not is_one(other)
    theirs.refresh_from_db()
    assert theirs.expires_at <= timezone.now() and theirs.content is None
    assert second_person.deciders(None, superuser.pk) == [charlie.pk]


def test_where_groups_decide_the_page_says_so_and_changes_nothing(superuser: User, other: User, settings: Any) -> None:
    settings.MEMORYHUB_OIDC_ISSUER = "https://id.example.com"
    settings.MEMORYHUB_OIDC_ROLES = parsed("hub-admins=administrator")
    with arranging():
        Identity.objects.create(user=other, issuer="https://id.example.com", subject="7", created_at=timezone.now())
    client = signed_in(superuser)
    for answer in (client.get(where(other)), client.post(where(other), TAKE)):
        assert "because a group at the identity provider makes them one" in text(answer)
    assert is_one(other)
    provider = {"actor": PROVIDER, "door": Door.WEB, "at": timezone.now()}
    administrators.set_administrator(superuser, False, keep_one=False, **provider)
    assert AuditEntry.objects.of_chain(HUB).of_command("unset_administrator").count() == 1

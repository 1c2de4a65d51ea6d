"""Somebody loses a role or the account: invitations and keys that they made do not bring them back."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.core.audit import Actor
from memoryhub.models import HUB, Access, Agent, AuditEntry, Door, Invitation, Key, MemoryStore, Role, User
from tests.api.harness import new_store
from tests.api.test_concurrency import together
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.write_guard import tampering

JOINS = {"name": "Eve", "password": "a wholly different one", "again": "a wholly different one"}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]


def by(user: User) -> dict[str, Any]:
    return {"actor": Actor.person(user), "door": Door.WEB, "at": timezone.now()}


def now_by() -> dict[str, Any]:
    return BY | {"at": timezone.now()}


def text(response: Any) -> str:
    return str(response.content.decode())


def told(chain: str, command: str) -> list[dict[str, Any]]:
    entries = AuditEntry.objects.of_chain(chain).of_command(command).oldest()
    return [json.loads(entry.input or "{}") for entry in entries]


def opens(token: str) -> bool:
    """Whether the link of an invitation shows its form and makes somebody of whoever fills it in."""
    shown = Client().get(f"/invitations/{token}").status_code
    sent = Client().post(f"/invitations/{token}", JOINS).status_code
    assert (shown, sent) in ((200, 303), (410, 410))
    return sent == 303


def issued_by(user: User, *stores: MemoryStore, name: str = "Scout", **options: Any) -> tuple[Key, str]:
    """A key that a person made in the browser."""
    agent = Agent.objects.filter(name=name).first() or keys_and_roles.create_agent(name, **BY)
    return keys_and_roles.issue_key(agent, stores=stores, created_by=user, **(by(user) | options))


def works(secret: str, store: MemoryStore) -> bool:
    headers = {"authorization": f"Bearer {secret}"}
    return Client().get(f"/v1/memory_stores/{store.id}", headers=headers).status_code == 200


def test_the_invitation_of_a_deactivated_superuser_makes_no_superuser(superuser: User) -> None:
    other = new_person("Other", is_superuser=True)
    _, token = people.invite(email="eve@example.com", is_superuser=True, **by(other))
    people.set_active(other, False, **by(superuser))
    assert not opens(token)
    assert not User.objects.filter(email="eve@example.com").exists()
    [withdrawn] = told(HUB, "withdraw_invitation")
    assert (withdrawn["maker"], withdrawn["email"]) == (other.id, "eve@example.com")
    people.set_active(other, True, **by(superuser))
    assert not opens(token)


Loss = Callable[[MemoryStore, User, User], None]
LOSSES: dict[str, Loss] = {
    "removed": lambda store, alice, root: keys_and_roles.set_role(store, alice, None, **by(root)),
    "a curator": lambda store, alice, root: keys_and_roles.set_role(store, alice, Role.CURATOR, **by(root)),
    "deactivated": lambda store, alice, root: people.set_active(alice, False, **by(root)),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_invitation_of_somebody_who_is_no_admin_any_more_gives_no_role(
    store: MemoryStore, alice: User, superuser: User, loss: Loss
) -> None:
    other = new_store()
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    _, token = people.invite(email="eve@example.com", store=store, role=Role.ADMIN, **by(alice))
    _, elsewhere = people.invite(email="else@example.com", store=other, role=Role.VIEWER, **by(alice))
    loss(store, alice, superuser)
    assert not opens(token)
    assert [entry["maker"] for entry in told(store.id, "withdraw_invitation")] == [alice.id]
    assert not User.objects.filter(email="eve@example.com").exists()
    assert opens(elsewhere) == User.objects.get(pk=alice.pk).is_active
    people.set_active(alice, True, **by(superuser))
    keys_and_roles.set_role(store, alice, Role.ADMIN, **by(superuser))
    assert not opens(token)  # what was withdrawn stays so
    entry = AuditEntry.objects.of_chain(store.id).of_command("withdraw_invitation").newest()[0]
    page = text(signed_in(superuser).get(f"/audit/{store.id}/{entry.seq}"))
    assert "of alice@example.com, who may no longer invite" in page


DECISIONS: dict[str, Role | None] = {"removed": None, "a viewer": Role.VIEWER, "a curator": Role.CURATOR}


@pytest.mark.parametrize("role", DECISIONS.values(), ids=DECISIONS)
def test_an_invitation_that_was_left_over_gives_nobody_the_role_back_that_they_lost(
    store: MemoryStore, alice: User, charlie: User, role: Role | None
) -> None:
    """Invited twice, because the first link seemed lost; or invited, and then added by a superuser."""
    other = new_store()
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    links = [
        people.invite(email=email, store=where, role=Role.ADMIN, **by(alice))[1]
        for email, where in ((charlie.email, store), (charlie.email, store), (charlie.email, other), ("e@f.gh", store))
    ]
    people.join(charlie, links[0], at=timezone.now())
    _, late = people.invite(email=charlie.email, store=store, role=Role.ADMIN, **by(alice))
    keys_and_roles.set_role(store, charlie, role, **by(alice))
    for token in (links[1], late):
        with pytest.raises(people.InvitationSpent):
            people.join(charlie, token, at=timezone.now())
    assert charlie.role_in(store) == role
    assert [entry["email"] for entry in told(store.id, "withdraw_invitation")] == [charlie.email] * 2
    assert people.join(charlie, links[2], at=timezone.now()) == other
    assert opens(links[3])
    _, again = people.invite(email=charlie.email, store=store, role=Role.ADMIN, **by(alice))
    assert people.join(charlie, again, at=timezone.now()) == store


def test_even_an_invitation_that_nobody_withdrew_needs_a_maker_who_may_still_grant_it(
    store: MemoryStore, alice: User, superuser: User
) -> None:
    """As after a change of the database by hand: the right is looked at when the invitation is used."""
    _, token = people.invite(email="eve@example.com", store=store, role=Role.VIEWER, **by(alice))
    _, root = people.invite(email="root2@example.com", is_superuser=True, **by(superuser))
    with tampering():
        store.members.filter(user=alice).update(role=Role.CURATOR)
        User.objects.filter(pk=superuser.pk).update(is_superuser=False)
    assert not opens(token) and not opens(root)
    with tampering():
        store.members.filter(user=alice).update(role=Role.ADMIN)
        User.objects.filter(pk=superuser.pk).update(is_superuser=True)


def test_a_password_link_made_by_somebody_who_was_deactivated_opens_no_account(superuser: User, charlie: User) -> None:
    other = new_person("Other", is_superuser=True)
    _, token = people.invite(user=charlie, email=charlie.email, **by(other))
    people.set_active(other, False, **by(superuser))
    assert Client().get(f"/invitations/{token}").status_code == 410


def test_who_may_not_grant_something_makes_no_invitation_to_it(
    store: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    other = new_store()
    for maker, what in (
        (bob, {"store": store}), (charlie, {"store": store}), (alice, {"store": other}), (alice, {}),
        (alice, {"is_superuser": True}), (alice, {"user": bob}), (alice, {"store": store, "is_superuser": True}),
    ):  # fmt: skip
        with pytest.raises(people.MayNotInvite):
            people.invite(email="eve@example.com", **what, **by(maker))
    assert not Invitation.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_somebody_who_invites_while_losing_the_role_leaves_no_invitation() -> None:
    for number in range(5):
        store, maker = new_store(), new_person(f"Maker{number}")
        keys_and_roles.set_role(store, maker, Role.ADMIN, **BY)

        def work(who: int, store: MemoryStore = store, maker: User = maker) -> None:
            try:
                if who:
                    keys_and_roles.set_role(store, maker, None, **now_by())
                else:
                    people.invite(email=f"{maker.id}@example.com", store=store, **by(maker))
            except people.MayNotInvite:
                pass
            finally:
                connection.close()

        together(work, clients=2)
        assert not Invitation.objects.unused(timezone.now()).filter(store=store).exists()


@pytest.mark.both_databases
def test_invitations_made_before_their_maker_was_recorded_work_no_more(store: MemoryStore, alice: User) -> None:
    _, token = people.invite(email="a@example.com", store=store, **by(alice))
    with tampering():
        Invitation.objects.update(made_by=None)  # as the migration leaves those from before
    assert not opens(token)
    with tampering():
        Invitation.objects.update(made_by=alice)
    assert opens(token)


# ------------------------------------------------------------------------------------------------ keys


def test_deactivating_somebody_shows_the_keys_that_they_made_and_revokes_those_that_stay_ticked(
    store: MemoryStore, superuser: User
) -> None:
    other = new_person("Other", is_superuser=True)
    first, first_secret = issued_by(other, store)
    second, second_secret = issued_by(other, all_stores=True, access=Access.MANAGE)
    kept, kept_secret = issued_by(superuser, store)
    client = signed_in(superuser)
    assert client.post(f"/people/{other.id}/active", {"active": "0"}).headers["Location"].endswith("/deactivate")
    assert User.objects.get(pk=other.pk).is_active  # nothing has happened yet
    page = text(client.get(f"/people/{other.id}/deactivate"))
    assert f"mh_…{first.hint}" in page and f"mh_…{second.hint}" in page and kept.hint not in page
    assert len(re.findall(r'name="key" value="\w+" checked', page)) == 2
    ending = {"shown": [first.id, second.id], "key": [second.id, kept.id]}
    page = text(client.post(f"/people/{other.id}/deactivate", ending, follow=True))
    assert "1 key was revoked. 1 key of theirs goes on working." in page
    link = re.search(r'href="(/keys\?q=[^"]+)">See the keys', page)
    assert link and f"mh_…{first.hint}" in text(client.get(link[1])) and kept.hint not in text(client.get(link[1]))
    assert not User.objects.get(pk=other.pk).is_active
    assert works(first_secret, store) and works(kept_secret, store) and not works(second_secret, store)
    assert [entry["key"] for entry in told(HUB, "revoke_key")] == [second.id]
    assert AuditEntry.objects.of_chain(HUB).of_command("revoke_key").get().actor_id == superuser.id


def test_deactivating_somebody_names_the_keys_that_end_and_the_roles_that_stay(
    store: MemoryStore, alice: User, superuser: User
) -> None:
    client, address = signed_in(superuser), f"/people/{alice.id}/deactivate"
    issued_by(alice, store)
    page = text(client.get(address))
    assert "They issued 1 key that still works. If the key stays ticked below, it is revoked permanently" in page
    assert "They keep these roles" in page and re.search(r"Support</a> <span[^>]*>Admin<", page)
    people.invite(email="new@example.com", store=store, role=Role.VIEWER, **by(alice))
    html = text(client.get(address)).partition("Invitations that will be withdrawn too")[2]
    assert re.search(r"new@example.com, Support <span[^>]*>Viewer<", html)
    ending = {"shown": [Key.objects.get().id], "key": [Key.objects.get().id]}
    page = text(client.post(address, ending, follow=True))
    assert "1 key was revoked. 1 invitation was withdrawn." in page and "webhook was paused" not in page
    assert "goes on" not in page
    assert f'href="/audit?person={alice.id}"' in page
    people.set_active(alice, True, **by(superuser))
    assert alice.role_in(store) == Role.ADMIN  # as the page said
    page = text(client.get(f"/people/{superuser.id}/deactivate"))
    assert "Administrator of the hub" in page and "They issued no key" in page
    assert "They have no role" in text(client.get(f"/people/{new_person('Nora').id}/deactivate"))


def test_what_each_role_may_do_is_said_where_roles_are_given(store: MemoryStore, alice: User, superuser: User) -> None:
    for client, address in ((signed_in(alice), f"/stores/{store.id}/members"), (signed_in(superuser), "/people")):
        page = text(client.get(address))
        assert "What each role may do in its memory store" in page and "redact and erase for good" in page
        assert page.count("icon-check") >= 6, "what a role may do is a tick, not a word"


@pytest.mark.both_databases
def test_keys_that_were_issued_after_the_page_was_opened_are_revoked_too(store: MemoryStore, superuser: User) -> None:
    other, client = new_person("Other", is_superuser=True), signed_in(superuser)
    left, left_secret = issued_by(other, store)
    secrets = [issued_by(other, store)[1] for _ in range(2)]
    page = text(client.post(f"/people/{other.id}/deactivate", {"shown": left.id}, follow=True))
    assert "2 keys were revoked. 1 key of theirs goes on working." in page
    assert "2 keys or webhooks that were made in the meantime have ended, too." in page
    assert not User.objects.get(pk=other.pk).is_active
    assert works(left_secret, store) and not any(works(secret, store) for secret in secrets)


@pytest.mark.both_databases
def test_removing_an_admin_of_a_store_shows_the_keys_to_it_that_they_made(
    store: MemoryStore, alice: User, superuser: User
) -> None:
    other = new_store()
    keys_and_roles.set_role(other, alice, Role.ADMIN, **BY)
    second = new_person("Second")
    keys_and_roles.set_role(store, second, Role.ADMIN, **BY)
    mine, secret = issued_by(alice, store)
    elsewhere, _ = issued_by(alice, other)
    client = signed_in(second)
    asks = f"/stores/{store.id}/members/{alice.id}/leaving"
    answer = client.post(f"/stores/{store.id}/members/{alice.id}/role", {"role": "viewer"})
    assert answer.status_code == 303 and answer.headers["Location"] == f"{asks}?role=viewer"
    for address in (asks, f"{asks}?role=viewer"):
        assert alice.role_in(store) is Role.ADMIN
        page = text(client.get(address))
        assert mine.hint in page and elsewhere.hint not in page and f'value="{mine.id}" checked' in page
    client.post(asks, {"shown": [mine.id], "key": [mine.id, elsewhere.id]})
    assert alice.role_in(store) is None and alice.role_in(other) is Role.ADMIN
    assert not works(secret, store)
    assert set(Key.objects.exclude(revoked_at=None).values_list("id", flat=True)) == {mine.id}
    assert [entry["before"] for entry in told(store.id, "set_role")][-1] == "admin"


def test_keys_beyond_an_admins_own_stores_are_shown_and_left_to_the_administrators_of_the_hub(
    store: MemoryStore, alice: User
) -> None:
    second = new_person("Second")
    keys_and_roles.set_role(store, second, Role.ADMIN, **BY)
    wide, secret = issued_by(second, store, new_store())
    client = signed_in(alice)
    address = f"/stores/{store.id}/members/{second.id}/leaving?role=curator"
    page = text(client.get(address))
    assert wide.hint in page and "only an administrator of the hub can revoke it" in page and 'name="key"' not in page
    client.post(address, {"shown": [wide.id], "key": [wide.id]})
    assert second.role_in(store) is Role.CURATOR and works(secret, store)


def test_without_keys_a_role_changes_at_once_and_a_higher_role_asks_nothing(store: MemoryStore, alice: User) -> None:
    second = new_person("Second")
    keys_and_roles.set_role(store, second, Role.CURATOR, **BY)
    issued_by(second, store)
    client = signed_in(alice)
    assert client.post(f"/stores/{store.id}/members/{second.id}/role", {"role": "admin"}).status_code == 303
    assert second.role_in(store) is Role.ADMIN
    third = new_person("Third")
    keys_and_roles.set_role(store, third, Role.ADMIN, **BY)
    client.post(f"/stores/{store.id}/members/{third.id}/role", {"role": "viewer"})
    assert third.role_in(store) is Role.VIEWER
    for wrong in ("owner", "\x00"):
        assert client.post(f"/stores/{store.id}/members/{second.id}/leaving?role={wrong}").status_code == 404


@pytest.mark.parametrize(
    "role", ["nobody", "charlie", "viewer", "curator", "elsewhere", "deactivated", "admin", "root"]
)
def test_only_who_may_remove_somebody_sees_these_pages(
    store: MemoryStore, alice: User, superuser: User, role: str
) -> None:
    second = new_person("Second")
    keys_and_roles.set_role(store, second, Role.VIEWER, **BY)
    key, _ = issued_by(alice, store)
    client = Client() if role == "nobody" else signed_in(_of_role(role, store, alice, superuser))
    of_store, of_hub = f"/stores/{store.id}/members/{alice.id}/leaving?role=viewer", f"/people/{second.id}/deactivate"
    store_says = {"nobody": 302, "deactivated": 302, "charlie": 404, "elsewhere": 404, "admin": 200, "root": 200}
    hub_says = {"nobody": 302, "deactivated": 302, "root": 200}
    assert client.get(of_store).status_code == store_says.get(role, 403)
    assert client.get(of_hub).status_code == hub_says.get(role, 403)
    if store_says.get(role, 403) != 200:
        form = {"shown": [key.id], "key": [key.id]}
        assert client.post(of_store, form).status_code == store_says.get(role, 403)
        assert client.post(of_hub, form).status_code == hub_says.get(role, 403)
        assert alice.role_in(store) is Role.ADMIN and Key.objects.get(pk=key.pk).revoked_at is None
    assert User.objects.get(pk=second.pk).is_active


def _of_role(role: str, store: MemoryStore, alice: User, superuser: User) -> User:
    if role in ("admin", "root"):
        return alice if role == "admin" else superuser
    user = new_person("Somebody")
    if role in ("viewer", "curator"):
        keys_and_roles.set_role(store, user, Role(role), **BY)
    if role == "elsewhere":
        keys_and_roles.set_role(new_store(), user, Role.ADMIN, **BY)
    if role == "deactivated":
        keys_and_roles.set_role(store, user, Role.ADMIN, **BY)
        people.set_active(user, False, **BY)
    return user


def test_the_last_administrator_of_the_hub_stays_with_their_keys(store: MemoryStore, superuser: User) -> None:
    key, secret = issued_by(superuser, store)
    answer = signed_in(superuser).post(f"/people/{superuser.id}/deactivate", {"shown": [key.id], "key": [key.id]})
    assert answer.status_code == 303
    assert User.objects.get(pk=superuser.pk).is_active and works(secret, store)


def test_a_list_of_invitations_names_who_made_them(store: MemoryStore, alice: User, superuser: User) -> None:
    people.invite(email="eve@example.com", store=store, **by(alice))
    assert "created by Alice" in text(signed_in(alice).get(f"/stores/{store.id}/members"))
    later = timezone.now() + timedelta(days=8)
    assert not Invitation.objects.open(later).exists()

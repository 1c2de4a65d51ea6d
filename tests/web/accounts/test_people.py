"""The people page, which only administrators of the hub have."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.models import HUB, AuditEntry, Invitation, MemoryStore, Role, User
from memoryhub.web.accounts.urls import urlpatterns
from memoryhub.web.common import responses
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.write_guard import tampering

HOSTILE = "<img src=x onerror=alert(1)>"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]


def text(response: Any) -> str:
    return str(response.content.decode())


def newest(command: str) -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).filter(command=command).newest()[0]


def link_in(response: Any) -> str:
    found = re.search(r"http://127\.0\.0\.1:8000(/invitations/[\w-]+)", text(response))
    assert found is not None
    return found[1]


def addresses(user: User, invitation: Invitation) -> list[tuple[str, str]]:
    return [
        ("get", "/people"),
        ("post", "/people/invite"),
        ("post", f"/people/invitations/{invitation.id}/withdraw"),
        ("post", f"/people/{user.id}/active"),
        ("post", f"/people/{user.id}/deactivate"),
        ("post", f"/people/{user.id}/password-link"),
        ("post", f"/people/{user.id}/administrator"),
        ("post", f"/people/{user.id}/browsers"),
        ("post", f"/people/{user.id}/proofs/remove"),
    ]


def test_every_address_of_people_is_in_these_tests(bob: User) -> None:
    invitation, _ = people.invite(email="x@example.com", **BY)
    mine = [pattern for pattern in urlpatterns if str(pattern.pattern).startswith("people")]
    assert len(mine) == len(addresses(bob, invitation))


def test_people_are_for_superusers_alone(alice: User, bob: User, charlie: User) -> None:
    invitation, _ = people.invite(email="x@example.com", **(BY | {"at": timezone.now()}))
    before = AuditEntry.objects.count()
    for user in (alice, bob, charlie):
        for method, address in addresses(bob, invitation):
            assert getattr(signed_in(user), method)(address).status_code == 403
    for method, address in addresses(bob, invitation):
        assert getattr(Client(), method)(address).status_code == 302
    assert AuditEntry.objects.count() == before


def test_wrong_methods_are_refused(superuser: User, bob: User) -> None:
    invitation, _ = people.invite(email="x@example.com", **(BY | {"at": timezone.now()}))
    client = signed_in(superuser)
    for method, address in addresses(bob, invitation):
        if not address.endswith(("/deactivate", "/browsers", "/administrator")):  # which have both
            assert getattr(client, "post" if method == "get" else "get")(address).status_code == 405
        assert client.put(address).status_code == 405


@pytest.mark.parametrize(
    "address",
    ["/people/user_x/active", "/people/user_x/password-link", "/people/invitations/x/withdraw", "/people/%00/active"],
)
def test_nobody_of_that_id_is_404(superuser: User, address: str) -> None:
    assert signed_in(superuser).post(address, {"active": "0"}).status_code == 404


def test_the_page_lists_everybody_with_roles_and_last_sign_in(superuser: User, alice: User, charlie: User) -> None:
    with tampering():
        User.objects.filter(pk=charlie.pk).update(last_login=timezone.now() - timedelta(hours=3))
    html = text(signed_in(superuser).get("/people"))
    for shown in ("alice@example.com", "charlie@example.com", "root@example.com", "Support", "3 hours ago", "never"):
        assert shown in html


@pytest.mark.both_databases
def test_the_page_is_found_by_name_or_address(superuser: User, alice: User, charlie: User) -> None:
    client = signed_in(superuser)
    assert "alice@example.com" not in text(client.get("/people?q=CHAR"))
    assert "alice@example.com" in text(client.get("/people?q=alice%40"))
    assert "No person matches" in text(client.get("/people?q=%F0%9F%92%A9" + "x" * 999))
    assert client.get("/people?q=%00").status_code < 500


@pytest.mark.both_databases
def test_a_long_list_goes_on(superuser: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses.page, "__defaults__", (10,))
    for number in range(15):
        new_person(f"P{number:03}")
    html = text(signed_in(superuser).get("/people"))
    assert "p000@example.com" in html and "p014@example.com" not in html
    after = re.search(r"after=([^\"&]+)", html)
    assert after is not None
    assert "p014@example.com" in text(signed_in(superuser).get(f"/people?after={after[1]}"))


def test_a_list_of_people_asks_a_fixed_number_of_questions(superuser: User, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        new_person(f"P{number:03}")
    client = signed_in(superuser)
    with django_assert_max_num_queries(8):
        shown = text(client.get("/people"))
    audit = f'href="/audit?person={superuser.id}" aria-label="Audit of {superuser.email}">Audit</a>'
    assert audit in shown and shown.count(f"?person={superuser.id}") == 1, "a name is no link to something else"


def test_an_invitation_is_shown_once_and_works(superuser: User) -> None:
    client = signed_in(superuser)
    response = client.post("/people/invite", {"email": "Dora@example.com", "form": "f1"})
    link = link_in(response)
    assert "no-store" in response.headers["Cache-Control"]
    assert link not in text(client.get("/people")) and "dora@example.com" in text(client.get("/people"))
    assert newest("invite").actor_id == superuser.id and link.rsplit("/", 1)[1] not in str(newest("invite").input)
    assert Client().get(link).status_code == 200


@pytest.mark.parametrize("email", ["hans@straße.de", "hanſ@example.com", "ｈans@example.com"])
def test_nobody_is_invited_at_an_address_that_would_become_another_one(superuser: User, email: str) -> None:
    response = signed_in(superuser).post("/people/invite", {"email": email, "form": "f1"})
    assert "such as ß, from other letters" in text(response) and not Invitation.objects.exists()


def test_sending_the_form_again_makes_no_other_invitation(superuser: User) -> None:
    client = signed_in(superuser)
    client.post("/people/invite", {"email": "dora@example.com", "form": "f1"})
    again = client.post("/people/invite", {"email": "dora@example.com", "form": "f1"})
    assert again.status_code == 303
    assert Invitation.objects.count() == 1
    assert "cannot be shown again" in text(client.get("/people"))


def test_an_administrator_can_be_invited(superuser: User) -> None:
    client = signed_in(superuser)
    response = client.post("/people/invite", {"email": "dora@example.com", "is_superuser": "on"})
    assert "The link makes the person an administrator of the hub" in text(response)
    joins = {"name": HOSTILE, "password": "a wholly different one", "again": "a wholly different one"}
    Client().post(link_in(response), joins)
    assert User.objects.get(email="dora@example.com").is_superuser
    html = text(client.get("/people"))
    assert HOSTILE not in html and "&lt;img" in html


@pytest.mark.parametrize("email", ["", "no address", HOSTILE, "a\x00@example.com", "x" * 300 + "@example.com"])
def test_a_malformed_invitation_is_none(superuser: User, email: str) -> None:
    response = signed_in(superuser).post("/people/invite", {"email": email})
    assert response.status_code == 200 and "errorlist" in text(response)
    assert HOSTILE not in text(response)
    assert not Invitation.objects.exists()


def test_somebody_with_an_account_is_not_invited_again(superuser: User, charlie: User) -> None:
    response = signed_in(superuser).post("/people/invite", {"email": "CHARLIE@example.com"})
    assert "already" in text(response)
    assert not Invitation.objects.exists()


def test_an_invitation_is_withdrawn(superuser: User) -> None:
    client = signed_in(superuser)
    link = link_in(client.post("/people/invite", {"email": "dora@example.com"}))
    address = f"/people/invitations/{Invitation.objects.get().id}/withdraw"
    assert client.post(address).status_code == 303
    assert Client().get(link).status_code == 410
    assert newest("withdraw_invitation").actor_id == superuser.id
    assert client.post(address).status_code == 404


def test_a_person_is_deactivated_and_let_in_again(superuser: User, charlie: User) -> None:
    client, theirs = signed_in(superuser), signed_in(charlie)
    assert client.post(f"/people/{charlie.id}/deactivate").status_code == 303
    assert theirs.get("/account").status_code == 302
    assert "deactivated and signed out" in text(client.get("/people"))
    assert newest("deactivate_user").actor_id == superuser.id
    client.post(f"/people/{charlie.id}/active", {"active": "1"})
    assert theirs.get("/account").status_code == 302
    assert signed_in(charlie).get("/account").status_code == 200
    assert newest("activate_user").actor_id == superuser.id


def test_deactivating_twice_is_one_act(superuser: User, charlie: User) -> None:
    for _ in range(2):
        signed_in(superuser).post(f"/people/{charlie.id}/deactivate")
    assert AuditEntry.objects.filter(command="deactivate_user").count() == 1


def test_deactivating_ends_the_password_links(superuser: User, charlie: User) -> None:
    client = signed_in(superuser)
    link = link_in(client.post(f"/people/{charlie.id}/password-link"))
    client.post(f"/people/{charlie.id}/deactivate")
    client.post(f"/people/{charlie.id}/active", {"active": "1"})
    assert Client().get(link).status_code == 410


def test_the_last_administrator_stays(superuser: User) -> None:
    client = signed_in(superuser)
    response = client.post(f"/people/{superuser.id}/deactivate")
    assert response.status_code == 303
    assert "last administrator" in text(client.get("/people"))
    assert "Deactivate root@example.com" not in text(client.get("/people"))
    with pytest.raises(keys_and_roles.LastAdministrator):
        people.set_active(superuser, False, **BY)
    superuser.refresh_from_db()
    assert superuser.is_active
    assert not AuditEntry.objects.filter(command="deactivate_user").exists()


def test_one_of_two_administrators_may_go(superuser: User) -> None:
    other = new_person("Other", is_superuser=True)
    response = signed_in(superuser).post(f"/people/{superuser.id}/deactivate")
    assert response.headers["Location"] == "/sign-in"
    with pytest.raises(keys_and_roles.LastAdministrator):
        people.set_active(other, False, **BY)


def test_a_password_link_is_shown_once_and_sets_the_password(superuser: User, charlie: User) -> None:
    client = signed_in(superuser)
    response = client.post(f"/people/{charlie.id}/password-link", {"form": "f2"})
    link = link_in(response)
    assert client.post(f"/people/{charlie.id}/password-link", {"form": "f2"}).status_code == 303
    sets = {"password": "a wholly different one", "again": "a wholly different one"}
    assert Client().post(link, sets).status_code == 303
    assert Client().post(link, sets).status_code == 410
    audit = client.get("/audit").content.decode()
    assert f"created a password link for {charlie.email}" in audit and "created an invitation for" not in audit


def test_a_deactivated_person_gets_no_password_link(superuser: User, charlie: User) -> None:
    people.set_active(charlie, False, **BY)
    assert signed_in(superuser).post(f"/people/{charlie.id}/password-link").status_code == 404


def test_who_runs_the_server_makes_a_password_link_for_an_administrator_who_has_lost_it(
    superuser: User,
) -> None:
    said = StringIO()
    call_command("password_link", superuser.email.upper(), stdout=said)
    link = re.search(r"  http://127\.0\.0\.1:8000(/invitations/[\w-]+)$", said.getvalue(), re.MULTILINE)
    assert link and f"{superuser.email} sets a new password with this link" in said.getvalue()
    assert "if the hub has another address" in said.getvalue()
    sets = {"password": "a wholly different one", "again": "a wholly different one"}
    assert Client().post(link[1], sets).status_code == 303
    superuser.refresh_from_db()
    assert superuser.check_password("a wholly different one")
    audit = signed_in(superuser).get("/audit").content.decode()
    assert f"created a password link for {superuser.email}" in audit and "password_link" in audit


def test_the_command_for_a_password_link_refuses_in_a_sentence(superuser: User, charlie: User, settings: Any) -> None:
    people.set_active(charlie, False, **BY)
    settings.MEMORYHUB_OIDC_ONLY, settings.MEMORYHUB_OIDC_ISSUER = True, "https://id.example"
    dora = new_person("Dora")
    for email, why in (
        ("nobody@example.com", "Nobody has an account with the address nobody@example.com."),
        (charlie.email, "is deactivated"),
        (dora.email, "signs in at the identity provider"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("password_link", email)
    assert not Invitation.objects.exists()


def test_an_invitation_to_a_store_is_among_the_open_ones(superuser: User, store: MemoryStore) -> None:
    people.invite(email="dora@example.com", store=store, role=Role.CURATOR, **(BY | {"at": timezone.now()}))
    html = text(signed_in(superuser).get("/people"))
    assert "dora@example.com" in html and "Curator" in html
    invitation = Invitation.objects.get()
    signed_in(superuser).post(f"/people/invitations/{invitation.id}/withdraw")
    assert AuditEntry.objects.of_chain(store.id).newest()[0].command == "withdraw_invitation"

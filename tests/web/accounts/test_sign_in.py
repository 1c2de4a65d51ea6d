"""Coming in and going out, and what is a person's own."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import user_logged_in
from django.contrib.auth.models import update_last_login
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import people, tries
from memoryhub.models import HUB, AuditEntry, Door, Invitation, MemoryStore, Role, User
from memoryhub.pure import proxies
from tests.support.fixtures import BY, PASSWORD, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import arranging

OTHER = "a wholly different pass phrase"
HOSTILE = "<script>alert(1)</script>"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("audit_stays_whole")]


def now_by() -> dict[str, Any]:
    return BY | {"at": timezone.now()}


def sign_in(client: Client, email: str, password: str = PASSWORD, **more: str) -> Any:
    return client.post("/sign-in", {"email": email, "password": password, **more})


def newest(command: str) -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).filter(command=command).newest()[0]


def test_only_the_action_writes_when_somebody_signed_in_last() -> None:
    assert update_last_login not in user_logged_in._live_receivers(User)[0]


def first_link() -> str:
    token = people.first_administrator_link(at=timezone.now())
    assert token is not None
    return reverse("invitation", args=[token])


JOINS = {"email": "Ada@Example.com", "name": "Ada", "password": OTHER, "again": OTHER}


def test_the_first_administrator_comes_in_by_the_link_and_is_signed_in() -> None:
    client, link = Client(), first_link()
    assert "administrator of this hub" in client.get(link).content.decode()
    response = client.post(link, JOINS)
    assert response.status_code == 303
    ada = User.objects.get(email="ada@example.com")
    assert ada.is_superuser and ada.last_login is not None
    assert client.get("/account").status_code == 200
    assert newest("accept_invitation").actor_id == newest("sign_in").actor_id == ada.id


def test_a_link_works_once() -> None:
    link = first_link()
    Client().post(link, JOINS)
    again = Client().post(link, JOINS | {"email": "eve@example.com"})
    assert again.status_code == 410
    assert "no longer works" in again.content.decode()
    assert User.objects.count() == 1


def test_looking_at_a_link_does_not_use_it_up() -> None:
    link = first_link()
    for _ in range(3):
        assert Client().get(link).status_code == 200
    assert Invitation.objects.get().used_at is None


def test_an_expired_link_says_so() -> None:
    link = first_link()
    with arranging():
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = Client().get(link)
    assert response.status_code == 410
    assert "older than seven days" in response.content.decode()


@pytest.mark.parametrize("token", ["x", "x" * 5000, "--", "0"])
def test_a_link_that_never_was_is_spent(token: str) -> None:
    assert Client().get(f"/invitations/{token}").status_code == 410


def test_a_fresh_first_link_ends_the_earlier_one() -> None:
    earlier, later = first_link(), first_link()
    assert Client().get(earlier).status_code == 410
    assert Client().get(later).status_code == 200


@in_turn(
    ("field", "value"),
    [
        ("email", "no address"), ("email", ""), ("email", "a@b.example" + "x" * 300), ("name", ""), ("name", "x" * 101),
        ("name", "Ada\x00"), ("name", "Ada\nEve"), ("name", "Ada \u202eevil"), ("password", "short"),
        ("password", "1234567890123"), ("password", "x" * 5000), ("again", "another one"), ("again", ""),
    ],
)  # fmt: skip
def test_malformed_joining_makes_nobody_and_keeps_the_link(field: str, value: str) -> None:
    link = first_link()
    response = Client().post(link, JOINS | {field: value})
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert not User.objects.exists()
    assert Client().get(link).status_code == 200


def test_a_password_like_the_own_address_is_refused() -> None:
    like = {"email": "adalovelace@example.com", "password": "adalovelace@example", "again": "adalovelace@example"}
    assert "too similar" in Client().post(first_link(), JOINS | like).content.decode()


def test_a_hostile_name_is_shown_and_not_run(store: MemoryStore) -> None:
    client = Client()
    client.post(first_link(), JOINS | {"name": HOSTILE})
    shown = client.get("/people").content.decode()
    assert HOSTILE not in shown and "&lt;script&gt;" in shown


@pytest.mark.both_databases
def test_an_invited_person_joins_under_the_address_of_the_invitation(store: MemoryStore) -> None:
    _, token = people.invite(email="dora@example.com", store=store, role=Role.CURATOR, **now_by())
    page = Client().get(f"/invitations/{token}").content.decode()
    assert "dora@example.com" in page and "Support" in page
    client = Client()
    client.post(f"/invitations/{token}", JOINS | {"email": "eve@example.com"})
    dora = User.objects.get()
    assert (dora.email, dora.role_in(store), dora.is_superuser) == ("dora@example.com", Role.CURATOR, False)
    commands = AuditEntry.objects.of_chain(store.id).oldest().values_list("command", flat=True)
    assert list(commands) == ["create_store", "invite", "set_role"]


def test_an_invitation_whose_address_got_an_account_meanwhile_says_so(charlie: User) -> None:
    with arranging():
        invitation, token = people.invite(email="dora@example.com", **now_by())
        Invitation.objects.filter(pk=invitation.pk).update(email=charlie.email)
    response = Client().post(f"/invitations/{token}", JOINS)
    assert "already" in response.content.decode()
    assert User.objects.count() == 1


def test_a_password_link_sets_the_password_and_ends_the_others(charlie: User) -> None:
    _, first = people.invite(user=charlie, **now_by())
    _, second = people.invite(user=charlie, **now_by())
    response = Client().post(f"/invitations/{first}", {"password": OTHER, "again": OTHER})
    assert response.status_code == 303
    assert sign_in(Client(), charlie.email).status_code == 200
    assert sign_in(Client(), charlie.email, OTHER).status_code == 303
    assert Client().get(f"/invitations/{second}").status_code == 410


def test_a_password_link_of_a_deactivated_person_does_not_work(charlie: User) -> None:
    _, token = people.invite(user=charlie, **now_by())
    with arranging():
        User.objects.update(is_active=False)
    assert Client().get(f"/invitations/{token}").status_code == 410
    assert Client().post(f"/invitations/{token}", {"password": OTHER, "again": OTHER}).status_code == 410


def test_signing_in_is_audited_and_remembered(charlie: User) -> None:
    client = Client()
    response = sign_in(client, " CHARLIE@example.com")
    assert response.status_code == 303 and response.headers["Location"] == "/"
    charlie.refresh_from_db()
    assert charlie.last_login == newest("sign_in").at
    assert client.get("/account").status_code == 200


def test_the_page_of_sign_in_leads_somebody_signed_in_on(charlie: User) -> None:
    response = signed_in(charlie).get("/sign-in?next=/account")
    assert response.headers["Location"] == "/account"


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("charlie@example.com", "wrong"), ("nobody@example.com", PASSWORD), ("charlie@example.com", ""),
        ("charlie@example.com\x00", PASSWORD), ("no address", PASSWORD), ("", ""), ("charlie@example.com", "x" * 5000),
        ("charlie@example.com", "\x00"), (HOSTILE, HOSTILE),
    ],
)  # fmt: skip
def test_nobody_signs_in_with_something_else(charlie: User, email: str, password: str) -> None:
    client = Client()
    response = sign_in(client, email, password)
    assert response.status_code == 200
    assert HOSTILE not in response.content.decode()
    assert client.get("/account").status_code == 302


def test_a_stranger_and_a_wrong_password_are_told_the_same(charlie: User) -> None:
    def told(email: str) -> list[str]:
        return re.findall(r"<p>(.*?)</p>", sign_in(Client(), email, "wrong").content.decode())

    assert told("charlie@example.com") == told("nobody@example.com") != []


def test_too_many_tries_are_stopped_with_a_sentence(charlie: User) -> None:
    for _ in range(tries.ONE.free):
        sign_in(Client(), charlie.email, "wrong")
    response = sign_in(Client(), charlie.email)
    assert response.status_code == 429
    assert re.search(r"Wait \d seconds?, then try again", response.content.decode())
    assert sign_in(Client(), "other@example.com", "wrong").status_code == 200


@pytest.mark.parametrize("address", ["/account", "/agents?q=x", "/stores/new#part"])
def test_sign_in_goes_on_to_where_the_person_wanted(charlie: User, address: str) -> None:
    assert sign_in(Client(), charlie.email, next=address).headers["Location"] == address


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
    ],
)
def test_sign_in_goes_on_to_no_other_host(charlie: User, address: str) -> None:
    response = sign_in(Client(), charlie.email, next=address)
    assert response.headers.get("Location", "/") == "/"
    assert signed_in(charlie).get("/sign-in", {"next": address}).headers["Location"] == "/"


def test_a_deactivated_person_is_out_at_once(charlie: User, superuser: User) -> None:
    client = signed_in(charlie)
    people.set_active(charlie, False, **BY)
    assert client.get("/account").status_code == 302
    assert sign_in(Client(), charlie.email).status_code == 200


def test_signing_out_ends_the_session_and_is_audited(charlie: User) -> None:
    client = signed_in(charlie)
    response = client.post("/sign-out")
    assert response.headers["Location"] == "/sign-in"
    assert client.get("/account").status_code == 302
    assert newest("sign_out").actor_id == charlie.id
    assert client.post("/sign-out").status_code == 303


@pytest.mark.parametrize("address", ["/sign-out", "/theme"])
def test_what_changes_something_is_no_get(charlie: User, address: str) -> None:
    assert signed_in(charlie).get(address).status_code == 405


@pytest.mark.parametrize("address", ["/sign-in", "/account", "/account/password", "/invitations/x"])
def test_other_methods_are_refused(charlie: User, address: str) -> None:
    assert signed_in(charlie).delete(address).status_code == 405


@pytest.mark.parametrize("address", ["/account", "/people", "/agents", "/agents/new"])
def test_strangers_are_sent_to_sign_in_and_come_back(address: str) -> None:
    assert Client().get(address).headers["Location"] == f"/sign-in?next={address}"


def test_a_form_without_its_token_is_refused(charlie: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert sign_in(client, charlie.email).status_code == 403


@pytest.mark.parametrize(
    ("address", "forwarded", "trusted", "nearest"),
    [
        ("10.0.0.1", [], [], "10.0.0.1"),
        ("10.0.0.1", ["1.2.3.4"], [], "10.0.0.1"),
        ("10.0.0.1", ["6.6.6.6", "1.2.3.4"], ["10.0.0.1"], "1.2.3.4"),
        ("10.0.0.1", ["1.2.3.4", "10.0.0.2"], ["10.0.0.1", "10.0.0.2"], "1.2.3.4"),
        ("10.0.0.1", [], ["10.0.0.1"], "10.0.0.1"),
        ("", ["x" * 500], [""], ""),
        ("203.0.113.9", ["x" * 500], ["203.0.113.9"], "x" * 64),
        ("10.7.0.1", ["6.6.6.6", "1.2.3.4", "10.0.200.3"], ["10.0.0.0/8"], "1.2.3.4"),
        ("2001:db8::9", ["1.2.3.4"], ["2001:db8::/32"], "1.2.3.4"),
        ("11.0.0.1", ["1.2.3.4"], ["10.0.0.0/8"], "11.0.0.1"),
    ],
)
def test_an_address_is_believed_from_trusted_proxies_alone(
    address: str, forwarded: list[str], trusted: list[str], nearest: str
) -> None:
    assert proxies.nearest_stranger(address, forwarded, trusted) == nearest


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("1.2.3.4:5678", "1.2.3.4"), ("[2001:db8::1]:99", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"), ("1.2.3.4, 10.0.0.2:443", "1.2.3.4"), ("unknown:5", "unknown:5"),
    ],
)  # fmt: skip
def test_the_port_of_a_connection_is_no_part_of_its_address(forwarded: str, address: str) -> None:
    meta = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": forwarded}
    assert proxies.client_of(meta, ["10.0.0.0/8"]) == address


def test_an_outdated_hash_is_renewed_at_sign_in_and_the_session_lasts(charlie: User, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    client = Client()
    assert sign_in(client, charlie.email).status_code == 303
    charlie.refresh_from_db()
    assert charlie.password.startswith("pbkdf2_sha256$")
    assert client.get("/account").status_code == 200


def test_the_sign_in_page_never_stays_in_a_cache() -> None:
    assert "no-store" in Client().get("/sign-in").headers["Cache-Control"]


def test_roles_from_an_invitation_are_told_by_the_door_web(store: MemoryStore) -> None:
    _, token = people.invite(email="dora@example.com", store=store, role=Role.ADMIN, **now_by())
    Client().post(f"/invitations/{token}", JOINS)
    assert AuditEntry.objects.of_chain(store.id).newest()[0].door == Door.WEB
    assert User.objects.get().role_in(store) == Role.ADMIN


def test_a_session_of_before_a_deactivation_is_none_again_when_the_person_is_let_in_again(
    bob: User, superuser: User
) -> None:
    browser, other = signed_in(bob), signed_in(superuser)
    for active in (False, True):
        people.set_active(bob, active, **BY)
    assert browser.get("/account").status_code == 302
    assert other.get("/account").status_code == 200

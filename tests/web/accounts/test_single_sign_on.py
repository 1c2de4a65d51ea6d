"""Single sign-on with a real identity provider: who comes in, as whom, with which roles, and who does not."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import authenticators, people, resets
from memoryhub.actions.accounts.keys_and_roles import set_role
from memoryhub.actions.core.audit import Actor
from memoryhub.models import (
    HUB,
    AuditEntry,
    BrowserSession,
    Identity,
    Invitation,
    MemoryStore,
    Role,
    TryCounter,
    User,
)
from memoryhub.pure import totp
from memoryhub.pure.group_roles import BadMapping, grants_of, parsed
from memoryhub.web.accounts import provider
from tests.support.fixtures import BY, PASSWORD, signed_in
from tests.support.write_guard import arranging
from tests.web.accounts.conftest import DORA, Provider
from tests.web.accounts.identity_provider import CLIENT
from tests.web.common.test_fresh import INVITES, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def moment() -> Iterator[Any]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield traveller


def begun(client: Client, query: str = "") -> str:
    response = client.get(f"/sign-in/provider{query}")
    assert response.status_code == 302
    return str(response.headers["Location"])


def come(idp: Provider, client: Client | None = None, query: str = "") -> tuple[Client, Any]:
    client = client or Client()
    return client, client.get(idp.back_from(begun(client, query)))


def is_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def newest() -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).newest()[0]


@pytest.mark.both_databases
def test_a_person_comes_in_by_the_provider_and_gets_the_roles_of_the_groups(
    idp: Provider, store: MemoryStore, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of(f"support=curator@{store.id}; cn=all,ou=x=viewer@{store.id}")
    assert "Sign in with Acme" in Client().get("/sign-in").content.decode()
    client, response = come(idp, query="?next=/stores")
    assert (response.status_code, response.headers["Location"]) == (303, "/stores") and is_in(client)
    dora = User.objects.get()
    assert (dora.email, dora.name, dora.is_superuser) == ("dora@example.com", "Dora", False)
    assert dora.role_in(store) == Role.CURATOR and not dora.has_usable_password()
    told = [entry.command for entry in AuditEntry.objects.of_chain(HUB).oldest()]
    assert told == ["create_user", "link_identity", "sign_in"]
    assert "Change the password" not in client.get("/account").content.decode(), "there is none to change"
    row = BrowserSession.objects.get()
    assert "1001" not in row.grant and len(row.grant) > 100
    assert is_in(come(idp)[0]) and User.objects.count() == 1 and Identity.objects.count() == 1
    assert Client().post("/sign-in", {"email": dora.email, "password": ""}).status_code == 200


@pytest.mark.both_databases
def test_a_removed_group_is_a_removed_role_within_a_minute(
    idp: Provider, store: MemoryStore, superuser: User, settings: Any, moment: Any
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of(f"support=viewer@{store.id};ops=admin@{store.id};ops=administrator")
    idp.says(person=DORA | {"groups": ["support", "ops"]}, in_userinfo=True)
    client, _ = come(idp)
    dora = User.objects.get(email="dora@example.com")
    assert dora.is_superuser and client.get("/people").status_code == 200
    people.invite(email="eve@example.com", actor=Actor.person(dora), door=BY["door"], at=timezone.now())
    count = idp.says(person=DORA)
    assert client.get("/people").status_code == 200 and idp.says() == count, "not asked within the minute"
    moment.shift(timedelta(seconds=61))
    assert client.get("/people").status_code == 403
    dora.refresh_from_db()
    assert not dora.is_superuser and dora.role_in(store) == Role.VIEWER
    assert not Invitation.objects.unused(timezone.now()).exists(), "what an administrator granted is withdrawn"
    count = idp.says(person=DORA | {"groups": []})
    for _ in range(3):
        assert client.get(f"/stores/{store.id}/").status_code == 200
    moment.shift(timedelta(seconds=61))
    assert client.get(f"/stores/{store.id}/").status_code == 404 and is_in(client)
    assert dora.role_in(store) is None


@pytest.mark.parametrize("elsewhere", [{"_claim_names": {"groups": "src1"}}, {"hasgroups": True}])
def test_who_has_more_groups_than_the_provider_names_keeps_the_roles(
    idp: Provider, store: MemoryStore, settings: Any, moment: Any, elsewhere: dict[str, Any]
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of(f"support=curator@{store.id}")
    unnamed = {name: value for name, value in DORA.items() if name != "groups"} | elsewhere
    idp.says(person=unnamed)
    assert come(idp)[1].status_code == 403 and not User.objects.exists(), "no account without a known group"
    idp.says(person=DORA)
    come(idp)
    dora = User.objects.get()
    idp.says(person=unnamed)
    client, _ = come(idp)
    assert is_in(client) and dora.role_in(store) == Role.CURATOR
    assert (newest().command, json.loads(newest().input or "")["unnamed"]) == ("sign_in", "groups")
    moment.shift(timedelta(seconds=61))
    assert is_in(client) and dora.role_in(store) == Role.CURATOR
    idp.says(person=DORA | {"groups": []})
    moment.shift(timedelta(seconds=61))
    assert is_in(client) and dora.role_in(store) is None


def test_who_is_no_longer_known_there_is_signed_out_and_who_is_not_active_is_deactivated(
    idp: Provider, superuser: User, moment: Any
) -> None:
    first, _ = come(idp)
    idp.says(is_ended=True)
    moment.shift(timedelta(seconds=61))
    assert not is_in(first) and newest().command == "end_browsers"
    idp.says(is_ended=False)
    second, third = come(idp)[0], come(idp)[0]
    idp.says(person=DORA | {"active": False})
    moment.shift(timedelta(seconds=61))
    assert not is_in(second) and newest().command == "deactivate_user" and not is_in(third)
    client, response = come(idp)
    assert response.status_code == 403 and not is_in(client) and not newest().ok


def test_while_the_provider_is_down_its_last_answer_counts_for_ten_minutes(idp: Provider, moment: Any) -> None:
    client, _ = come(idp)
    idp.says(is_down=True)
    moment.shift(timedelta(minutes=9))
    assert is_in(client)
    moment.shift(timedelta(minutes=2))
    assert not is_in(client)
    provider.forget()
    assert Client().get("/sign-in/provider").status_code == 502


def test_keys_may_change_at_any_time(idp: Provider) -> None:
    come(idp)
    for kind in ("RS256", "ES256"):
        idp.says(rotate=kind)
        assert is_in(come(idp)[0])


WRONG = {
    "issuer": {"claims": {"iss": "https://evil.example.com"}},
    "issuer of the answer": {"iss": "https://evil.example.com"},
    "audience": {"claims": {"aud": "another-program"}},
    "audiences": {"claims": {"aud": [CLIENT, "another-program"]}},
    "authorized party": {"claims": {"azp": "another-program"}},
    "nonce": {"claims": {"nonce": "of another sign-in"}},
    "expired": {"claims": {"exp": 1_700_000_000}},
    "not yet": {"claims": {"iat": 4_000_000_000}},
    "unsigned": {"algorithm": "none"},
    "signed with the secret": {"algorithm": "HS256"},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_what_must_not_be_believed_is_not(idp: Provider, wrong: dict[str, Any]) -> None:
    idp.says(wrong=wrong)
    client, response = come(idp)
    assert response.status_code == 403 and not is_in(client) and not User.objects.exists()


@pytest.mark.both_databases
def test_a_configuration_of_another_issuer_and_a_userinfo_of_another_person_are_refused(idp: Provider) -> None:
    idp.says(wrong={"configured": "https://evil.example.com"})
    assert Client().get("/sign-in/provider").status_code == 403
    idp.says(wrong={"userinfo": {"sub": "1002"}}, in_userinfo=True)
    assert come(idp)[1].status_code == 403 and not User.objects.exists()


def test_a_verified_address_of_the_userinfo_verifies_no_other_one_of_the_token(idp: Provider, bob: User) -> None:
    person = {name: value for name, value in DORA.items() if name != "email_verified"}
    wrong = {"claims": {"email": bob.email}, "userinfo": {"email_verified": True}}
    idp.says(person=person, wrong=wrong, in_userinfo=True)
    assert come(idp)[1].status_code == 403 and not bob.identities.exists()
    idp.says(person=person, wrong=wrong | {"claims": {"email": DORA["email"]}}, in_userinfo=True)
    assert come(idp)[1].status_code == 303


def test_an_answer_works_once_and_only_in_the_browser_that_asked(idp: Provider) -> None:
    client = Client()
    address = idp.back_from(begun(client))
    other = Client()
    assert other.get(address).status_code == 403 and not is_in(other)
    begun(other)
    assert other.get(address).status_code == 403 and not is_in(other), "a sign-in of another state"
    cookie = client.cookies["provider"].value
    before = client.cookies.get("sessionid")
    assert client.get(address).status_code == 303 and is_in(client) and client.cookies["sessionid"] != before
    assert not client.cookies["provider"].value
    replayed = Client()
    replayed.cookies["provider"] = cookie
    assert replayed.get(address).status_code == 403 and not is_in(replayed), "the provider redeems a code once"


def test_a_state_is_of_this_hub_and_ends(idp: Provider, moment: Any) -> None:
    client = Client()
    address = idp.back_from(begun(client))
    moment.shift(timedelta(minutes=11))
    assert client.get(address).status_code == 403
    client.cookies["provider"] = "forged"
    assert client.get("/sign-in/provider/back?state=&code=x").status_code == 403


@pytest.mark.parametrize("to", ["https://evil.example.com/", "//evil.example.com", "javascript:alert(1)"])
def test_nobody_is_led_elsewhere_afterwards(idp: Provider, to: str) -> None:
    _, response = come(idp, query=f"?next={to}")
    assert response.headers["Location"] == "/"


@pytest.mark.both_databases
def test_an_address_links_only_what_it_may(idp: Provider, charlie: User, superuser: User) -> None:
    idp.says(person=DORA | {"email": "charlie@example.com", "email_verified": False})
    assert come(idp)[1].status_code == 403, "an address that the provider has not verified"
    idp.says(person=DORA | {"email": "root@example.com"})
    assert come(idp)[1].status_code == 403, "an administrator is not found by an address"
    assert not Identity.objects.exists()
    idp.says(person=DORA | {"email": "charlie@example.com"})
    client, _ = come(idp)
    assert Identity.objects.get().user == charlie and is_in(client)
    idp.says(person=DORA | {"sub": "1002", "email": "charlie@example.com"})
    assert come(idp)[1].status_code == 403, "an account that is linked already"
    idp.says(person=DORA | {"email": "new@example.com"})
    assert is_in(come(idp)[0]) and User.objects.count() == 2, "the subject counts, not the address"


@pytest.mark.both_databases
def test_whoever_made_an_account_for_an_address_does_not_get_what_its_owner_gets(
    idp: Provider, charlie: User, superuser: User, settings: Any, moment: Any
) -> None:
    maker, secret = signed_in(charlie), totp.new_secret()
    code = totp.code_of(secret, int(timezone.now().timestamp()) // totp.PERIOD)
    authenticators.add_app(charlie, secret, code, at=timezone.now())
    authenticators.add_passkey(charlie, "Phone", "an-id", "a-key", 0, at=timezone.now())
    _, token = people.invite(user=charlie, **(BY | {"at": timezone.now()}))
    settings.MEMORYHUB_OIDC_ROLES = grants_of("support=administrator")
    idp.says(person=DORA | {"email": charlie.email})
    owner, _ = come(idp)
    assert owner.get("/people").status_code == 200 and not is_in(maker)
    charlie.refresh_from_db()
    assert charlie.is_superuser and not charlie.has_usable_password() and not charlie.authenticators.exists()
    assert people.find_invitation(token, timezone.now()) is None
    come(idp)
    assert is_in(owner), "only the first sign-in ends what was before"


def test_without_a_group_of_the_mapping_nobody_new_comes_in(idp: Provider, store: MemoryStore, settings: Any) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of(f"others=viewer@{store.id}")
    response = come(idp)[1]
    assert response.status_code == 403 and "may not sign in to this hub" in response.content.decode()
    assert not User.objects.exists() and not newest().ok


def test_a_role_in_a_store_outside_the_mapping_is_left_alone(
    idp: Provider, store: MemoryStore, charlie: User, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of("memstore=viewer@memstore_" + "0" * 26)
    set_role(store, charlie, Role.ADMIN, **BY)
    idp.says(person=DORA | {"email": "charlie@example.com"})
    come(idp)
    assert charlie.role_in(store) == Role.ADMIN


def test_single_sign_on_only_leaves_the_administrators_their_password(
    idp: Provider, charlie: User, superuser: User, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ONLY = True
    page = Client().get("/sign-in").content.decode()
    assert 'name="password"' not in page and "Sign in with Acme" in page
    assert 'name="password"' in Client().get("/sign-in?local=1").content.decode()
    refused = Client().post("/sign-in", {"email": charlie.email, "password": PASSWORD})
    wrong = Client().post("/sign-in", {"email": "nobody@example.com", "password": PASSWORD})
    assert refused.status_code == wrong.status_code == 200
    assert "do not match an active account" in refused.content.decode()
    local = Client()
    local.post("/sign-in", {"email": superuser.email, "password": PASSWORD})
    assert is_in(local)
    assert local.post(f"/people/{charlie.id}/password-link").status_code == 403
    offered = local.get("/people").content.decode()
    assert f"{superuser.id}/password-link" in offered and f"{charlie.id}/password-link" not in offered
    assert resets.user_of(charlie.id, resets.token_for(charlie, timezone.now()), timezone.now()) is None
    _, token = people.invite(email="eve@example.com", **(BY | {"at": timezone.now()}))
    assert Client().get(f"/invitations/{token}").headers["Location"].startswith("/sign-in?next=")
    with pytest.raises(people.InvitationSpent):
        people.accept(token, email="", name="Eve", password=PASSWORD, at=timezone.now())


@pytest.mark.both_databases
def test_who_came_by_the_provider_proves_there_again_who_they_are(
    idp: Provider, superuser: User, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of("support=administrator")
    client, _ = come(idp)
    with arranging():
        BrowserSession.objects.update(confirmed_at=timezone.now() - timedelta(hours=1))
    page = client.post("/people/invite", INVITES | {"email": "eve@example.com"})
    kept = asked(page)
    assert "/sign-in/provider?again=1" in page.content.decode() and 'name="proof"' not in page.content.decode()
    query = parse_qs(urlsplit(begun(client, "?again=1")).query)
    assert (query["prompt"], query["max_age"]) == (["login"], ["0"])
    idp.says(person=DORA | {"sub": "1002"})
    assert come(idp, client, "?again=1")[1].status_code == 403
    idp.says(person=DORA, wrong={"claims": {"auth_time": 1_700_000_000}})
    assert come(idp, client, "?again=1")[1].status_code == 403, "an old sign-in proves nothing"
    asked(client.post("/people/invite", kept))
    idp.says(wrong={})
    assert "You have proved that it is you" in come(idp, client, "?again=1")[1].content.decode()
    done = client.post("/people/invite", kept)
    assert done.status_code == 200 and "/invitations/" in done.content.decode(), done.content.decode()[-3000:]
    assert Invitation.objects.get().is_superuser


@pytest.mark.both_databases
def test_who_is_still_signed_in_at_the_provider_has_proved_nothing_new(
    idp: Provider, superuser: User, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of("support=administrator")
    idp.says(wrong={"claims": {"auth_time": int(timezone.now().timestamp()) - 3600}})
    client, _ = come(idp)
    asked(client.post("/people/invite", INVITES | {"email": "eve@example.com"}))
    assert client.post("/sign-out").status_code == 303 and is_in(come(idp, client)[0])
    asked(client.post("/people/invite", INVITES | {"email": "eve@example.com"}))
    idp.says(wrong={"claims": {"auth_time": 10**17}})
    client, _ = come(idp)
    assert BrowserSession.objects.newest()[0].confirmed_at <= timezone.now()
    client.post("/people/invite", INVITES | {"email": "eve@example.com"})
    assert Invitation.objects.get().is_superuser


def test_a_provider_that_does_not_say_when_is_believed_where_nothing_else_can_be_asked(
    idp: Provider, superuser: User, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ROLES = grants_of("support=administrator")
    idp.says(wrong={"claims": {"auth_time": None}})
    client, _ = come(idp)
    with arranging():
        BrowserSession.objects.update(confirmed_at=timezone.now() - timedelta(hours=1))
    kept = asked(client.post("/people/invite", INVITES | {"email": "eve@example.com"}))
    assert "You have proved that it is you" in come(idp, client, "?again=1")[1].content.decode()
    assert set(TryCounter.objects.values_list("tries", flat=True)) == {0}, "what succeeds is no try"
    assert "/invitations/" in client.post("/people/invite", kept).content.decode()
    dora = User.objects.get(email="dora@example.com")
    dora.set_password(PASSWORD)
    with arranging():
        dora.save()
    client, _ = come(idp)
    page = client.post("/people/invite", INVITES | {"email": "carl@example.com"})
    answer = come(idp, client, "?again=1")[1]
    assert asked(page) and answer.status_code == 403 and "does not say when you signed in" in answer.content.decode()
    assert Invitation.objects.count() == 1


def test_without_a_provider_there_is_no_such_page(charlie: User) -> None:
    for path in ("/sign-in/provider", "/sign-in/provider/back"):
        assert Client().get(path).status_code == signed_in(charlie).get(path).status_code == 404


@pytest.mark.parametrize("text", ["x", "x=", "=admin@memstore_1", "x=owner@memstore_" + "0" * 26, "x=administrator@y"])
def test_a_wrong_mapping_is_named(text: str) -> None:
    with pytest.raises(BadMapping):
        parsed(text)
    assert grants_of(text) == ()

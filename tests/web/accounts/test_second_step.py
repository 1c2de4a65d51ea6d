"""The code of an app after the password: adding it, using it once, recovery codes, and losing it."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import authenticators, people, resets, tries
from memoryhub.actions.verification import verify
from memoryhub.models import HUB, AuditEntry, Authenticator, BrowserSession, User
from memoryhub.pure import totp
from tests.support.fixtures import BY, PASSWORD, signed_in
from tests.support.write_guard import arranging
from tests.web.common.test_fresh import stale

pytestmark = pytest.mark.django_db

NEW = "another wholly new pass phrase"


@pytest.fixture
def moment() -> Iterator[Any]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield traveller


@pytest.fixture
def app(charlie: User, moment: Any) -> tuple[str, list[str]]:
    """The secret of Charlie's app, added on its page, and the recovery codes."""
    client = signed_in(charlie)
    page = client.get("/account/proofs/app").content.decode()
    assert 'src="data:image/svg+xml' in page
    secret = re.findall(r"<code[^>]*>([A-Z2-7]{32})</code>", page)[0]
    step = re.findall(r'name="step" value="([^"]+)"', page)[0]
    wrong = client.post("/account/proofs/app", {"step": step, "code": "000000"}).content.decode()
    assert secret in wrong and "not right" in wrong and not Authenticator.objects.exists()
    done = client.post("/account/proofs/app", {"step": step, "code": now_code(secret)}).content.decode()
    return secret, re.findall(r"\b[0-9a-f]{5}-[0-9a-f]{5}\b", done)


def now_code(secret: str) -> str:
    return totp.code_of(secret, int(timezone.now().timestamp()) // 30)


def first_step(user: User, password: str = PASSWORD, **more: str) -> tuple[Client, Any]:
    client = Client()
    return client, client.post("/sign-in", {"email": user.email, "password": password, **more})


def second_step(client: Client, page: Any, code: str) -> Any:
    step = re.findall(r'name="step" value="([^"]+)"', page.content.decode())[0]
    return client.post("/sign-in/code", {"step": step, "code": code})


def is_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def newest() -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).newest()[0]


def test_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, the last six digits."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    for seconds, code in ((59, "287082"), (1111111109, "081804"), (2000000000, "279037")):
        assert totp.code_of(secret, seconds // 30) == code
    at = datetime.fromtimestamp(59, UTC)
    assert totp.step_of(secret, "287082", at, after=0) == 1 and totp.step_of(secret, "287082", at, after=1) is None


@pytest.mark.both_databases
def test_a_password_alone_no_longer_signs_in(charlie: User, app: tuple[str, list[str]], moment: Any) -> None:
    secret, codes = app
    assert len(codes) == authenticators.CODES and newest().command == "add_app"
    stored = " ".join(Authenticator.objects.values_list("secret", flat=True))
    assert secret not in stored and codes[0] not in stored
    client, page = first_step(charlie, next="/stores")
    assert "authenticator app" in page.content.decode() and not is_in(client)
    assert newest().command == "add_app", "the sign-in is not complete"
    assert "not right" in second_step(client, page, now_code(secret)).content.decode(), "the code was used already"
    assert not newest().ok and newest().command == "sign_in"
    moment.shift(timedelta(seconds=30))
    response = second_step(client, page, now_code(secret))
    assert response.headers["Location"] == "/stores" and is_in(client) and newest().ok
    other, page = first_step(charlie)
    assert second_step(other, page, now_code(secret)).status_code == 200 and not is_in(other), "each code works once"
    assert verify.verify(HUB)[1] is None


@pytest.mark.both_databases
def test_a_recovery_code_works_once(charlie: User, app: tuple[str, list[str]]) -> None:
    for expected in (True, False):
        client, page = first_step(charlie)
        second_step(client, page, f" {app[1][3].upper()} ")
        assert is_in(client) is expected
    assert charlie.authenticators.count() == authenticators.CODES
    assert verify.verify(HUB)[1] is None


def test_codes_cannot_be_guessed_and_a_first_step_ends(charlie: User, app: tuple[str, list[str]], moment: Any) -> None:
    client, page = first_step(charlie)
    for _ in range(tries.ONE.free):
        assert second_step(client, page, "123456").status_code == 200
    assert second_step(client, page, app[1][0]).status_code == 429 and not is_in(client)
    moment.shift(timedelta(minutes=6))
    assert second_step(client, page, app[1][0]).headers["Location"] == "/sign-in" and not is_in(client)


def test_a_first_step_is_of_one_person_and_one_password(charlie: User, bob: User, app: Any) -> None:
    client, page = first_step(charlie)
    people.change_password(charlie, PASSWORD, NEW, at=timezone.now())
    assert second_step(client, page, app[1][0]).headers["Location"] == "/sign-in"
    for step in ("", "forged", "x:y:z"):
        assert client.post("/sign-in/code", {"step": step, "code": app[1][0]}).headers["Location"] == "/sign-in"
    assert is_in(first_step(bob)[0]), "who has no app signs in as ever"


def test_a_first_step_is_of_one_browser(charlie: User, app: tuple[str, list[str]]) -> None:
    client, page = first_step(charlie)
    other, _ = first_step(charlie)
    for stranger in (other, Client()):
        assert second_step(stranger, page, app[1][0]).headers["Location"] == "/sign-in" and not is_in(stranger)
    assert "not right" in second_step(client, page, "123456").content.decode()
    second_step(client, page, app[1][0])
    assert is_in(client), "no code was spent elsewhere"


def test_a_new_password_by_a_link_does_not_skip_the_code(charlie: User, app: Any) -> None:
    client, form = Client(), {"password": NEW, "again": NEW}
    at = timezone.now()
    assert (
        client.post(f"/password/{charlie.id}/{resets.token_for(charlie, at)}", form).headers["Location"] == "/sign-in"
    )
    _, token = people.invite(user=charlie, **(BY | {"at": at}))
    assert client.post(f"/invitations/{token}", form).headers["Location"] == "/sign-in" and not is_in(client)


@pytest.mark.both_databases
def test_the_app_is_removed_by_its_person_or_an_administrator_who_prove_themselves(
    charlie: User, superuser: User, app: Any
) -> None:
    client = signed_in(charlie)
    row = charlie.authenticators.get(kind="app")
    with arranging():
        BrowserSession.objects.update(confirmed_at=timezone.now() - timedelta(hours=1))
    client.post(f"/account/proofs/{row.pk}/remove")
    assert client.get("/account/proofs/app").status_code == 302
    assert charlie.authenticators.filter(pk=row.pk).exists()
    client.post("/account/proofs", {"proof": PASSWORD})
    client.post(f"/account/proofs/{row.pk}/remove")
    assert not charlie.authenticators.exists() and newest().command == "remove_app"
    secret = totp.new_secret()
    authenticators.add_app(charlie, secret, now_code(secret), at=timezone.now())
    root = stale(superuser)
    assert "Remove the app" in root.get(f"/people/{charlie.pk}/browsers").content.decode()
    root.post(f"/people/{charlie.pk}/proofs/remove", {"proof": PASSWORD})
    assert not charlie.authenticators.exists() and newest().actor_id == superuser.pk


def test_somebody_else_removes_nothing(charlie: User, bob: User, app: Any) -> None:
    row = charlie.authenticators.get(kind="app")
    assert signed_in(bob).post(f"/account/proofs/{row.pk}/remove").status_code == 404
    step = re.findall(r'name="step" value="([^"]+)"', signed_in(bob).get("/account/proofs/app").content.decode())[0]
    client = signed_in(charlie)
    shown = client.post("/account/proofs/app", {"step": step, "code": "1"}).content.decode()
    assert charlie.authenticators.filter(pk=row.pk).exists() and "not right" in shown


def _answer(client: bytes, data: bytes) -> str:
    """What a browser sends for a passkey, with any bytes in it."""
    said = {"clientDataJSON": client, "authenticatorData": data, "signature": b"x"}
    response = {name: base64.urlsafe_b64encode(value).decode() for name, value in said.items()}
    return json.dumps({"id": "eA", "rawId": "eA", "type": "public-key", "response": response})


_SAID = b'{"type":"webauthn.get","challenge":"AA","origin":"http://localhost:8000"}'
HOSTILE = [
    "[" * 20_000,
    _answer(b"[" * 20_000, b"x" * 37),
    _answer(_SAID, b"x" * 32 + b"\x85" + b"\0" * 4 + b"\x81" * 20_000),
    _answer(_SAID, b"x" * 32 + b"\x85" + b"\0" * 4 + b"\x78"),
    _answer(_SAID, b"x" * 32 + b"\xc5" + b"\0" * 4),
]
"""Answers that are nested deeply, or cut off."""


def test_passkeys_need_a_name_of_the_hub_and_an_answer_to_its_challenge(charlie: User, settings: Any) -> None:
    client = signed_in(charlie)
    assert client.post("/account/proofs/passkey/begin").status_code == 404, "the hub's address is a number"
    settings.MEMORYHUB_URL = "http://localhost:8000"
    assert client.post("/sign-in/passkey", {"answer": "{}"}).status_code == 400
    asked = client.post("/sign-in/passkey/ask").json()["publicKey"]
    assert asked["userVerification"] == "required" and asked["rpId"] == "localhost" and not asked["allowCredentials"]
    for answer in ("", "[]", "{}", '{"id":"x","rawId":"eA","type":"public-key","response":{}}', *HOSTILE):
        client.post("/sign-in/passkey/ask")
        assert client.post("/sign-in/passkey", {"answer": answer}).status_code == 400
    begun = client.post("/account/proofs/passkey/begin").json()["publicKey"]
    assert begun["user"]["name"] == charlie.email and begun["authenticatorSelection"]["residentKey"] == "required"
    for answer in ("{}", *HOSTILE):
        client.post("/account/proofs/passkey/begin")
        assert client.post("/account/proofs/passkey", {"answer": answer, "name": "x"}).status_code == 400
    assert stale(charlie).post("/account/proofs/passkey/begin").status_code == 403

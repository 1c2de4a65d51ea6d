"""A passkey's answer to a challenge: it counts once, for its person alone; and passkeys that others may have added."""

import base64
import hashlib
import json
import struct
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.utils import timezone
from fido2.cose import ES256
from fido2.webauthn import AttestedCredentialData

from memoryhub.actions.accounts import authenticators, people, resets
from memoryhub.actions.verification import verify
from memoryhub.models import HUB as HUB_CHAIN, Authenticator, User
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import arranging
from tests.web.all_pages.every_form import presses

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

HUB = "http://localhost:8000"
FLAGS = b"\x05"
"""Somebody was there, and entered a PIN."""


class Passkey:
    """A passkey in software. Like those that a browser keeps in step between devices, it does not count its uses."""

    def __init__(self, user: User) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = hashlib.sha256(user.id.encode()).digest()
        public = ES256.from_cryptography_key(self.key.public_key())
        data = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        authenticators.add_passkey(user, "Phone", _text(self.id), _text(bytes(data)), 0, at=timezone.now())

    def answer(self, client: Client) -> str:
        """Ask the hub for a challenge, and return the answer to it."""
        asked = client.post("/sign-in/passkey/ask").json()["publicKey"]
        said = json.dumps({"type": "webauthn.get", "challenge": asked["challenge"], "origin": HUB}).encode()
        data = hashlib.sha256(b"localhost").digest() + FLAGS + struct.pack(">I", 0)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        parts = {"clientDataJSON": said, "authenticatorData": data, "signature": signature}
        response = {name: _text(value) for name, value in parts.items()}
        id = _text(self.id).rstrip("=")
        return json.dumps({"id": id, "rawId": id, "type": "public-key", "response": response})


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode()


def use(client: Client, answer: str) -> int:
    return client.post("/sign-in/passkey", {"answer": answer}).status_code


def copy_of(client: Client) -> Client:
    """Another browser with the same cookies."""
    other = Client()
    other.cookies.load({name: morsel.value for name, morsel in client.cookies.items()})
    return other


def test_an_answer_counts_once(charlie: User, bob: User, settings: Any) -> None:
    settings.MEMORYHUB_URL = HUB
    passkey, client = Passkey(charlie), Client()
    answer = passkey.answer(client)
    thief = copy_of(client)
    assert use(client, answer) == 200 and client.get("/account").status_code == 200
    assert use(thief, answer) == 400 and thief.get("/account").status_code == 302
    assert use(thief, passkey.answer(thief)) == 200, "and the next one counts"
    assert use(signed_in(bob), passkey.answer(Client())) == 400, "the challenge of another browser"
    other = signed_in(bob)
    assert use(other, passkey.answer(other)) == 400, "somebody else is signed in"


def test_a_use_that_a_wrong_clock_dated_keeps_nobody_out(charlie: User, settings: Any) -> None:
    settings.MEMORYHUB_URL = HUB
    passkey, client = Passkey(charlie), Client()
    with arranging():
        Authenticator.objects.update(used_at=timezone.now() + timedelta(days=400))
    assert use(client, passkey.answer(client)) == 200


@pytest.mark.parametrize("by_mail", [True, False])
def test_a_link_for_a_new_password_removes_passkeys_that_others_may_have_added(
    charlie: User, settings: Any, by_mail: bool
) -> None:
    """Whoever has the link of an invitation may have made the account, before its person asks for a link."""
    settings.MEMORYHUB_URL = HUB
    passkey, at = Passkey(charlie), timezone.now()
    token = resets.token_for(charlie, at) if by_mail else people.invite(user=charlie, **(BY | {"at": at}))[1]
    link = f"/password/{charlie.id}/{token}" if by_mail else f"/invitations/{token}"
    page = Client().get(link).content.decode()
    assert "Remove the passkey of this account" in page and "Phone" in page
    (press_,) = [one for one in presses(link, page) if one.address == link]
    assert ("passkeys", "on") in press_.fields, "ticked"
    new = "another wholly new pass phrase"
    assert Client().post(link, {"password": new, "again": new, "passkeys": "on"}).status_code == 303
    other = Client()
    assert use(other, passkey.answer(other)) == 400 and verify.verify(HUB_CHAIN)[1] is None


def test_the_names_of_passkeys_are_text_where_a_link_sets_a_new_password(charlie: User) -> None:
    authenticators.add_passkey(charlie, "<b>Phone\u202e</b>", "c", "p", 0, at=timezone.now())
    page = Client().get(f"/password/{charlie.id}/{resets.token_for(charlie, timezone.now())}").content.decode()
    assert "&lt;b&gt;Phone\ufffd&lt;/b&gt;" in page and "<b>Phone" not in page


def test_a_link_for_a_new_password_keeps_passkeys_if_the_person_wants_it(charlie: User, settings: Any) -> None:
    settings.MEMORYHUB_URL = HUB
    passkey, new, client = Passkey(charlie), "another wholly new pass phrase", Client()
    link = f"/password/{charlie.id}/{resets.token_for(charlie, timezone.now())}"
    assert Client().post(link, {"password": new, "again": new}).status_code == 303
    assert use(client, passkey.answer(client)) == 200

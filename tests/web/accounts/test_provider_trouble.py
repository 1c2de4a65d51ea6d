"""An identity provider that does not answer, says what none may say, or removes an administrator; and a database that
only reads."""

import socket
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import people, resets, single_sign_on as actions
from memoryhub.models import BrowserSession, User
from memoryhub.pure.group_roles import grants_of
from memoryhub.web.accounts import provider
from tests.support.fixtures import BY, PASSWORD
from tests.support.write_guard import arranging
from tests.web.accounts.conftest import DORA, Provider
from tests.web.accounts.test_single_sign_on import come, is_in

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_an_administrator_whom_the_provider_knows_has_no_password_beside_it(
    idp: Provider, superuser: User, settings: Any
) -> None:
    settings.MEMORYHUB_OIDC_ONLY, settings.MEMORYHUB_OIDC_ROLES = True, grants_of("support=administrator")
    come(idp)
    dora, at = User.objects.get(email="dora@example.com"), timezone.now()
    assert dora.is_superuser and resets.user_of(dora.id, resets.token_for(dora, at), at) is None
    _, token = people.invite(user=dora, **(BY | {"at": at}))
    with pytest.raises(people.InvitationSpent):
        people.accept(token, email="", name="", password=PASSWORD, at=at)
    with arranging():
        dora.set_password(PASSWORD)
        dora.save()
    client = Client()
    client.post("/sign-in", {"email": dora.email, "password": PASSWORD})
    assert not is_in(client)


def test_a_database_that_only_reads_signs_nobody_out(idp: Provider, monkeypatch: Any) -> None:
    client, _ = come(idp)

    def only_reads(*_: Any) -> bool:
        raise OperationalError("attempt to write a readonly database")

    with monkeypatch.context() as patched:
        patched.setattr(actions, "is_due", only_reads)
        assert is_in(client)
    assert is_in(client)


def test_a_clock_that_was_ahead_does_not_delay_the_next_question(idp: Provider) -> None:
    client, _ = come(idp)
    with arranging():
        BrowserSession.objects.update(asked_at=timezone.now() + timedelta(hours=1))
    idp.says(is_ended=True)
    assert not is_in(client)


def test_a_provider_that_cannot_be_asked_again_is_believed_for_ten_minutes(idp: Provider) -> None:
    idp.says(is_mute=True)
    provider.forget()
    client, _ = come(idp)
    with arranging():
        BrowserSession.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    assert is_in(client)
    with arranging():
        BrowserSession.objects.update(
            asked_at=timezone.now() - timedelta(minutes=11), answered_at=timezone.now() - timedelta(minutes=11)
        )
    assert not is_in(client)


@pytest.mark.parametrize("begins", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_a_provider_that_never_ends_its_answer_is_not_waited_for(
    settings: Any, monkeypatch: Any, begins: bytes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_drip, args=(listening, begins), daemon=True).start()
        settings.MEMORYHUB_OIDC_ISSUER = f"http://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setattr(provider, "WHOLE", 0.5)
        assert Client().get("/sign-in/provider").status_code == 502
    provider.forget()


def _drip(listening: socket.socket, begins: bytes) -> None:
    """Begin an answer, and send a further byte of it every tenth of a second, for ever."""
    with suppress(OSError):
        connection, _ = listening.accept()
        connection.sendall(begins)
        while True:
            connection.sendall(b"x")
            time.sleep(0.1)


def test_a_provider_that_does_not_answer_is_not_waited_for_by_everyone(idp: Provider, monkeypatch: Any) -> None:
    asked_for = []

    def silent(request: Any, **_: Any) -> None:
        asked_for.append(request.full_url)
        raise TimeoutError("timed out")

    with monkeypatch.context() as patched:
        patched.setattr(provider._opener, "open", silent)
        for _ in range(3):
            assert Client().get("/sign-in/provider").status_code == 502
    assert len(asked_for) == 1 and Client().get("/sign-in/provider").status_code == 502
    provider.forget()
    assert is_in(come(idp)[0])


@pytest.mark.parametrize("address", ["hans@straße.de", "hanſ@strasse.de", "ｈans@strasse.de"])
def test_an_address_in_other_letters_is_not_that_of_an_account(idp: Provider, address: str) -> None:
    """straße.de and strasse.de belong to different people."""
    hans = people.create_user("hans@strasse.de", name="Hans", password=PASSWORD, **BY)
    idp.says(person=DORA | {"email": address})
    client, response = come(idp)
    assert response.status_code == 403 and not is_in(client) and not hans.identities.exists()
    idp.says(person=DORA | {"email": "HANS@Strasse.de"})
    assert is_in(come(idp)[0]) and hans.identities.exists()


@pytest.mark.parametrize(
    "claims",
    [{"sub": ""}, {"sub": "a\0"}, {"sub": "\ud800"}, {"sub": "1" * 256}],
)
def test_what_no_provider_may_say_is_refused(idp: Provider, claims: dict[str, Any]) -> None:
    idp.says(wrong={"claims": claims})
    assert come(idp)[1].status_code == 403 and not User.objects.exists()


def test_a_name_and_a_time_that_are_none_are_left_out(idp: Provider) -> None:
    idp.says(person=DORA | {"name": "Do\ud800ra", "auth_time": float("inf")})
    assert is_in(come(idp)[0]) and User.objects.get().name == "Do?ra"


@pytest.mark.parametrize("address", ["file:///etc/hostname", "data:application/json,{}", "ftp://id.example.com/"])
def test_userinfo_is_asked_at_safe_addresses_only(idp: Provider, address: str) -> None:
    idp.says(in_userinfo=True, wrong={"configuration": {"userinfo_endpoint": address}})
    provider.forget()
    assert Client().get("/sign-in/provider").status_code == 403

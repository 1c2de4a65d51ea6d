"""The list of browsers in which a person is signed in, and what signs them out."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import browsers, people
from memoryhub.actions.core.audit import Actor
from memoryhub.models import HUB, AuditEntry, BrowserSession, Door, User
from memoryhub.web.accounts.browsers import name_of
from tests.support.fixtures import PASSWORD, signed_in
from tests.support.write_guard import tampering

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0"


@pytest.fixture
def moment() -> Iterator[Any]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield traveller


def is_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def newest() -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).newest()[0]


@pytest.mark.both_databases
def test_a_person_sees_where_they_are_signed_in_and_signs_out_there(charlie: User, bob: User, superuser: User) -> None:
    here, there = Client(), Client(headers={"user-agent": FIREFOX})
    for client in (here, there):
        client.post("/sign-in", {"email": charlie.email, "password": PASSWORD})
    page = here.get("/account/browsers").content.decode()
    assert "Firefox on Windows" in page and "127.0.0.1" in page and page.count("this browser") == 1
    other = BrowserSession.objects.get(device=FIREFOX)
    assert signed_in(bob).post(f"/account/browsers/{other.pk}/end").status_code == 404 and is_in(there)
    assert here.post(f"/account/browsers/{other.pk}/end").status_code == 303
    assert is_in(here) and not is_in(there)
    assert (newest().command, newest().actor_id) == ("end_browsers", charlie.pk)
    entry = signed_in(superuser).get(f"/audit/{HUB}/{newest().seq}").content.decode()
    assert "out of 1 browser" in entry and charlie.email in entry


def test_everywhere_else_leaves_this_browser(charlie: User) -> None:
    here, *others = (signed_in(charlie) for _ in range(3))
    here.post("/account/browsers/others/end")
    assert is_in(here) and not any(map(is_in, others))
    before = AuditEntry.objects.count()
    here.post("/account/browsers/others/end")
    assert AuditEntry.objects.count() == before


@pytest.mark.both_databases
def test_an_administrator_signs_somebody_out(charlie: User, superuser: User, alice: User) -> None:
    one, two, root = signed_in(charlie), signed_in(charlie), signed_in(superuser)
    address = f"/people/{charlie.pk}/browsers"
    assert signed_in(alice).post(address).status_code == 403 and is_in(one)
    first = charlie.browsers.order_by("id").first()
    assert first is not None
    root.post(address, {"browser": first.pk})
    assert not is_in(one) and is_in(two)
    root.post(address)
    assert not is_in(two) and "Signed in nowhere" in root.get(address).content.decode()
    assert newest().actor_id == superuser.pk


@pytest.mark.both_databases
def test_a_pause_and_an_age_end_the_sign_in(charlie: User, moment: Any, settings: Any) -> None:
    settings.MEMORYHUB_SIGN_IN_HOURS, settings.MEMORYHUB_SIGN_IN_IDLE_HOURS = 6, 2
    idle, busy = signed_in(charlie), signed_in(charlie)
    for _ in range(5):
        moment.shift(timedelta(hours=1))
        assert is_in(busy)
    assert not is_in(idle)
    moment.shift(timedelta(hours=1))
    assert not is_in(busy)
    browsers.forget(timezone.now())
    assert not BrowserSession.objects.exists()


def test_the_use_is_written_down_at_times_and_not_with_each_page(charlie: User, moment: Any) -> None:
    client = signed_in(charlie)
    begun = timezone.now()
    moment.shift(timedelta(minutes=1))
    assert is_in(client) and BrowserSession.objects.get().seen_at == begun
    moment.shift(timedelta(minutes=5))
    assert is_in(client) and BrowserSession.objects.get().seen_at == timezone.now()


@pytest.mark.both_databases
def test_a_deactivation_a_new_password_and_a_sign_out_end_sessions(charlie: User, bob: User, superuser: User) -> None:
    here, there = signed_in(charlie), signed_in(charlie)
    new = "another wholly new pass phrase"
    here.post("/account/password", {"current": PASSWORD, "password": new, "again": new})
    assert is_in(here) and not is_in(there) and charlie.browsers.count() == 1
    here.post("/sign-out")
    assert not charlie.browsers.exists()
    client = signed_in(bob)
    people.set_active(bob, False, actor=Actor.system("tests"), door=Door.COMMAND, at=timezone.now())
    people.set_active(bob, True, actor=Actor.system("tests"), door=Door.COMMAND, at=timezone.now())
    assert not is_in(client)


@pytest.mark.both_databases
def test_a_cookie_without_the_row_of_its_browser_signs_nobody_in(charlie: User, bob: User) -> None:
    client, others = signed_in(charlie), signed_in(bob)
    session = others.session
    session["browser"] = charlie.browsers.get().pk
    session.save()
    assert not is_in(others) and is_in(client)
    with tampering():
        BrowserSession.objects.all().delete()
    assert not is_in(client)


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0.0.0 Safari/537.36 Edg/131.0", "Edge on Linux"),
        ("curl/8.1", "curl"), ("<b>", "A browser that does not say which"), ("", "A browser that does not say which"),
    ],
)  # fmt: skip
def test_a_browser_is_named_by_what_it_sends(device: str, name: str) -> None:
    assert name_of(device) == name

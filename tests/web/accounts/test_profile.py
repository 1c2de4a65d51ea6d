"""A person's own page: profile, password and theme."""

from typing import Any

import pytest
from django.test import Client

from memoryhub.models import HUB, AuditEntry, User
from tests.support.fixtures import PASSWORD, signed_in

OTHER = "a wholly different pass phrase"
HOSTILE = "<script>alert(1)</script>"

pytestmark = pytest.mark.django_db


def sign_in(client: Client, email: str, password: str = PASSWORD) -> Any:
    return client.post("/sign-in", {"email": email, "password": password})


def newest(command: str) -> AuditEntry:
    return AuditEntry.objects.of_chain(HUB).filter(command=command).newest()[0]


PROFILE = {"name": "Charles", "time_zone": "europe/berlin", "theme": "dark", "single_keys": "on"}


@pytest.mark.both_databases
def test_a_person_sets_name_zone_theme_and_shortcuts(charlie: User) -> None:
    client = signed_in(charlie)
    response = client.post("/account", {**PROFILE, "single_keys": ""})
    assert response.status_code == 303
    assert response.cookies["theme"].value == "dark"
    charlie.refresh_from_db()
    assert (charlie.name, charlie.time_zone, charlie.theme) == ("Charles", "Europe/Berlin", "dark")
    assert not charlie.single_keys
    assert newest("edit_profile").actor_id == charlie.id
    page = client.get("/account").content.decode()
    assert 'data-theme="dark"' in page and 'value="Europe/Berlin"' in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", "a\nb"), ("name", "\u202eb"), ("time_zone", "Mars/Olympus"),
        ("time_zone", "../etc/passwd"), ("time_zone", "\x00"), ("theme", "pink"), ("theme", ""), ("theme", HOSTILE),
    ],
)  # fmt: skip
def test_a_malformed_profile_changes_nothing(charlie: User, field: str, value: str) -> None:
    response = signed_in(charlie).post("/account", PROFILE | {field: value})
    assert response.status_code == 200 and "errorlist" in response.content.decode()
    charlie.refresh_from_db()
    assert (charlie.name, charlie.time_zone, charlie.theme) == ("Charlie", "UTC", "system")


def test_saving_the_same_profile_writes_no_entry(charlie: User) -> None:
    before = AuditEntry.objects.count()
    same = {"name": "Charlie", "time_zone": "UTC", "theme": "system", "single_keys": "on"}
    assert signed_in(charlie).post("/account", same).status_code == 303
    assert AuditEntry.objects.count() == before


CHANGE = {"current": PASSWORD, "password": OTHER, "again": OTHER}


def test_changing_the_password_keeps_this_browser_and_ends_the_others(charlie: User) -> None:
    here, there = signed_in(charlie), signed_in(charlie)
    assert here.post("/account/password", CHANGE).status_code == 303
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 302
    assert sign_in(Client(), charlie.email, OTHER).status_code == 303
    assert newest("set_password").actor_id == charlie.id


@pytest.mark.parametrize(
    ("field", "value"), [("current", "wrong"), ("current", ""), ("again", "other"), ("password", "charlie@example")]
)
def test_a_malformed_change_keeps_the_password(charlie: User, field: str, value: str) -> None:
    response = signed_in(charlie).post("/account/password", CHANGE | {field: value})
    assert response.status_code == 200 and "errorlist" in response.content.decode()
    assert sign_in(Client(), charlie.email).status_code == 303


def test_no_entry_holds_a_password(charlie: User) -> None:
    sign_in(Client(), charlie.email, "wrong-and-secret")
    signed_in(charlie).post("/account/password", CHANGE)
    told = "".join(filter(None, AuditEntry.objects.values_list("input", flat=True)))
    assert OTHER not in told and PASSWORD not in told and "wrong-and-secret" not in told


def test_the_theme_is_switched_before_signing_in() -> None:
    client = Client()
    response = client.post("/theme", {"theme": "dark", "next": "/sign-in?next=/account"})
    assert (response.status_code, response.headers["Location"]) == (303, "/sign-in?next=/account")
    assert 'data-theme="dark"' in client.get("/sign-in").content.decode()


def test_the_theme_of_a_person_is_kept_in_the_profile(charlie: User) -> None:
    signed_in(charlie).post("/theme", {"theme": "light"})
    charlie.refresh_from_db()
    assert charlie.theme == "light"
    assert 'data-theme="light"' in signed_in(charlie).get("/account").content.decode()


@pytest.mark.both_databases
def test_htmx_is_asked_to_load_the_page_again_in_the_other_theme(charlie: User) -> None:
    response = signed_in(charlie).post("/theme", {"theme": "light"}, headers={"HX-Request": "true"})
    assert response.headers["HX-Refresh"] == "true"


@pytest.mark.parametrize("theme", ["", "pink", HOSTILE, "\x00"])
def test_there_are_no_other_themes(charlie: User, theme: str) -> None:
    assert signed_in(charlie).post("/theme", {"theme": theme}).status_code == 400


def test_switching_the_theme_leads_to_no_other_host() -> None:
    response = Client().post("/theme", {"theme": "dark", "next": "https://evil.example/"})
    assert response.headers["Location"] == "/"
    response = Client().post("/theme", {"theme": "dark"}, headers={"Referer": "https://evil.example/"})
    assert response.headers["Location"] == "/"

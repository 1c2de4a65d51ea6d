"""The rows of browsers' sessions: no use to who reads them, and removed when they have expired."""

import importlib
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from memoryhub.actions.retention import housekeeping
from memoryhub.models import User
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db


def with_cookie(value: str) -> Client:
    client = Client()
    client.cookies["sessionid"] = value
    return client


@pytest.mark.both_databases
def test_what_the_database_holds_of_a_session_signs_nobody_in(alice: User) -> None:
    client = signed_in(alice)
    key = client.cookies["sessionid"].value
    assert client.get("/account").status_code == 200
    [row] = Session.objects.all()
    assert row.session_key != key and key not in row.session_data
    assert with_cookie(key).get("/account").status_code == 200
    assert with_cookie(row.session_key).get("/account").status_code == 302


@pytest.mark.both_databases
def test_signing_out_removes_the_session(alice: User) -> None:
    client = signed_in(alice)
    key = client.cookies["sessionid"].value
    client.post("/sign-out")
    assert not Session.objects.exists() and with_cookie(key).get("/account").status_code == 302


def test_a_session_is_saved_and_goes_on_under_another_key_after_a_new_password(alice: User) -> None:
    client = signed_in(alice)
    session = client.session
    session["spent_forms"] = ["x"]
    session.save()
    assert Client().get("/sign-in").status_code == 200
    assert with_cookie(session.session_key).session["spent_forms"] == ["x"]
    session.cycle_key()
    assert Session.objects.count() == 1 and session["spent_forms"] == ["x"]
    assert with_cookie(session.session_key).get("/account").status_code == 200


@pytest.mark.both_databases
def test_sessions_that_have_expired_are_removed_in_the_background(alice: User, bob: User) -> None:
    signed_in(alice)
    Session.objects.update(expire_date=timezone.now() - timedelta(minutes=1))
    open_one = signed_in(bob)
    housekeeping.forget_sessions(timezone.now())
    assert Session.objects.count() == 1 and open_one.get("/account").status_code == 200


@pytest.mark.both_databases
def test_sessions_from_before_go_on(alice: User) -> None:
    client = signed_in(alice)
    key = str(client.cookies["sessionid"].value)
    Session.objects.update(session_key=key)  # as it used to be
    importlib.import_module("memoryhub.migrations.0009_password_tries").hash_keys(apps, None)
    assert client.get("/account").status_code == 200

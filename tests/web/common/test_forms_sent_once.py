"""Forms whose result is shown once: the hub does once what they ask for, however often and fast they are sent."""

from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Key, User
from memoryhub.web.agents import keys
from tests.api.harness import new_store
from tests.api.test_concurrency import together
from tests.support.fixtures import BY, new_person, signed_in

AT_ONCE = 16


def asks_for_a_key(administrator: User) -> tuple[Client, str, dict[str, Any]]:
    """A client, an address and the fields of a form that issues a key."""
    agent = keys_and_roles.create_agent("Scout", **BY)
    client, address = signed_in(administrator), f"/agents/{agent.id}/keys/new"
    fields = {"scope": "some", "stores": new_store().id, "access": "write", "expires_in": "90"}
    return client, address, fields | {"form": client.get(address).context["form_once"]}


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_many_times_at_once_issues_one_key() -> None:
    client, address, fields = asks_for_a_key(new_person("Root", is_superuser=True))
    cookie = client.cookies["sessionid"].value

    def send(_: int) -> int:
        try:
            other = Client()
            other.cookies["sessionid"] = cookie
            return other.post(address, fields).status_code
        finally:
            connection.close()

    assert sorted(together(send, clients=AT_ONCE)) == [200] + [303] * (AT_ONCE - 1)
    assert Key.objects.count() == 1


@pytest.mark.django_db
def test_different_forms_of_one_browser_are_all_done(superuser: User) -> None:
    client, address, fields = asks_for_a_key(superuser)
    for form in ("one", "two", "one", fields["form"], "two"):
        client.post(address, fields | {"form": form})
    assert Key.objects.count() == 3


@pytest.mark.django_db
def test_a_form_may_be_sent_again_after_the_hub_failed(superuser: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client, address, fields = asks_for_a_key(superuser)
    client.raise_request_exception = False
    with monkeypatch.context() as failing:
        failing.setattr(keys_and_roles, "issue_key_by", lambda *args, **named: 1 / 0)
        assert client.post(address, fields).status_code == 500
    assert client.post(address, fields).status_code == 200
    assert client.post(address, fields).status_code == 303
    assert Key.objects.count() == 1


@pytest.mark.django_db
def test_a_form_of_a_session_that_ends_at_this_moment_does_nothing(
    superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address, fields = asks_for_a_key(superuser)
    spend = keys.spend_form
    monkeypatch.setattr(keys, "spend_form", lambda request: (Session.objects.all().delete(), spend(request))[1])
    assert client.post(address, fields).status_code == 400
    assert not Key.objects.exists()


@pytest.mark.django_db
def test_a_form_stays_spent_where_the_same_request_saves_its_session(
    superuser: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address, fields = asks_for_a_key(superuser)
    spend = keys.spend_form

    def spend_and_save(request: Any) -> bool:
        spent = spend(request)
        request.session["other"] = 1
        return spent

    monkeypatch.setattr(keys, "spend_form", spend_and_save)
    assert [client.post(address, fields).status_code for _ in range(3)] == [200, 303, 303]
    assert Key.objects.count() == 1

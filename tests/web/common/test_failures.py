"""The pages for a request that failed say no more than the hub knows: an act may have been done before it failed."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Agent, User
from memoryhub.web.agents import agents
from tests.support.fixtures import signed_in

pytestmark = pytest.mark.django_db

LOOK = "The hub cannot say whether it did what you asked. Check this before you try again."


@pytest.fixture
def client(superuser: User) -> Client:
    client = signed_in(superuser)
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize(
    ("error", "status"), [(RuntimeError("full"), 500), (OperationalError("database is locked"), 503)]
)
def test_a_failure_after_an_act_was_done_does_not_say_that_it_was_not(
    error: Exception, status: int, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = keys_and_roles.create_agent

    def created(**given: Any) -> Agent:
        create(**given)
        raise error

    monkeypatch.setattr(keys_and_roles, "create_agent", created)
    answer = client.post(reverse("new_agent"), {"name": "lab-bot", "description": ""})
    assert answer.status_code == status and LOOK in answer.content.decode()
    assert Agent.objects.filter(name="lab-bot").exists() and "not carried out" not in answer.content.decode()


def test_a_page_that_failed_is_opened_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "agent_rows", lambda *given: 1 / 0)
    answer = client.get(reverse("agents")).content.decode()
    assert "Try again." in answer and LOOK not in answer

"""The page of the background work: who sees it, what it says, and the hour at which a large file is written anew."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.erasure import sqlite_remains as database_remains
from memoryhub.actions.mail import alarms
from memoryhub.actions.verification import runs
from memoryhub.models import HUB, AuditEntry, Door, HubSettings, MemoryStore, Pause, User, Webhook
from memoryhub.web.background.background import WORDS
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.webhooks.hub import webhook

ADDRESS, NOW = "/settings/background", "/settings/background/scrub"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def has_free_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "LEAST_FREE", 0)


@pytest.fixture
def client(superuser: User) -> Client:
    return signed_in(superuser)


def page(client: Client) -> str:
    response = client.get(ADDRESS)
    assert response.status_code == 200
    return response.content.decode()


def test_it_is_for_superusers(alice: User, client: Client) -> None:
    for address in (ADDRESS, NOW):
        assert signed_in(alice).post(address).status_code == 403
        assert Client().post(address).status_code == 302
    assert client.get(NOW).status_code == 405
    assert f'href="{ADDRESS}"' in client.get("/settings/limits").content.decode()
    assert "Is the hub healthy?" in client.get("/overview").content.decode()
    assert "Is the hub healthy?" not in signed_in(alice).get("/overview").content.decode()


def test_every_kind_of_work_has_words() -> None:
    assert WORDS.keys() == background.EVERY.keys()


def test_it_answers_whether_the_hub_is_healthy(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page(client)
    wanted = ("Is the hub healthy?", 'href="/livez"', 'href="/readyz"', " free of ", "newest change of the tables: 00")
    for told in (*wanted, 'email#alarms"'):
        assert told in shown
    assert ("SQLite 3." in shown or "PostgreSQL 1" in shown) and "The disk is full" not in shown
    monkeypatch.setattr("memoryhub.actions.core.hub.disk_space._reserve.is_full", True)
    assert "The disk is full" in page(client)


def test_a_failure_is_said_in_a_sentence_with_the_next_try(client: Client) -> None:
    now = timezone.now()
    assert "Nothing is recorded yet" in page(client) and "Yes: all" not in page(client)
    background.note(Outcome("figures", now))
    background.note(Outcome("backups", now))
    assert "None planned</span>" in page(client) and page(client).count("last succeeded") == 1
    assert "Yes: all background work succeeds" in page(client)
    background.note(Outcome("checkpoints", now, "/data/checkpoints.jsonl: No space left on device.", 3, now))
    background.note(Outcome("imports", now - timedelta(hours=1)))
    assert "does not succeed: see below" in page(client) or "do not succeed: see below" in page(client)
    assert "Yes: all" not in page(client)
    shown = page(client)
    assert "/data/checkpoints.jsonl: No space left on device." in shown
    for state in ("Succeeds", "Fails", "Silent"):
        assert shown.count(f"{state}</span>") == 1


def test_a_hub_whose_audit_is_not_right_is_not_called_healthy(client: Client) -> None:
    background.note(Outcome("figures", timezone.now()))
    assert "Yes: all background work succeeds" in page(client)
    act = Act(Actor.system("test"), Door.COMMAND, timezone.now())
    runs.record(act, entries=1, wrong=["hub"], checkpoints_complete=True)
    shown = page(client)
    assert "Yes: all" not in shown and "The last check of the audit found something wrong." in shown
    assert 'href="/guide/operations#audit"' in shown


@pytest.mark.both_databases
def test_a_hub_with_an_alarm_is_not_called_healthy_and_names_it(
    client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    background.note(Outcome("figures", timezone.now()))
    hook = webhook(store, "https://hooks.example.com/")
    assert "Yes: all" in page(client)
    with tampering():
        Webhook.objects.filter(pk=hook.pk).update(paused_at=timezone.now(), paused_for=Pause.GONE)
    shown = page(client)
    assert "Yes: all" not in shown and "see the alarms below" in shown
    assert f'<a href="/webhooks/{hook.pk}">the webhook “{hook.name}” does not reach its receiver</a>' in shown
    monkeypatch.setattr(alarms, "LEAST_FREE", 2**62)
    monkeypatch.setattr(alarms, "LEAST_PART", 2)
    assert "the disk is nearly full" in page(client)


@pytest.mark.both_databases
def test_of_several_machines_each_has_its_rows(client: Client) -> None:
    background.note(Outcome("figures", timezone.now()), node="north")
    assert "north" not in page(client)
    background.note(Outcome("figures", timezone.now()), node="south")
    assert "north" in page(client) and "south" in page(client)
    background.forget_nodes(timezone.now() + timedelta(days=8))
    assert "Nothing is recorded yet" in page(client)


def test_the_hour_of_a_large_file_is_chosen_and_audited(client: Client) -> None:
    assert client.post(ADDRESS, {"hour": "24"}).status_code == 200
    for _ in range(2):
        assert client.post(ADDRESS, {"hour": "5"}).status_code == 303
    assert HubSettings.current().scrub_hour == 5
    (entry,) = AuditEntry.objects.filter(chain=HUB, command="set_scrub_hour")
    assert json.loads(entry.input or "") == {"hour": [3, 5]}
    assert (
        "changed the hour for rewriting the database file from 3:00 to 5:00 UTC"
        in client.get("/audit").content.decode()
    )


def test_what_is_left_of_a_redaction_is_said_and_can_be_taken_away_now(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nothing needs to be done now." in page(client)
    monkeypatch.setattr(database_remains, "_size", lambda: 2_260_000_000)
    with writing():
        database_remains.note(timezone.now())
    shown = page(client)
    assert "Rewriting the file takes about 28 seconds" in shown and "The hub rewrites the file at 3:00 UTC" in shown
    assert client.post(NOW).status_code == 303
    assert HubSettings.current().scrub_asked and "The hub begins to rewrite the file within seconds." in page(client)
    assert "asked for the database file to be rewritten" in client.get("/audit").content.decode()

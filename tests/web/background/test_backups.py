"""The page of backups: who sees it, what it says of the last and the next one, and which plans it takes."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.backups import schedule
from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.actions.core.transactions import writing
from memoryhub.models import HUB, AuditEntry, HubSettings, User
from tests.support.fixtures import signed_in

ADDRESS, NOW = "/settings/backups", "/settings/backups/now"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def passphrase(settings) -> None:
    settings.MEMORYHUB_BACKUP_PASSPHRASE = "seven words that no one else knows"


@pytest.fixture
def client(superuser: User) -> Client:
    return signed_in(superuser)


def page(client: Client) -> str:
    response = client.get(ADDRESS)
    assert response.status_code == 200
    return response.content.decode()


def plan(target: Path | str, **other: object) -> dict[str, object]:
    return {"target": str(target), "every": 24, "newest": 7, "weekly": 4, "monthly": 6} | other


def noted(**last: object) -> None:
    with writing():
        HubSettings.objects.update_or_create(pk=1, defaults={"backup_last": last})


def test_it_is_for_superusers(alice: User, client: Client) -> None:
    for address in (ADDRESS, NOW):
        assert signed_in(alice).post(address).status_code == 403
        assert Client().post(address).status_code == 302
    assert client.get(NOW).status_code == 405
    assert f'href="{ADDRESS}"' in client.get("/settings/background").content.decode()


@pytest.mark.both_databases
def test_a_plan_is_saved_once_and_audited(client: Client, tmp_path: Path) -> None:
    assert "If this machine is lost" in page(client) and NOW not in page(client)
    for _ in range(2):
        assert client.post(ADDRESS, plan(tmp_path, every=6)).status_code == 303
    assert schedule.state().plan == schedule.Plan(str(tmp_path), 6)
    (entry,) = AuditEntry.objects.filter(chain=HUB, command="set_backups")
    assert json.loads(entry.input or "")["after"]["every"] == 6
    assert "changed the settings of the backups" in client.get("/audit").content.decode()
    assert client.post(NOW).status_code == 303
    assert schedule.state().is_asked and "within seconds" in page(client)
    assert "asked for a backup" in client.get("/audit").content.decode()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"target": "backups"}, "Type the whole path"),
        ({"target": "/not/there"}, "There is no such directory"),
        ({"newest": 0}, "greater than or equal to 1"),
        ({"every": 5}, "not one of the available choices"),
    ],
)
def test_a_wrong_plan_is_refused(client: Client, tmp_path: Path, wrong: dict[str, object], said: str) -> None:
    response = client.post(ADDRESS, plan(tmp_path) | wrong)
    assert response.status_code == 200 and said in response.content.decode()
    assert schedule.state().plan == schedule.Plan()


def test_a_plan_without_a_passphrase_is_refused(client: Client, tmp_path: Path, settings) -> None:
    settings.MEMORYHUB_BACKUP_PASSPHRASE = ""
    assert "A backup needs a passphrase" in client.post(ADDRESS, plan(tmp_path)).content.decode()


def test_both_pages_say_what_the_last_backup_was_like(client: Client, tmp_path: Path) -> None:
    client.post(ADDRESS, plan(tmp_path))
    last = {"name": "memoryhub-1.backup", "bytes": 5 * 1024 * 1024, "entries": 285, "seconds": 2.5}
    noted(at=timezone.now().isoformat(), **last)
    for shown in (page(client), client.get("/settings/background").content.decode()):
        for told in ("memoryhub-1.backup", "the audit in the backup (285 entries)", "5.0 MB"):
            assert told in shown
        assert "older than planned" not in shown
    noted(at=(timezone.now() - timedelta(days=4)).isoformat(), **last)
    assert "older than planned" in page(client)
    noted(at=timezone.now().isoformat(), **last, problem="/backups: No space left on device.")
    assert "/backups: No space left on device." in page(client)


def test_while_one_is_made_the_page_says_so_and_asks_again(client: Client, tmp_path: Path) -> None:
    client.post(ADDRESS, plan(tmp_path))
    noted(problem="/backups: No space left on device.")
    assert schedule._claim(schedule.state(), timezone.now())
    part = client.get(ADDRESS, {"part": "state"}).content.decode()
    assert "a backup is running" in part and "every 3s" in part and "<form" not in part
    assert "No space left" not in part
    noted(at=timezone.now().isoformat(), name="a", bytes=1, entries=1)
    assert "every 3s" not in page(client) and "a backup is running" not in page(client)


def test_without_a_passphrase_the_form_says_so_before_it_is_filled_in(client: Client, settings: Any) -> None:
    assert "no passphrase for them yet" not in page(client)
    settings.MEMORYHUB_BACKUP_PASSPHRASE = ""
    assert "MEMORYHUB_BACKUP_RECIPIENT" in page(client) and "get an alarm by e-mail" in page(client)
    assert "no passphrase for them yet" in page(client) and "manage.py restore FILE" in page(client)


def test_a_failure_is_on_today_of_superusers(client: Client, alice: User) -> None:
    background.note(Outcome("backups", timezone.now(), "/backups is no directory.", 1, timezone.now()))
    assert "Background work fails: Backups" in client.get("/").content.decode()
    assert "Background work fails" not in signed_in(alice).get("/").content.decode()


def test_backups_that_are_days_apart_begin_at_their_hour() -> None:
    noon = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
    for last, hour, every, after in (
        (noon, None, 24, noon + timedelta(days=1)),
        (noon, 2, 6, noon + timedelta(hours=6)),
        (noon, 2, 24, datetime(2026, 3, 11, 2, tzinfo=UTC)),
        (datetime(2026, 3, 11, 2, 0, 20, tzinfo=UTC), 2, 24, datetime(2026, 3, 12, 2, tzinfo=UTC)),
        (datetime(2026, 3, 11, 3, tzinfo=UTC), 2, 168, datetime(2026, 3, 18, 2, tzinfo=UTC)),
    ):
        assert schedule.Plan("/b", every, hour=hour).after(last) == after


def test_when_a_backup_is_due() -> None:
    now = timezone.now()
    hour, daily = timedelta(hours=1), schedule.Plan("/backups")
    due = schedule.is_due

    def state(
        at: object = None, begun: object = None, asked: bool = False, plan: schedule.Plan = daily
    ) -> schedule.State:
        return schedule.State(plan, at, asked, begun)  # type: ignore[arg-type]

    assert due(state(), now) and not due(state(plan=schedule.Plan()), now)
    assert not due(state(now - hour, now - hour), now) and due(state(now - hour, now - hour, asked=True), now)
    assert due(state(now - 25 * hour, now - 26 * hour), now)
    failed = state(now - 48 * hour, now - schedule.AGAIN / 2)
    assert not due(failed, now) and due(failed, now + schedule.AGAIN)
    assert due(state(now + 48 * hour, now + 48 * hour), now), "the clock was set back"


@pytest.mark.both_databases
def test_of_several_nodes_one_makes_the_backup(client: Client, tmp_path: Path) -> None:
    client.post(ADDRESS, plan(tmp_path))
    there, now = schedule.state(), timezone.now()
    assert schedule._claim(there, now) and not schedule._claim(there, now)
    there = schedule.state()
    assert schedule._claim(there, now + timedelta(days=1)) and not schedule._claim(there, now + timedelta(days=1))
    schedule._note_problem("the disk is full")
    assert schedule.state().problem == "the disk is full"


def test_a_backup_that_takes_long_is_no_work_that_hangs(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post(ADDRESS, plan(tmp_path))
    (tmp_path / "manage.py").write_text("import sys, time\ntime.sleep(0.6)\nsys.exit('CommandError: No room.')\n")
    monkeypatch.setattr(schedule.settings, "BASE_DIR", tmp_path)
    monkeypatch.setattr(schedule, "SIGN_EVERY", 0.1)
    now = timezone.now()
    background.note(Outcome("backups", now - timedelta(hours=3)))
    schedule.back_up_due(now)
    (row,) = background.states()
    assert row.succeeded_at is not None and row.succeeded_at > now and not background.hangs(row, now)
    assert schedule.state().problem == "No room."


def test_the_commands_of_a_backup_and_a_restore_are_there_to_copy(
    client: Client, tmp_path: Path, settings: Any
) -> None:
    place = f"MEMORYHUB_DATA_DIR={settings.DATA_DIR} .venv/bin/python manage.py"
    assert f"MEMORYHUB_BACKUP_PASSPHRASE=… {place} backup /PATH/OF/BACKUPS" in page(client)
    client.post(ADDRESS, plan(tmp_path))
    noted(at=timezone.now().isoformat(), name="memoryhub-a-1.backup", bytes=1, entries=1)
    shown = page(client)
    assert f"MEMORYHUB_BACKUP_PASSPHRASE=… {place} restore {tmp_path}/memoryhub-a-1.backup" in shown
    assert 'data-copy="#restore-command"' in shown and settings.MEMORYHUB_BACKUP_PASSPHRASE not in shown
    settings.MEMORYHUB_BACKUP_RECIPIENT = "age1key"
    assert f"MEMORYHUB_BACKUP_RECIPIENT=age1key {place} backup {tmp_path}" in page(client)
    assert f"{place} restore {tmp_path}/memoryhub-a-1.backup --identity" in page(client)

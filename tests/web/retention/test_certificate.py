"""The certificate of retention agrees with the rows, before and after a run, and its signature verifies."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import people
from memoryhub.actions.core.rules.holds import place, release
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.retention import runs
from memoryhub.actions.retention.policies import PolicySettings, save_policy
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, RetentionPolicy, RunState, User
from tests.actions.gardens import to_the_end
from tests.actions.retention.stores import act as done_by
from tests.support.fixtures import BY, signed_in
from tests.web.memories.pages import act, page, write

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(days=40)


@pytest.fixture
def old(store: MemoryStore, alice: User) -> MemoryStore:
    """A store with a policy of 30 days for /tickets/, two memories that are older, of which one is held, and a fresh
    one."""
    save_policy(store.id, PolicySettings("Tickets", "/tickets/", expire_older_days=30), act(alice))
    for name, age in (("old", LONG_AGO), ("held", LONG_AGO), ("fresh", timedelta(days=1))):
        memory = write(store, f"/tickets/{name}.md", "text\n")
        with writing():
            Memory.objects.filter(pk=memory.pk).update(created_at=timezone.now() - age)
    place(store.id, act(alice), kind=HoldKind.HOLD, reason="case 1", path="/tickets/held.md")
    return store


def certificate(client: Client, store: MemoryStore) -> dict[str, Any]:
    answer = client.post(reverse("retention_certificate", args=[store.id]))
    assert answer.status_code == 200
    return dict(json.loads(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]


def live_and_older(store: MemoryStore, than: datetime) -> set[str]:
    """The live memories of /tickets/ that began before a moment, by a statement of its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT path FROM memoryhub_memory WHERE store_id = %s AND deleted_at IS NULL AND created_at <= %s",
            [store.id, than],
        )
        return {str(path) for (path,) in cursor.fetchall() if path.startswith("/tickets/")}


@pytest.mark.both_databases
def test_what_is_overdue_is_counted_and_after_a_run_nothing_is(
    old: MemoryStore, alice: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = signed_in(alice)
    assert "1 removal is overdue." in page(client, reverse("retention_certificate", args=[old.id]))
    before = certificate(client, old)["certificate"]
    (policy,) = before["policies"]
    assert (before["overdue"], policy["overdue"], policy["memories"]) == (1, {"expire": 1}, 3)
    assert before["kept"]["by_holds_and_pins"] == 1
    now = timezone.now()
    run = runs.start(old.id, done_by(now), now)
    if run.state == RunState.WAITING:
        runs.allow(run.pk, done_by(now))
    to_the_end(run, now)
    after = certificate(client, old)
    text = json.dumps(after)
    assert after["certificate"]["overdue"] == 0
    assert live_and_older(old, timezone.now() - timedelta(days=30)) == {"/tickets/held.md"}
    assert "/tickets/old" not in text and "/tickets/held" not in text
    entry = AuditEntry.objects.of_chain(old.id).get(seq=after["certificate"]["entry"])
    assert (entry.command, entry.hash) == ("certify", after["certificate"]["entry_hash"])
    path = tmp_path / "certificate.json"
    path.write_text(text)
    call_command("verify_receipt", str(path))
    assert "is valid" in capsys.readouterr().out
    shown = page(client, reverse("retention_certificate", args=[old.id]))
    assert "Nothing is overdue." in shown and "1 memory by legal holds and pins" in shown


def test_a_paused_policy_is_not_said_to_have_removed_everything(old: MemoryStore, alice: User) -> None:
    policy = RetentionPolicy.objects.get()
    settings = PolicySettings("Tickets", "/tickets/", expire_older_days=30, paused=True)
    save_policy(old.id, settings, act(alice), policy_id=policy.pk)
    shown = page(signed_in(alice), reverse("retention_certificate", args=[old.id]))
    assert "A paused policy removes nothing" in shown and "unread since" in shown


@pytest.mark.both_databases
def test_what_a_deleted_policy_left_in_the_trash_is_not_said_to_be_kept(old: MemoryStore, alice: User) -> None:
    client, now, policy = signed_in(alice), timezone.now(), RetentionPolicy.objects.get()
    run = runs.start(old.id, done_by(now), now)
    if run.state == RunState.WAITING:
        runs.allow(run.pk, done_by(now))
    to_the_end(run, now)
    deletes = page(client, reverse("delete_policy", args=[policy.pk]))
    assert (
        "If no other policy matches, they are removed permanently 30 days after they were moved" in deletes
        and "stay there" not in deletes
    )
    client.post(reverse("delete_policy", args=[policy.pk]))
    address, rehearses = (reverse(name, args=[old.id]) for name in ("retention_certificate", "rehearsal"))
    shown = page(client, address)
    assert "1 memory in the trash was put there by a policy" in shown and "Everything else is kept" in shown
    assert "overdue." not in shown and "nothing to rehearse" not in page(client, rehearses)
    with writing():
        Memory.objects.in_trash().update(deleted_at=now - LONG_AGO)
    assert "1 removal is overdue." in page(client, address) and "/tickets/old.md" in page(client, rehearses)
    told = certificate(client, old)["certificate"]
    assert (told["overdue"], told["policies"], told["without_policy"]) == (1, [], {"trash": 1, "overdue": 1})


def test_without_a_policy_it_promises_nothing_and_it_names_nobody_who_left(
    store: MemoryStore, alice: User, bob: User, superuser: User
) -> None:
    address = reverse("retention_certificate", args=[store.id])
    assert f"{bob.name} (" in page(signed_in(alice), address)
    people.set_active(bob, False, **BY)
    shown = page(signed_in(alice), address)
    assert f"{bob.name} (" not in shown and f"{alice.name} (" in shown
    assert f'href="{reverse("receipts", args=[store.id])}#check"' in shown
    assert "No policy applies." in shown and "Nothing is overdue" not in shown


def test_the_signed_document_has_the_record_of_processing(old: MemoryStore, alice: User, key: str) -> None:
    policy = RetentionPolicy.objects.get()
    settings = PolicySettings("Tickets", "/tickets/", expire_older_days=30, keeps_approved=True)
    save_policy(old.id, settings, act(alice), policy_id=policy.pk)
    told = certificate(signed_in(alice), old)["certificate"]
    assert told["policies"][0]["rules"]["keeps_approved"] is True
    processing = told["processing"]
    assert (processing["purpose"], processing["memories"]) == (old.description, 3)
    assert [one["name"] for one in processing["agents"]] == ["Support bot"]
    assert processing["people"] == [{"id": alice.pk, "name": "Alice", "role": "admin"}]


def test_only_admins_certify(store: MemoryStore, bob: User) -> None:
    address = reverse("retention_certificate", args=[store.id])
    assert signed_in(bob).get(address).status_code == signed_in(bob).post(address).status_code
    assert not AuditEntry.objects.of_command("certify").exists()


def test_it_says_that_a_pin_keeps_audit_entries_that_are_too_old(store: MemoryStore, alice: User) -> None:
    write(store, "/pinned.md", "text\n")
    save_policy(store.id, PolicySettings("Entries", keep_entry_days=30), act(alice))
    pin = place(store.id, act(alice), kind=HoldKind.PIN, reason="keep", path="/pinned.md")
    client = signed_in(alice)
    told = certificate(client, store)["certificate"]
    old = told["kept"]["audit_entries"]
    assert (told["overdue"], old > 3) == (0, True)
    shown = page(client, reverse("retention_certificate", args=[store.id]))
    assert f"{old + 1} audit entries, because something is held or pinned" in shown  # and the entry of that document
    release(store.id, pin.pk, act(alice))
    told = certificate(client, store)["certificate"]
    assert told["kept"]["audit_entries"] == 0 and told["overdue"] >= old

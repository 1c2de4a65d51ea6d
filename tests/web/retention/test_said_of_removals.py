"""What pages say that retention keeps or removes is what it does: also beside policies that are elsewhere or gone."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.core.rules.holds import place
from memoryhub.actions.retention import runs
from memoryhub.actions.retention.runs import clock
from memoryhub.actions.stores import stores
from memoryhub.models import HoldKind, Memory, MemoryStore, RetentionPolicy, RunState, User
from tests.actions.gardens import to_the_end
from tests.actions.retention.stores import act as done_by
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, page
from tests.web.retention.test_certificate import old

__all__ = ["old"]
pytestmark = pytest.mark.django_db
ALL_IS_KEPT = "Every memory, every version and every audit entry is kept."


@pytest.fixture
def expired(old: MemoryStore) -> Memory:
    """A memory that the store's policy has moved to the trash."""
    now = timezone.now()
    run = runs.start(old.id, done_by(now), now)
    if run.state == RunState.WAITING:
        runs.allow(run.pk, done_by(now))
    to_the_end(run, now)
    return Memory.objects.in_trash().get()


@pytest.mark.both_databases
def test_what_a_deleted_policy_left_in_the_trash_is_not_called_kept(expired: Memory, alice: User) -> None:
    client, store = signed_in(alice), expired.store
    explains = reverse("explain_path", args=[store.pk]) + "?path=/tickets/old.md"
    assert "The memory is removed permanently" in page(client, explains) and ALL_IS_KEPT not in page(client, explains)
    client.post(reverse("delete_policy", args=[RetentionPolicy.objects.get().pk]))
    assert explains.replace("/tickets/old.md", "%2Ftickets%2Fold.md") in page(client, reverse("trash", args=[store.pk]))
    shown = page(client, explains)
    assert "No policy applies: a memory here is kept" in shown and "The memory is removed permanently" in shown
    shown = page(client, reverse("retention", args=[store.pk]))
    assert ALL_IS_KEPT not in shown and "1 memory in the trash was put there by a policy" in shown
    assert "Everything else is kept" in shown


def test_the_hub_does_not_speak_for_the_policies_of_memory_stores(old: MemoryStore, superuser: User) -> None:
    shown = page(signed_in(superuser), reverse("hub_retention"))
    assert "The hub has no policy" in shown and ALL_IS_KEPT not in shown
    assert "Memory stores may have policies of their own" in shown


def test_archiving_and_unpinning_and_a_rehearsal_do_not_promise_too_much(old: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    pin = place(old.pk, act(alice), kind=HoldKind.PIN, reason="keep", path="/tickets")
    archives = page(client, reverse("archive_store", args=[old.pk]))
    assert "except what retention policies remove" in archives and "Retention policies still apply." in archives
    unpins = page(client, reverse("release_hold", args=[old.pk, pin.pk]))
    assert "removes permanently what has been in the trash for long enough. Old versions and audit" in unpins
    assert "run by themselves every hour" in page(client, reverse("rehearsal", args=[old.pk]))


@pytest.mark.both_databases
def test_what_a_deleted_policy_left_in_the_trash_is_removed_by_itself_when_the_pages_say(
    expired: Memory, alice: User
) -> None:
    signed_in(alice).post(reverse("delete_policy", args=[RetentionPolicy.objects.get().pk]))
    for days, count in ((29, 1), (31, 0)):
        then = timezone.now() + timedelta(days=days)
        clock.accept(then)
        for run in runs.due_runs(then):
            to_the_end(run, then)
        assert Memory.objects.filter(pk=expired.pk).count() == count


def test_an_empty_store_does_not_promise_that_every_version_is_kept(store: MemoryStore, alice: User) -> None:
    shown = page(signed_in(alice), reverse("store", args=[store.pk]))
    assert "every version is kept" not in shown and "until a retention policy removes them" in shown


def test_archiving_says_that_agents_can_delete(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key)
    caller.create("/a.md", "x\n")
    assert "Agents can still view memories, and delete them." in page(
        signed_in(alice), reverse("archive_store", args=[store.pk])
    )
    stores.set_archived(store, True, **BY)
    caller.delete("/a.md")

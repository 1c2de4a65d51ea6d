"""Runs: they begin with what is due, ask where that is strange, go on where they were stopped, and are taken back."""

from datetime import timedelta

import pytest

from memoryhub.actions.core.rules import holds
from memoryhub.actions.retention import policies, rehearsal, runs, weeks
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.stores import stores
from memoryhub.actions.verification.verify import verify
from memoryhub.models import (
    AuditChain,
    AuditEntry,
    Door,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryVersion,
    Removal,
    RetentionPolicy,
    Run,
    RunItem,
    RunState,
)
from memoryhub.models.audit import ActorKind
from memoryhub.pure.protocol.commands import Create, Delete, StrReplace, View
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.gardens import LATER, expire, garden, live, newest, no_plans, started, to_the_end, told
from tests.actions.retention.stores import AGENT, BEGIN, DAY, PERSON, act, do, done_by, finished, memory

__all__ = ["garden", "no_plans"]
pytestmark = pytest.mark.django_db


# ------------------------------------------------------------------------------------------------ what a run does


def test_what_is_due_goes_to_the_trash_as_the_policys_act(garden: MemoryStore) -> None:
    policy = expire(garden)
    run = to_the_end(started(garden))
    assert (run.state, run.expected, run.expired, run.skipped, run.bytes) == (RunState.DONE, 3, 3, 0, 24)
    assert live(garden) == set()
    entries = AuditEntry.objects.of_chain(garden.pk).filter(group=run.pk).oldest()
    assert [entry.path for entry in entries] == ["/old/0.md", "/old/1.md", "/old/2.md"]
    for entry, item in zip(entries, RunItem.objects.filter(run=run).order_by("pk"), strict=True):
        assert (entry.command, entry.actor_kind, entry.actor_id) == ("expire", ActorKind.POLICY, policy.pk)
        assert (entry.label, entry.ok, entry.seq, entry.memory) == ("Old ones", True, item.seq, item.memory)
        assert told(entry)["rule"] == item.rule == "unread"
        row = Memory.objects.get(pk=item.memory)
        assert (row.expired_by, row.deleted_at, item.policy, item.days) == (run.pk, LATER, policy.pk, 30)
        assert item.since == row.created_at
    assert verify(garden.pk)[1] is None


def test_no_run_is_made_where_nothing_is_due(garden: MemoryStore) -> None:
    expire(garden, days=200)
    with pytest.raises(runs.NothingDue):
        started(garden)
    assert not Run.objects.exists()


def test_a_memory_goes_exactly_when_its_time_has_come(garden: MemoryStore) -> None:
    expire(garden)
    due_at = BEGIN + timedelta(hours=2) + 30 * DAY
    moment = timedelta(microseconds=1)
    assert [item.path for item in rehearsal.rehearse(garden.pk, due_at - moment)] == ["/old/0.md", "/old/1.md"]
    assert [item.due_at for item in rehearsal.rehearse(garden.pk, due_at)][-1] == due_at


def test_reading_keeps_a_memory_and_looking_at_a_directory_does_not(garden: MemoryStore) -> None:
    do(garden, View("/old/0.md", None), LATER - 20 * DAY, AGENT)
    do(garden, View("/old", None), LATER - 20 * DAY, AGENT)
    expire(garden)
    assert [item.path for item in rehearsal.rehearse(garden.pk, LATER)] == ["/old/1.md", "/old/2.md"]


def test_after_the_grace_it_goes_for_good_and_what_people_deleted_stays(garden: MemoryStore) -> None:
    expire(garden, grace_days=7)
    do(garden, Delete("/old/0.md"), LATER)
    to_the_end(started(garden))
    with pytest.raises(runs.NothingDue):
        started(garden, LATER + 7 * DAY - timedelta(microseconds=1))
    run = finished(garden.pk, LATER + 7 * DAY)
    assert (run.purged, run.expired) == (2, 0)
    assert Memory.objects.in_trash().filter(store=garden).count() == 1
    assert MemoryVersion.objects.filter(store=garden, path__startswith="/old").count() == 2
    assert newest(garden).command == "purge" and verify(garden.pk)[1] is None
    policies.save_policy(garden.pk, PolicySettings("p", "/old/", trash_days=8), act(LATER))
    assert finished(garden.pk, LATER + 8 * DAY).purged == 1
    assert not Memory.objects.filter(store=garden, path__startswith="/old").exists()
    assert verify(garden.pk)[1] is None


def test_old_versions_go_but_not_the_head_nor_one_that_awaits_review(garden: MemoryStore) -> None:
    for number in range(5):
        who = AGENT if number == 1 else act(BEGIN).actor
        do(garden, StrReplace("/old/0.md", "old", f"old {number}"), BEGIN + (number + 1) * DAY, who)
    policies.save_policy(garden.pk, PolicySettings("two", keep_versions=2), act(LATER))
    run = finished(garden.pk, LATER)
    row = memory(garden, "/old/0.md")
    numbers = MemoryVersion.objects.filter(memory=row).order_by("number").values_list("number", flat=True)
    assert (list(numbers), run.versions, row.removed_versions) == ([3, 5, 6], 3, 3)
    entry = newest(garden)
    assert (entry.command, told(entry)["versions"]) == ("prune_versions", 3)
    assert verify(garden.pk)[1] is None


def test_many_old_versions_go_in_several_transactions(garden: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.actions.retention.runs.items.MOST_VERSIONS", 2)
    for number in range(6):
        do(garden, StrReplace("/old/0.md", "old", f"old {number}"), BEGIN + DAY)
    policies.save_policy(garden.pk, PolicySettings("one", keep_versions=1), act(LATER))
    items = list(rehearsal.rehearse(garden.pk, LATER))
    run = finished(garden.pk, LATER)
    assert done_by(run) == [("versions", memory(garden, "/old/0.md").pk, 6, items[0].bytes)]
    assert AuditEntry.objects.filter(group=run.pk).count() == 3


def test_old_entries_go_and_the_chain_verifies_from_where_it_starts(garden: MemoryStore) -> None:
    policies.save_policy(garden.pk, PolicySettings("audit", keep_entry_days=60), act(LATER))
    items = list(rehearsal.rehearse(garden.pk, LATER))
    assert [(item.removal, item.count, item.up_to) for item in items] == [(Removal.ENTRIES, 4, 4)]
    run = finished(garden.pk, LATER)
    assert (run.entries, AuditChain.objects.get(pk=garden.pk).start_seq) == (4, 4)
    assert verify(garden.pk)[1] is None
    assert AuditEntry.objects.of_chain(garden.pk).newest()[0].actor_kind == ActorKind.POLICY


def test_a_hold_or_an_open_review_keeps_the_entries(garden: MemoryStore) -> None:
    do(garden, StrReplace("/old/1.md", "old\nold", "older"), BEGIN + DAY, AGENT)
    policies.save_policy(garden.pk, PolicySettings("audit", keep_entry_days=60), act(LATER))
    assert [item.up_to for item in rehearsal.rehearse(garden.pk, LATER)] == [4]
    pin = holds.place(garden.pk, act(LATER), kind=HoldKind.PIN, reason="x", path="/new")
    assert list(rehearsal.rehearse(garden.pk, LATER)) == []
    holds.release(garden.pk, pin.pk, act(LATER))
    assert len(list(rehearsal.rehearse(garden.pk, LATER))) == 1


def test_the_hubs_own_entries_are_the_hub_wide_policys(garden: MemoryStore) -> None:
    for number in range(3):
        made = PolicySettings(f"p{number}", "", keep_entry_days=20)
        hub = policies.save_policy(None, made, act(BEGIN + number * DAY)) if number == 0 else None
        if hub is None:
            first = RetentionPolicy.objects.get(store=None)
            policies.save_policy(None, made, act(BEGIN + number * DAY), policy_id=first.pk)
    policies.save_policy(None, PolicySettings("last", "", keep_entry_days=20), act(LATER), policy_id=first.pk)
    run = finished(None, LATER)
    assert (run.store_id, run.entries, run.expired) == (None, 3, 0)
    assert verify("hub")[1] is None


def test_a_policy_of_a_part_takes_it_out_of_the_wider_one(garden: MemoryStore) -> None:
    expire(None)
    expire(garden, pattern="/old/1*", paused=True)
    expire(garden, pattern="/old/2*", days=500)
    assert [item.path for item in rehearsal.rehearse(garden.pk, LATER)] == ["/old/0.md"]


# ------------------------------------------------------------------------------------------------ looked at again


def test_what_is_used_or_held_meanwhile_is_left_and_the_run_says_why(garden: MemoryStore) -> None:
    expire(garden, pattern="/old/")
    do(garden, Create("/old/3.md", "x\n"), BEGIN)
    do(garden, Create("/old/4.md", "x\n"), BEGIN)
    run = started(garden)
    if run.state == RunState.WAITING:
        runs.allow(run.pk, act(LATER))
    do(garden, View("/old/0.md", None), LATER, AGENT)
    do(garden, Delete("/old/1.md"), LATER)
    holds.place(garden.pk, act(LATER), kind=HoldKind.PIN, reason="x", path="/old/2.md")
    policies.save_policy(garden.pk, PolicySettings("keep", "/old/3*"), act(LATER))
    to_the_end(run)
    items = RunItem.objects.filter(run=run).order_by("pk").values_list("skipped", flat=True)
    assert list(items) == ["read", "deleted", "held", "policy", ""]
    assert (run.expired, run.skipped, run.state) == (1, 4, RunState.DONE)
    assert live(garden) == {"/old/0.md", "/old/2.md", "/old/3.md"}


def test_another_process_goes_on_where_the_run_was(garden: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.actions.retention.runs.items.MOST", 1)
    expire(garden)
    run = started(garden)
    assert runs.step(run.pk, LATER)
    runs._plans.known.clear()
    to_the_end(run)
    assert (run.expired, RunItem.objects.filter(run=run).count()) == (3, 3)
    assert not runs.step(run.pk, LATER)


# ------------------------------------------------------------------------------------------------ taking back


def test_a_run_is_taken_back_while_its_memories_are_in_the_trash(garden: MemoryStore) -> None:
    expire(garden, grace_days=3)
    run = to_the_end(started(garden))
    do(garden, Create("/old/1.md", "another\n"), LATER + DAY)
    assert runs.undo(run.pk, act(LATER + DAY)).count == 2
    assert live(garden) == {"/old/0.md", "/old/1.md", "/old/2.md"}
    entry = newest(garden)
    assert (entry.command, told(entry)["taken"], told(entry)["memories"]) == ("undo_run", ["/old/1.md"], 2)
    assert memory(garden, "/old/0.md").expired_by is None
    assert runs.undo(run.pk, act(LATER + DAY)).count == 0
    assert list(rehearsal.rehearse(garden.pk, LATER + 2 * DAY)) == []  # it counts from the restoring
    assert verify(garden.pk)[1] is None


def test_undoing_a_run_that_goes_on_ends_it(garden: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.actions.retention.runs.items.MOST", 1)
    expire(garden)
    run = started(garden)
    runs.step(run.pk, LATER)
    assert runs.undo(run.pk, act(LATER)).count == 1
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED and len(live(garden)) == 3 and not runs.step(run.pk, LATER)


@pytest.mark.both_databases
def test_the_undo_of_a_run_that_goes_on_in_an_archived_store_is_refused_and_the_run_goes_on(
    garden: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryhub.actions.retention.runs.items.MOST", 1)
    expire(garden)
    run = started(garden)
    runs.step(run.pk, LATER)
    stores.set_archived(garden, True, actor=PERSON, door=Door.WEB, at=LATER)
    with pytest.raises(ToolError, match="archived"):
        runs.undo(run.pk, act(LATER))
    run.refresh_from_db()
    assert run.state == RunState.RUNNING and newest(garden).command == "archive_store"
    assert to_the_end(run).expired == 3


# ------------------------------------------------------------------------------------------------ looking ahead


def test_the_past_and_the_coming_weeks_are_counted(garden: MemoryStore) -> None:
    do(garden, View("/old/2.md", None), BEGIN + 20 * DAY, AGENT)
    given = [PolicySettings("p", expire_unread_days=30).as_policy(garden.pk)]
    past = weeks.past_weeks(garden.pk, BEGIN + 60 * DAY, given, weeks=6)
    assert ([week.count for week in past.weeks], past.exact_from) == ([0, 2, 0, 0, 1, 0], None)
    coming = weeks.coming_weeks(garden.pk, BEGIN + 28 * DAY, given, weeks=4)
    assert [week.count for week in coming.weeks][:4] == [2, 0, 0, 1]
    assert [week.count for week in weeks.past_weeks(garden.pk, LATER).weeks] == [0] * 12


def test_the_items_say_who_read_each_memory_last(garden: MemoryStore) -> None:
    do(garden, View("/old/1.md", None), BEGIN + DAY, AGENT)
    expire(garden)
    items = rehearsal.with_readers(garden.pk, list(rehearsal.rehearse(garden.pk, LATER)))
    assert [item.last_read_by for item in items] == [None, "scribe", None]
    assert rehearsal.totals(items) == (3, 0, 0, 0, 24)

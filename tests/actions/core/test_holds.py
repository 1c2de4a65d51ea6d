"""Holds and pins: what is held is removed by nobody, what is pinned by no policy."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError

from memoryhub.actions.core.rules import holds
from memoryhub.actions.history import apply_plan
from memoryhub.actions.history.apply_plan import Choice
from memoryhub.actions.memories import curation, selection
from memoryhub.actions.memories.selection import Chosen, NotDone, deletion, restore as selection_restore
from memoryhub.actions.memories.selection.restore import Thrown
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import AuditEntry, Hold, HoldKind, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.protocol.commands import Command, Create, Delete, Insert, Rename, StrReplace
from memoryhub.pure.protocol.errors import ToolError
from tests.actions.retention.stores import AGENT, BEGIN, DAY, YEAR, act, do, finished, memory, new_store
from tests.api.harness import Hub

pytestmark = pytest.mark.django_db
NOW = BEGIN + DAY


@pytest.fixture
def garden(db: None) -> MemoryStore:
    store = new_store()
    for path in ("/case/a.md", "/case/deep/b.md", "/case2/c.md", "/d.md"):
        do(store, Create(path, "text\n"), BEGIN)
    return store


def held(store: MemoryStore, kind: HoldKind = HoldKind.HOLD, **place: str) -> Hold:
    return holds.place(store.pk, act(NOW), kind=kind, reason="a case", **place)  # type: ignore[arg-type]


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.pk).newest()[0]


def test_a_hold_covers_its_memory_its_directory_or_the_store(garden: MemoryStore) -> None:
    a, c = memory(garden, "/case/a.md"), memory(garden, "/case2/c.md")
    assert holds.holds_of(garden.pk, NOW).is_empty
    pin, hold = held(garden, HoldKind.PIN, path="/case"), held(garden, memory=c.pk)
    found = holds.holds_of(garden.pk, NOW)
    assert found.stops_policies(a.pk, "/case/deep/b.md") == pin == found.stops_policies(a.pk, "/case/x")
    assert found.stops_policies(a.pk, "/case") == pin and found.stops_policies(a.pk, "/cases/x") is None
    assert found.stops_removal(a.pk, a.path) is None
    assert found.stops_policies(c.pk, "/anywhere") == hold == found.stops_removal(c.pk, "/anywhere")
    whole = held(garden, path="")
    assert holds.holds_of(garden.pk, NOW).stops_removal(a.pk, "/d.md") == whole


def test_a_hold_ends_by_itself_or_when_it_is_released(garden: MemoryStore) -> None:
    end = NOW + DAY
    holds.place(garden.pk, act(NOW), kind=HoldKind.HOLD, reason="x", path="/case", ends_at=end)
    assert not holds.holds_of(garden.pk, end - timedelta(microseconds=1)).is_empty
    assert holds.holds_of(garden.pk, end).is_empty
    hold = held(garden, path="/case")
    holds.release(garden.pk, hold.pk, act(NOW))
    with pytest.raises(holds.Released):
        holds.release(garden.pk, hold.pk, act(NOW))
    assert not do(garden, Delete("/case"), end - DAY)
    assert do(garden, Delete("/case"), end)


@pytest.mark.both_databases
def test_placing_and_releasing_are_told_with_what_was_before_and_after(garden: MemoryStore) -> None:
    hold = held(garden, memory=memory(garden, "/d.md").pk)
    entry = newest(garden)
    told = json.loads(entry.input or "")
    assert (entry.command, entry.path, entry.memory, entry.seq) == ("hold", "/d.md", hold.memory, hold.seq)
    assert (told["reason"], told["kind"], told["hold"]) == ([None, "a case"], [None, "hold"], hold.pk)
    holds.release(garden.pk, hold.pk, act(NOW))
    hold.refresh_from_db()
    told = json.loads(newest(garden).input or "")
    assert (newest(garden).command, told["reason"], hold.released_seq) == (
        "release",
        ["a case", None],
        newest(garden).seq,
    )


def test_a_hold_that_cannot_be_meant_is_refused(garden: MemoryStore) -> None:
    for wrong in (
        {"reason": "  "},
        {"reason": "x" * 3000},
        {"ends_at": NOW},
        {"path": "no slash"},
        {"path": "/a/../b"},
    ):
        given = {"reason": "x", "path": "/case"} | wrong
        with pytest.raises(ValidationError):
            holds.place(garden.pk, act(NOW), kind=HoldKind.PIN, **given)  # type: ignore[arg-type]
    with pytest.raises(Memory.DoesNotExist):
        held(garden, memory="mem_nowhere")
    assert not Hold.objects.exists()


def refused(store: MemoryStore, *do_it: Callable[[], object]) -> None:
    """Each says that a hold is on it, and nothing is written."""
    before = list(Memory.objects.filter(store=store).order_by("pk").values_list("pk", "path", "head_id"))
    for one in do_it:
        with pytest.raises(ToolError, match="A legal hold is on"):
            one()
    assert list(Memory.objects.filter(store=store).order_by("pk").values_list("pk", "path", "head_id")) == before


@pytest.mark.both_databases
def test_nobody_removes_what_is_held(garden: MemoryStore) -> None:
    hold = held(garden, path="/case")
    a = memory(garden, "/case/a.md")
    selected = Chosen((a.pk, memory(garden, "/d.md").pk))
    undo = apply_plan.undo_plan(garden.pk, apply_plan.entry_versions(garden.pk, 2))
    refused(
        garden,
        lambda: curation.delete(garden.pk, "/case/a.md", act(NOW)),
        lambda: curation.delete(garden.pk, "/case", act(NOW)),
        lambda: curation.rename(garden.pk, "/case/a.md", "/d/a.md", act(NOW)),
        lambda: curation.rename(garden.pk, "/case", "/elsewhere", act(NOW)),
        lambda: curation.rename(garden.pk, "/case/deep", "/deep", act(NOW)),
        lambda: deletion.delete(garden.pk, selected, selection.selected(garden.pk, selected).digest, act(NOW)),
        lambda: apply_plan.restore(garden.pk, 1, {}, apply_plan.restore_plan(garden.pk, 1).digest, act(NOW)),
        lambda: apply_plan.undo(garden.pk, apply_plan.entry_versions(garden.pk, 2), {}, undo.digest, act(NOW)),
    )
    assert newest(garden).seq == hold.seq


def test_what_is_held_is_still_written_and_moved_within(garden: MemoryStore) -> None:
    held(garden, path="/case")
    held(garden, memory=memory(garden, "/d.md").pk)
    for command in (
        StrReplace("/case/a.md", "text", "other"), Create("/case/new.md", "x"), Rename("/case/a.md", "/case/b/a.md"),
        Rename("/d.md", "/e.md"), Delete("/case2"),
    ):  # fmt: skip
        assert do(garden, command, NOW, AGENT), command
    assert not do(garden, Delete("/e.md"), NOW, AGENT)


def test_a_directory_above_a_held_one_stays_where_it_is(garden: MemoryStore) -> None:
    held(garden, path="/case/deep")
    commands: list[Command] = [Delete("/case"), Rename("/case", "/moved")]
    assert [do(garden, command, NOW) for command in commands] == [False, False]
    assert do(garden, Delete("/case/a.md"), NOW)


def test_an_agent_is_told_and_the_refusal_is_audited(hub: Hub) -> None:
    assert hub.call(command="create", path="/memories/a/b.md", file_text="x")[0] == "ok"
    holds.place(hub.store.pk, act(NOW), kind=HoldKind.HOLD, reason="x", path="/a")
    assert hub.call(command="delete", path="/memories/a") == [
        "err", "Error: A legal hold is on /memories/a/b.md, which cannot be deleted",
    ]  # fmt: skip
    assert hub.call(command="rename", old_path="/memories/a", new_path="/memories/c") == [
        "err", "Error: A legal hold is on /memories/a: /memories/a cannot be moved out of what is held",
    ]  # fmt: skip
    entry = newest(hub.store)
    assert (entry.ok, entry.command, entry.path) == (False, "rename", "/a")


def test_writing_and_reading_ask_nothing_about_holds(hub: Hub, django_assert_num_queries: object) -> None:
    del django_assert_num_queries
    asked: list[str] = []
    original = holds._legal
    holds._legal = lambda store: asked.append("asked") or original(store)  # type: ignore[assignment,func-returns-value]
    try:
        hub.call(command="create", path="/memories/a.md", file_text="x")
        hub.call(command="str_replace", path="/memories/a.md", old_str="x", new_str="y")
        hub.call(command="view", path="/memories/a.md")
        assert asked == []
        hub.call(command="delete", path="/memories/a.md")
        assert asked == ["asked"]
    finally:
        holds._legal = original


def test_a_pin_stops_policies_and_nobody_else(garden: MemoryStore) -> None:
    policies.save_policy(garden.pk, PolicySettings("all", expire_older_days=1), act(NOW))
    held(garden, HoldKind.PIN, path="/case")
    held(garden, memory=memory(garden, "/d.md").pk)
    run = finished(garden.pk, NOW + YEAR)
    assert run.expired == 1 and memory(garden, "/case2/c.md").expired_by == run.pk
    with pytest.raises(runs.NothingDue):
        runs.start(garden.pk, act(NOW), NOW + 10 * YEAR - 60 * 365 * DAY)
    assert do(garden, Delete("/case"), NOW + YEAR)


def test_what_was_deleted_before_is_held_in_the_trash(garden: MemoryStore) -> None:
    do(garden, Delete("/d.md"), NOW)
    held(garden, memory=memory(garden, "/d.md").pk)
    policies.save_policy(garden.pk, PolicySettings("all", trash_days=1), act(NOW))
    with pytest.raises(runs.NothingDue):
        runs.start(garden.pk, act(NOW), NOW + YEAR)


def test_a_choice_that_leaves_the_held_memory_can_be_done(garden: MemoryStore) -> None:
    held(garden, path="/case")
    plan = apply_plan.restore_plan(garden.pk, 1)
    kept = {one.memory: Choice.KEEP for one in plan.changes if one.path.startswith("/case/")}
    assert apply_plan.restore(garden.pk, 1, kept, plan.digest, act(NOW)).count == 2


# ------------------------------------------------------------------------------------------------ holds that freeze


def frozen(store: MemoryStore, memory: str | None = None, path: str | None = None) -> Hold:
    return holds.place(
        store.pk, act(NOW), kind=HoldKind.HOLD, reason="Case 7:\nno changes", freezes=True, memory=memory, path=path
    )


@pytest.mark.parametrize("command", [
    StrReplace("/case/a.md", "text", "other"), Insert("/case/a.md", 0, "more"), Delete("/case/a.md"), Delete("/case"),
    Rename("/case/a.md", "/b.md"), Rename("/case", "/moved"), Rename("/case/deep/b.md", "/case/deep/c.md"),
], ids=repr)  # fmt: skip
def test_a_frozen_text_changes_through_no_command_and_the_refusal_says_why(
    garden: MemoryStore, command: Command
) -> None:
    frozen(garden, path="/case")
    before = list(Memory.objects.filter(store=garden).order_by("pk").values())
    versions = MemoryVersion.objects.filter(store=garden).count()
    assert not do(garden, command, NOW)
    assert "is held and cannot be changed, moved or deleted: Case 7: no changes" in str(newest(garden).message)
    assert list(Memory.objects.filter(store=garden).order_by("pk").values()) == before
    assert MemoryVersion.objects.filter(store=garden).count() == versions


def test_a_hold_without_freezing_keeps_every_version_and_lets_the_text_change(garden: MemoryStore) -> None:
    a = memory(garden, "/case/a.md")
    held(garden, path="/case")
    do(garden, StrReplace("/case/a.md", "text", "other"), NOW)
    assert [version.content for version in MemoryVersion.objects.of_memory(a).newest()] == ["other\n", "text\n"]


def test_people_cannot_change_a_frozen_text_either(garden: MemoryStore) -> None:
    a, d = memory(garden, "/case/a.md"), memory(garden, "/d.md")
    first = str(a.head_id)
    do(garden, StrReplace("/case/a.md", "text", "other"), NOW)
    changed = memory(garden, "/case/a.md")
    hold = frozen(garden, memory=a.pk)
    plan = apply_plan.undo_plan(garden.pk, [str(changed.head_id)])
    back = apply_plan.restore_plan(garden.pk, AuditEntry.objects.of_chain(garden.pk).newest()[0].seq - 2)
    tries: list[Callable[[], object]] = [
        lambda: curation.edit(garden.pk, a.pk, "mine\n", changed.sha256, act(NOW)),
        lambda: curation.restore(garden.pk, first, act(NOW)),
        lambda: apply_plan.undo(garden.pk, [str(changed.head_id)], {}, plan.digest, act(NOW)),
        lambda: apply_plan.restore(garden.pk, newest(garden).seq - 2, {}, back.digest, act(NOW)),
    ]
    for attempt in tries:
        with pytest.raises(ToolError, match="is held"):
            attempt()
    assert memory(garden, "/case/a.md").head_id == changed.head_id
    do(garden, StrReplace("/d.md", "text", "free"), NOW)
    assert memory(garden, "/d.md").head_id != d.head_id
    holds.release(garden.pk, hold.pk, act(NOW))
    curation.edit(garden.pk, a.pk, "mine\n", changed.sha256, act(NOW))


def test_only_a_legal_hold_freezes_and_the_entry_says_so(garden: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        holds.place(garden.pk, act(NOW), kind=HoldKind.PIN, reason="x", path="/case", freezes=True)
    frozen(garden, path="/case")
    assert json.loads(newest(garden).input or "")["freezes"] == [None, True]


@pytest.mark.both_databases
def test_what_is_held_in_the_trash_does_not_come_back_elsewhere(garden: MemoryStore) -> None:
    before = newest(garden).seq
    do(garden, Rename("/d.md", "/case/d.md"), BEGIN)
    a, d = memory(garden, "/case/a.md"), memory(garden, "/case/d.md")
    do(garden, Delete("/case/a.md"), BEGIN)
    do(garden, Delete("/case/d.md"), BEGIN)
    first = str(MemoryVersion.objects.of_memory(a).get(number=1).pk)
    do(garden, Create("/case/a.md", "new\n"), BEGIN)
    thrown = Thrown((a.pk,))
    shown = selection_restore.return_plan(garden.pk, thrown, NOW)
    for hold in (held(garden, path="/case"), None):
        match = "A legal hold is on" if hold else "is held and cannot be changed|the plan changed"
        if hold is None:
            frozen(garden, path="/case")
        tries: list[Callable[[], object]] = [
            lambda: curation.restore(garden.pk, first, act(NOW), path="/free.md"),
            lambda: selection_restore.restore(garden.pk, thrown, {a.pk: "/free.md"}, shown.digest, act(NOW)),
            lambda: apply_plan.restore(
                garden.pk, before, {a.pk: Choice.KEEP}, apply_plan.restore_plan(garden.pk, before).digest, act(NOW)
            ),
        ]
        for attempt in tries:
            with pytest.raises((ToolError, NotDone), match=match):
                attempt()
        if hold:
            holds.release(garden.pk, hold.pk, act(NOW))
    assert not Memory.objects.live().filter(pk__in=[a.pk, d.pk]).exists()

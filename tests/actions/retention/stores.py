"""Stores with a history of a year, random policies and holds, and what a run must do with them, worked out plainly."""

import contextlib
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import commands
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.actions.retention.rehearsal import Item
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import (
    AuditEntry,
    Door,
    Hold,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryVersion,
    Removal,
    ReviewState,
    Run,
    RunItem,
    RunState,
)  # fmt: skip
from memoryhub.models.audit import ActorKind
from memoryhub.pure import retention_rules
from memoryhub.pure.protocol.commands import Command, Create, Delete, Rename, StrReplace, View

BEGIN = datetime(2025, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
YEAR = 365 * DAY
AGENT = Actor(ActorKind.KEY.value, "apikey_1", "agent_1", "scribe")
PERSON = Actor.system("Anna")
PATHS = ("/a/1.md", "/a/2.md", "/a/deep/3.md", "/a/deep/4.txt", "/b/5.md", "/b/6.md", "/7.md")
PATTERNS = ("", "/a/", "/a/*.md", "/a/deep/", "/**/5.md", "/b/*", "/7.md", "/nowhere/")


def act(at: datetime, actor: Actor = PERSON) -> Act:
    return Act(actor, Door.TOOL if actor is AGENT else Door.WEB, at)


def new_store(at: datetime = BEGIN) -> MemoryStore:
    return stores.create_store(StoreSettings("Garden"), actor=PERSON, door=Door.COMMAND, at=at)


def do(store: MemoryStore, command: Command, at: datetime, actor: Actor = PERSON) -> bool:
    """A command at a moment; whether it was done."""
    with tree.locked(store.pk, act(at, actor)) as locked:
        record = commands.perform(locked, command)
        tree.commit(locked, record._replace(input=audit.to_json({})))
    return record.ok


def memory(store: MemoryStore, path: str) -> Memory:
    return Memory.objects.filter(store=store).order_by("-created_at").filter(path=path)[0]


def grown_store(dice: random.Random, acts: int = 60) -> MemoryStore:
    """A store in which agents and people did things at random moments of a year."""
    store = new_store()
    moments = sorted(BEGIN + timedelta(hours=6 * dice.randint(0, 4 * 365)) for _ in range(acts))
    for number, at in enumerate(moments):
        if number == acts // 2:
            expire_some(store, at)
        path, actor = dice.choice(PATHS), dice.choice([AGENT, PERSON, PERSON])
        command = dice.choice([
            Create(path, f"{number}\n" * dice.randint(1, 9)), Create(dice.choice(PATHS), "new\n"),
            StrReplace(path, "\n", f" {number}\n"), StrReplace(path, "new", f"new {number}"), View(path, None),
            View(path, None), View(path, None), Delete(path), Rename(path, path + dice.choice(["", "x"])),
        ])  # fmt: skip
        do(store, command, at, actor)
    return store


def expire_some(store: MemoryStore, at: datetime) -> None:
    """Some memories are in the trash since a run put them there."""
    policy = policies.save_policy(store.pk, PolicySettings("half", "/a/", expire_unchanged_days=20), act(at))
    with contextlib.suppress(runs.NothingDue):
        finished(store.pk, at)
    policies.delete_policy(policy.pk, act(at))


def random_policy(dice: random.Random, pattern: str) -> PolicySettings:
    def days() -> int | None:
        return dice.choice([None, dice.randint(1, 400)])

    return PolicySettings(
        f"policy {pattern}", pattern, days(), days(), days(), dice.choice([None, 1, 2, 3]), days(),
        None if pattern else days(), dice.randint(1, 90), days(),
        dice.random() < 0.3, dice.random() < 0.3, dice.random() < 0.1,
    )  # fmt: skip


def random_rules(dice: random.Random, store: MemoryStore, at: datetime) -> None:
    """Some policies, and sometimes holds and pins."""
    for pattern in dice.sample(PATTERNS, dice.randint(1, 3)):
        policies.save_policy(store.pk, random_policy(dice, pattern), act(at))
    if dice.random() < 0.5:
        policies.save_policy(None, random_policy(dice, dice.choice(["", "/a/"])), act(at))
    for _ in range(dice.choice([0, 0, 1, 2])):
        some = dice.choice(list(Memory.objects.filter(store=store).values_list("pk", flat=True)) or [None])
        kind, end = dice.choice(list(HoldKind)), dice.choice([None, at + dice.randint(1, 200) * DAY])
        place = {"memory": some} if some and dice.random() < 0.6 else {"path": dice.choice(["/a", "/b", "/a/deep"])}
        holds.place(store.pk, act(at), kind=kind, reason="a case", ends_at=end, **place)


@dataclass(slots=True)
class Shot:
    """What there is of a store at a moment."""

    live: dict[str, tuple[str, str]]
    trash: dict[str, str]
    versions: dict[str, tuple[str, int]]
    waiting: set[str]
    entries: set[int]
    held: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, store: MemoryStore, at: datetime) -> "Shot":
        rows = Memory.objects.filter(store=store)
        versions = MemoryVersion.objects.filter(store=store)
        shot = cls(
            {pk: (path, head) for pk, path, head in rows.live().values_list("pk", "path", "head_id")},
            dict(rows.in_trash().values_list("pk", "path")),
            {pk: (memory, number) for pk, memory, number in versions.values_list("pk", "memory_id", "number")},
            set(versions.filter(review_state=ReviewState.UNREVIEWED).values_list("pk", flat=True)),
            set(AuditEntry.objects.filter(chain=store.pk).values_list("seq", flat=True)),
        )
        shot.held = plainly_held(store, at)
        return shot


def plainly_held(store: MemoryStore, at: datetime) -> set[str]:
    """The memories that a hold or a pin is on, asked of each hold and each memory."""
    found = set()
    for hold in Hold.objects.filter(store=store, released_at=None):
        if hold.ends_at is not None and hold.ends_at <= at:
            continue
        for pk, path in Memory.objects.filter(store=store).values_list("pk", "path"):
            if hold.memory == pk or (hold.path is not None and f"{path}/".startswith(f"{hold.path}/")):
                found.add(pk)
    return found


def plainly_due(store: MemoryStore, at: datetime) -> set[str]:
    """The live memories that have to expire, asked of each memory."""
    given = policies.concerning(store.pk)
    due = set()
    for row in Memory.objects.live().filter(store=store):
        fitting = [one for one in given if retention_rules.matches(one.pattern, row.path)]
        if not fitting:
            continue
        best = min(fitting, key=lambda one: one.specificity)
        if best.keeps_approved and row.head.review_state in (None, ReviewState.APPROVED):
            continue
        begun = max(filter(None, [row.created_at, row.restored_at]))
        times = [
            (best.expire_older_days, begun), (best.expire_unread_days, max(filter(None, [begun, row.last_read_at]))),
            (best.expire_unchanged_days, max(filter(None, [row.updated_at, row.restored_at]))),
        ]  # fmt: skip
        is_due = [at - since >= days * DAY for days, since in times if days is not None]
        if not best.paused and is_due and (all(is_due) if best.expires_together else any(is_due)):
            due.add(row.pk)
    return due


def finished(store_id: str | None, at: datetime, now: datetime | None = None) -> Run:
    """A run as of a moment, allowed where it asks, to its end."""
    run = runs.start(store_id, act(now or at), at)
    if run.state == RunState.WAITING:
        runs.allow(run.pk, act(now or at))
    while runs.step(run.pk, now or at):
        pass
    return Run.objects.get(pk=run.pk)


def done_by(run: Run) -> list[tuple[str, str, int, int]]:
    """(what, memory, count, bytes) of what a run did."""
    items = RunItem.objects.filter(run=run, skipped="").order_by("pk")
    return list(items.values_list("removal", "memory", "count", "bytes"))


def listed(items: list[Item]) -> list[tuple[str, str, int, int]]:
    return [(item.removal.value, item.memory, item.count, item.bytes) for item in items]


def check_shots(before: Shot, after: Shot, items: list[Item]) -> None:
    """What is gone is what was listed, and nothing else changed."""
    expired = {item.memory for item in items if item.removal == Removal.EXPIRE}
    purged = {item.memory for item in items if item.removal == Removal.PURGE}
    assert {pk: seen for pk, seen in before.live.items() if pk not in expired} == after.live
    assert before.trash.keys() - purged | expired == after.trash.keys()
    lost = before.versions.keys() - after.versions.keys()
    pruned: dict[str, int] = {}
    for pk in lost:
        owner = before.versions[pk][0]
        assert owner not in before.held
        if owner not in purged:
            assert pk not in before.waiting
            pruned[owner] = pruned.get(owner, 0) + 1
    assert pruned == {item.memory: item.count for item in items if item.removal == Removal.VERSIONS}
    heads = {head for _, head in before.live.values()}
    assert heads.isdisjoint(lost) and before.held.isdisjoint(expired | purged)
    up_to = next((item.up_to for item in items if item.removal == Removal.ENTRIES), 0)
    assert before.entries - after.entries == {seq for seq in before.entries if seq <= (up_to or 0)}

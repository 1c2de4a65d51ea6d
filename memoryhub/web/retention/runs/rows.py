"""Data for the pages of runs: the progress, the effects on memories, and what can be undone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.actions.history.undone import undoing
from memoryhub.actions.memories.selection.restore import STAYS, Obstacle, obstacles
from memoryhub.models import HUB, AuditEntry, Guard, Memory, Removal, Run, RunItem, RunState, User
from memoryhub.pure import ids
from memoryhub.web.common.versions.undone import Undone
from memoryhub.web.retention import rows, sentences

SIZE = 200
MOST_BACK = 10_000
_PART = 500
MOST_ALLOWED = 100
"""The most entries that are searched for the act that let a run go on. They are the first ones after the start of the
run."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers. `done` is how many of the expected items the run has processed."""

    run: Run
    done: int
    per_cent: int  # below 100 until the state of the run is `done`
    figures: Sequence[tuple[int, str]]

    @property
    def is_running(self) -> bool:
        return bool(self.run.state == RunState.RUNNING)

    @property
    def is_waiting(self) -> bool:
        return bool(self.run.state == RunState.WAITING)

    @property
    def is_open(self) -> bool:
        return self.is_running or self.is_waiting

    @property
    def is_brief(self) -> bool:
        """Return whether the run ended within a minute."""
        return self.run.ended_at is not None and self.run.ended_at - self.run.started_at < timedelta(minutes=1)

    @property
    def is_clock(self) -> bool:
        return bool(self.run.guard == Guard.CLOCK)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The person who allowed a stopped run to go on, and the audit entry of this act (None if it was removed)."""

    by: User | None
    entry: AuditEntry | None


def allowed(run: Run) -> Allowed | None:
    """Return who allowed a run to go on after a guard had stopped it, or None."""
    if not run.guard or run.state == RunState.WAITING:
        return None
    entries = AuditEntry.objects.of_chain(run.store_id or HUB).of_command("allow_run").filter(at__gte=run.started_at)
    found = [entry for entry in entries.oldest()[:MOST_ALLOWED] if f'"{run.pk}"' in (entry.input or "")]
    if not found and run.guard_allowed_by is None:
        return None
    return Allowed(run.guard_allowed_by, found[0] if found else None)


@dataclass(frozen=True, slots=True)
class Line:
    """The effect of a run on one memory, or on audit entries."""

    item: RunItem
    path: str | None  # None if the memory was deleted permanently, empty for audit entries
    what: str
    why: str
    policy: str
    skipped: str
    state: str
    url: str
    entry: str  # the URL of the audit entry


@dataclass(frozen=True, slots=True)
class Lines:
    """One page of lines. If another page follows, `next` is the id of the last item on this page; otherwise None."""

    lines: Sequence[Line]
    next: int | None


@dataclass(frozen=True, slots=True)
class WayBack:
    """The memories that a run moved to the trash and that are still in the trash. `count` is their number."""

    count: int
    is_cut: bool  # not all memories were checked
    taken: Sequence[str]  # the paths at which another memory is now
    gone: int  # memories without a text
    held: int = 0  # memories that a legal hold freezes
    blocked: int = 0  # memories whose text or path the rules for sensitive text do not allow

    @property
    def coming(self) -> int:
        """Return the number of memories that an undo would bring back."""
        return self.count - len(self.taken) - self.gone - self.held - self.blocked


def summary(run: Run) -> Summary:
    """Return a run in numbers. If the run is not done, the items that it has processed are counted now."""
    done = RunItem.objects.filter(run=run).count() if run.state != RunState.DONE else run.expected
    per_cent = 100 if run.state == RunState.DONE else min(99, 100 * done // max(run.expected, 1))
    return Summary(run, min(done, run.expected), per_cent, _figures(run))


def _figures(run: Run) -> list[tuple[int, str]]:
    found = (
        (run.expired, _("to the trash")),
        (run.purged, _("removed permanently")),
        (run.versions, _("old versions")),
        (run.entries, _("audit entries")),
        (run.skipped, _("kept")),
    )
    return [(count, words) for count, words in found if count]


def undone(run: Run) -> Undone | None:
    """Return how far a run is undone, with the entry of its newest undo in force. Return None if no undo is in force.

    An undo that was itself undone is no longer in force.
    """
    store_id = run.store_id or ""
    entries = AuditEntry.objects.of_chain(store_id).of_command("undo_run").filter(ok=True, input__contains=run.pk)
    came = {
        seq: int(json.loads(input or "{}").get("memories", 0)) for seq, input in entries.values_list("seq", "input")
    }
    came = {seq: count for seq, count in came.items() if count}
    for seq, again in undoing(store_id, came).items() if came else ():
        came[seq] -= again.count
    in_force = [seq for seq, count in came.items() if count > 0]
    entry = entries.filter(seq__in=in_force).newest().first() if in_force else None
    return Undone(entry, sum(came[seq] for seq in in_force), run.expired) if entry else None


def items(run: Run, after: int) -> Lines:
    """Return the page of lines for the items that follow the item with the id `after`."""
    found = list(RunItem.objects.filter(run=run, pk__gt=after).order_by("pk")[: SIZE + 1])
    shown = found[:SIZE]
    memories = Memory.objects.among(run.store_id or "", {item.memory for item in shown if item.memory}).in_bulk()
    names = rows.names_of({item.policy for item in shown})
    lines = [_line(run, item, memories.get(item.memory), names) for item in shown]
    return Lines(lines, shown[-1].pk if len(found) > SIZE else None)


def _line(run: Run, item: RunItem, memory: Memory | None, names: Mapping[str, str]) -> Line:
    is_memory = item.memory.startswith(ids.MEMORY)
    return Line(
        item,
        memory.path if memory else None if is_memory else "",
        rows.what(item.removal, item.count),
        sentences.reason(item.rule, item.since, run.at, item.days),
        names.get(item.policy or "", ""),
        skipped_words(item.skipped),
        _state(item, memory),
        reverse("memory", args=[run.store_id, memory.pk]) if memory else "",
        reverse("entry", args=[run.store_id, item.seq]) if item.seq and run.store_id else "",
    )


def _state(item: RunItem, memory: Memory | None) -> str:
    """Return words for the current place of a memory that the run moved to the trash; "" for any other memory."""
    if item.removal != Removal.EXPIRE or item.skipped or item.seq is None:
        return ""
    if memory is None:
        return _("removed permanently since then")
    return _("in the trash") if not memory.is_live else _("restored since then")


def skipped_words(code: str) -> str:
    """Return words for the reason why a run skipped an item."""
    words = {
        "held": _("pinned or on hold"),
        "approved": _("a person wrote or approved its newest version"),
        "gone": _("no longer there"),
        "deleted": _("deleted in the meantime"),
        "restored": _("restored in the meantime"),
        "changed": _("changed in the meantime"),
        "read": _("read in the meantime"),
        "policy": _("another policy applies now"),
    }
    return words.get(code, code)


def way_back(run: Run) -> WayBack:
    """Return the memories that the run moved to the trash and that are still in the trash. At most MOST_BACK memories
    are checked."""
    if not run.expired or run.store_id is None:
        return WayBack(0, False, (), 0)
    expired = RunItem.objects.filter(run=run, removal=Removal.EXPIRE, skipped="").order_by("pk")
    found: list[tuple[str, Obstacle]] = []
    for part in rows.parts(expired.values_list("memory", flat=True)[:MOST_BACK], _PART):
        trash = Memory.objects.among(run.store_id, part).in_trash().filter(expired_by=run.pk)
        found += obstacles(run.store_id, tuple(trash.values_list("pk", flat=True)), timezone.now())
    gone = sum(obstacle == Obstacle.GONE for _, obstacle in found)
    held = sum(obstacle == Obstacle.HELD for _, obstacle in found)
    blocked = sum(obstacle == Obstacle.BLOCKED for _, obstacle in found)
    taken = sorted(path for path, obstacle in found if obstacle not in (Obstacle.NONE, *STAYS))
    return WayBack(len(found), run.expired > MOST_BACK, taken, gone, held, blocked)

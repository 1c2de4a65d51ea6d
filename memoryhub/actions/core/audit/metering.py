"""Counts entries for metrics. The counts come from the entries themselves, so they agree with the audit."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.models import CallCount, MeteredChain

BOUNDS = (1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
"""The upper bounds of the buckets, in milliseconds. One more bucket counts longer durations."""
OTHER = "other"
"""The name under which unknown commands are counted: an agent can send any word as a command."""


class Call(NamedTuple):
    """The values of an entry that metrics need. The duration is in microseconds."""

    seq: int
    command: str
    door: str
    outcome: str
    micros: int


def counted(chain: str) -> int:
    """Return the seq of the last counted entry of a chain; 0 if there is none."""
    return MeteredChain.objects.filter(pk=chain).values_list("seq", flat=True).first() or 0


def add(chain: str, calls: Sequence[Call]) -> None:
    """Count the new `calls` of a chain. Until the transaction ends, other processes wait to count this chain."""
    MeteredChain.objects.get_or_create(pk=chain, defaults={"seq": 0})
    row = MeteredChain.objects.select_for_update().get(pk=chain)
    new = [call for call in calls if call.seq > row.seq]
    if not new:
        return
    MeteredChain.objects.filter(pk=chain).update(seq=new[-1].seq)
    by_key: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for call in new:
        by_key[_command(call.command), call.door, call.outcome].append(call.micros)
    for key in sorted(by_key):  # in one order: no deadlock
        _add(key, by_key[key])


def _command(name: str) -> str:
    return name if name in COMMANDS else OTHER


def _add(key: tuple[str, str, str], durations: Iterable[int]) -> None:
    command, door, outcome = key
    empty = {"buckets": [0] * (len(BOUNDS) + 1)}
    rows = CallCount.objects.filter(command=command, door=door, outcome=outcome)
    CallCount.objects.get_or_create(command=command, door=door, outcome=outcome, defaults=empty)
    row = rows.select_for_update().get()
    for micros in durations:
        row.count, row.micros = row.count + 1, row.micros + micros
        row.buckets[bisect_left(BOUNDS, micros / 1_000)] += 1
    rows.update(count=row.count, micros=row.micros, buckets=row.buckets)

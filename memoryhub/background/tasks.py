"""Background work of the server: checkpoints, expiry, scrubbing, figures, retention, imports, scans, deletion,
e-mail."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.accounts import browsers, second_person, tries
from memoryhub.actions.backups import schedule
from memoryhub.actions.claude_runs import work as claude_work
from memoryhub.actions.core import transactions
from memoryhub.actions.core.hub import background, clock as hub_clock, disk_space, outbox
from memoryhub.actions.core.transactions import pace
from memoryhub.actions.erasure import sqlite_remains
from memoryhub.actions.findings import scans, unsettled
from memoryhub.actions.mail import alarms, sending
from memoryhub.actions.memories import refusals, refused_calls
from memoryhub.actions.retention import housekeeping, runs
from memoryhub.actions.stores import delete
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import forgetting
from memoryhub.actions.verification import checkpoints, runs as verification
from memoryhub.actions.webhooks import send
from memoryhub.background import webhooks
from memoryhub.background.audit_stream import AuditStream
from memoryhub.background.claude_runs import taking
from memoryhub.background.mail import Post
from memoryhub.background.runner import Clock, Explained, JobFailed, Report, Runner, Seconds, Task, delay_after
from memoryhub.background.spans import Spans
from memoryhub.database import connections
from memoryhub.models import AuditChain

CHECKPOINT_ENTRIES = 1_000
CHECKPOINT_EVERY = 10.0
"""A checkpoint is written after this many entries, or after this many seconds."""
RUN_FOR = 0.8
PAUSE = 0.02
"""How many seconds a round of jobs lasts, and how long it pauses after each step. In these pauses tool calls are
answered."""
RUN_EVERY = 1.0
"""Seconds between two steps of a retention run while others write. Each step keeps all writers waiting, so fewer calls
are delayed by a few long steps than by many short ones."""
SCAN_FOR = 2.0
"""Seconds of a round for scans of the history; half of them are pauses in which calls are answered."""


def start(stop: threading.Event) -> list[threading.Thread]:
    """Start the background threads of a server process, which end when `stop` is set."""
    connections.limit_waits()
    transactions.start_committer()
    if connection.vendor == "sqlite":
        disk_space.watch(Path(str(connection.settings_dict["NAME"])).parent)
    checkpointer = connections.start_checkpointer(stop, transactions.write_lock)
    others = [*webhooks.start(stop, Report("webhooks")), *taking.start(stop, Report("claude_runs"))]
    threads = [*runner().start(stop), *others]
    return [*threads, checkpointer] if checkpointer else threads


def runner(clock: Clock = timezone.now, seconds: Seconds = time.monotonic) -> Runner:
    """Return the runner of all background work except webhooks, which have their own threads."""
    return Runner(
        [
            Task("checkpoints", Checkpoints(seconds).write, aside=True),
            Task("scrub", scrub, aside=True),
            Task("backups", Backups().go_on, aside=True),
            Task("disk", lambda now: disk_space.look()),
            Task("refused_calls", lambda now: refused_calls.write()),
            Task("forgetting", Forgetting(seconds).forget),
            Task("figures", count),
            Task("retention", look_at_policies),
            Task("runs", retention_runs().go_on),
            Task("imports", imports().go_on),
            Task("scans", open_scans().go_on),
            Task("findings", settle_findings),
            Task("deletion", deletions().go_on),
            Task("alarms", alarms.look),
            Task("verification", verification.run_asked, aside=True),
            *([Task("stream", AuditStream().go_on, aside=True)] if settings.MEMORYHUB_AUDIT_STREAM else []),
            *([Task("spans", Spans().send, aside=True)] if settings.MEMORYHUB_SPANS else []),
            *([Task("mail", Post(seconds).work, aside=True)] if outbox.is_on() else []),
        ],
        clock,
        seconds,
    )


class Checkpoints:
    """Writes checkpoints of the audit. It remembers when it wrote the last one, and the chains' heads in that one."""

    def __init__(self, seconds: Seconds) -> None:
        self.seconds = seconds
        self.written = seconds()
        self.known = checkpoints.Known()

    def write(self, now: datetime) -> None:
        """Write a checkpoint after CHECKPOINT_ENTRIES new entries, or CHECKPOINT_EVERY seconds after the last one."""
        if self.seconds() - self.written >= CHECKPOINT_EVERY or self._entries_since() >= CHECKPOINT_ENTRIES:
            checkpoints.append(settings.MEMORYHUB_CHECKPOINT_FILE, now, self.known)
            self.written = self.seconds()

    def _entries_since(self) -> int:
        heads = AuditChain.objects.values_list("id", "last_seq")
        return sum(last_seq - self.known.heads.get(id, 0) for id, last_seq in heads)


class Forgetting:
    """Deletes rows that are too old. If a deleted row is a count of refused requests, the audit gets an entry about
    it."""

    def __init__(self, seconds: Seconds) -> None:
        self.seconds = seconds
        self.looked = seconds()

    def forget(self, now: datetime) -> None:
        elapsed, self.looked = self.seconds() - self.looked, self.seconds()
        clock = hub_clock.advance(now, timedelta(seconds=elapsed))
        while housekeeping.forget_calls(clock):
            pass
        while send.forget(clock):
            pass
        while tries.forget(clock):
            pass
        while claude_work.forget(clock):
            pass
        while sending.forget(clock):
            pass
        housekeeping.forget_sessions(now)
        browsers.forget(now)
        forgetting.forget_previews(clock)
        second_person.forget(now)
        background.forget_nodes(clock)
        refusals.write_counted(now)


def scrub(now: datetime) -> None:
    """Remove the remains of redacted values from the disk, if that is due."""
    try:
        sqlite_remains.scrub_due(now)
    except sqlite_remains.NotScrubbed as error:
        raise Explained(str(error)) from error


class Backups:
    """Makes the planned backups. As long as the hub's last attempt has failed, each round raises the error of that
    attempt."""

    def __init__(self) -> None:
        self.failed = JobFailed("backups")

    def go_on(self, now: datetime) -> None:
        """Make a backup if one is due. Raises JobFailed if the last attempt failed."""
        schedule.back_up_due(now)
        there = schedule.state()
        if not (there.plan.target and there.problem):
            return
        if str(self.failed.__cause__) != there.problem:
            self.failed = JobFailed("backups")
            self.failed.__cause__ = Explained(there.problem)
        raise self.failed


def count(now: datetime) -> bool:
    """Count new entries for the figures; return False while there are more to count."""
    if not figures.catch_up():
        return False
    figures.make_lists(now)
    return True


def settle_findings(now: datetime) -> bool:
    """Check resolved findings again, and reopen those whose value is still in the memory. Return False while there are
    more to check."""
    return not unsettled.step(now)


def look_at_policies(now: datetime) -> None:
    """Create the retention runs that are due by the retention policies."""
    runs.due_runs(now)


class Jobs:
    """Works on several jobs in turn: one step of a job, then a pause, then the next job.

    A job that fails is tried again after a growing delay; the other jobs go on. While any job is failing, each round
    ends by raising that job's error.
    """

    def __init__(self, find: Callable[[], Iterable[str]], step: Callable[[str], bool], seconds: float) -> None:
        self.find, self.step, self.slice = find, step, seconds
        self.failed: dict[str, tuple[int, float, JobFailed]] = {}
        self.last = ""

    def go_on(self, now: datetime) -> bool:
        """Work for `self.slice` seconds; return False if there is more to do. Raises JobFailed if a job is failing."""
        there = list(self.find())
        self.failed = {job: kept for job, kept in self.failed.items() if job in there}
        end, jobs = time.monotonic() + self.slice, deque(job for job in there if self._is_due(job))
        if self.last in jobs:
            jobs.rotate(-1 - jobs.index(self.last))
        while jobs and time.monotonic() < end:
            job = self.last = jobs.popleft()
            if self._step(job):
                jobs.append(job)
            time.sleep(PAUSE)
        for _, _, error in self.failed.values():
            raise error
        return not jobs

    def _is_due(self, job: str) -> bool:
        return job not in self.failed or self.failed[job][1] <= time.monotonic()

    def _step(self, job: str) -> bool:
        try:
            more = self.step(job)
        except Exception as error:
            failures = self.failed[job][0] + 1 if job in self.failed else 1
            failed = JobFailed(job)
            failed.__cause__ = error
            self.failed[job] = failures, time.monotonic() + delay_after(failures), failed
            return False
        self.failed.pop(job, None)
        return more


class OpenRuns:
    """Finds the retention runs that can go on.

    A run begins only after the figures have counted all entries up to its start. Otherwise, the rows that it removes
    would be missing from the figures.
    """

    def __init__(self) -> None:
        self.counted: set[str] = set()

    def find(self) -> list[str]:
        """Return the ids of the retention runs that can go on."""
        going_on = runs.going_on()
        if not self.counted.issuperset(going_on) and not figures.catch_up():
            return [run for run in going_on if run in self.counted]
        self.counted = set(going_on)
        return going_on


def retention_runs(seconds: float = RUN_FOR) -> Jobs:
    """Return a Jobs object that continues the retention runs."""
    return Jobs(OpenRuns().find, _run, seconds)


def _run(run_id: str) -> bool:
    begun = time.monotonic()
    more = runs.step(run_id, timezone.now())
    if more and pace.others_write():
        time.sleep(max(0.0, begun + RUN_EVERY - time.monotonic()))
    return more


def imports(seconds: float = RUN_FOR) -> Jobs:
    """Return a Jobs object that makes the previews of imports and continues imports."""
    return Jobs(importing.running, lambda job: importing.step(job, timezone.now()), seconds)


def deletions(seconds: float = RUN_FOR) -> Jobs:
    """Return a Jobs object that removes the rows of deleted stores."""
    return Jobs(delete.deleted_stores, delete.step, seconds)


def open_scans(seconds: float = SCAN_FOR) -> Jobs:
    """Return a Jobs object that continues unfinished scans. After each step, it pauses for as long as the step took."""
    return Jobs(lambda: [scan.pk for scan in scans.running()], _scan, seconds)


def _scan(scan_id: str) -> bool:
    begun = time.monotonic()
    more = scans.step(scan_id, timezone.now())
    time.sleep(time.monotonic() - begun)
    return more

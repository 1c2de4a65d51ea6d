"""The audit: chains, entries, and the calls that must not run twice."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.db import models
from django.db.models import Expression, F, Max, Min, Q, Sum, Value
from django.db.models.functions import Coalesce, Length, Substr
from django.db.models.lookups import Exact, GreaterThanOrEqual, LessThan

from memoryhub.models.fields import IdField, Literal, PathField, PlainJSONField
from memoryhub.models.rows import RowOfStore
from memoryhub.protocol import paths

HUB = "hub"
"""The id of the chain of acts that belong to no store: sign-ins, people, agents, keys, settings."""

LAST_SEQ = 2**63 - 1
CLOCK_SLACK = 5_000
"""Entries may stand this many places from where their time would put them, and a search by time still finds them."""


class Door(models.TextChoices):
    TOOL = "tool"
    API = "api"
    WEB = "web"
    MCP = "mcp"
    COMMAND = "command"

    @property
    def has_tool(self) -> bool:
        """Whether agents call the memory tool here, and may name any command."""
        return self in (Door.TOOL, Door.MCP)

    @property
    def shows_by_id(self) -> bool:
        """Whether a version may be shown by its id, also later than it was the newest at its path."""
        return self in (Door.API, Door.MCP)


class ActorKind(models.TextChoices):
    KEY = "key"
    USER = "user"
    POLICY = "policy"
    SYSTEM = "system"


ENTRY_BYTES = 500
"""What an entry is counted for beside its long columns: the short ones and its places in the indexes."""


class AuditChain(models.Model):
    """The head of a chain; the id is a store's, or HUB. It survives its store, closed by the deletion's entry.

    `bytes` are those of its entries as they were written, less those of the entries that retention has removed.

    Where retention has removed the oldest entries, up to and with `start_seq`, the chain starts at a signed checkpoint:
    the hash of the last of them, the moment, a digest of the versions that they made and that are still there, and one
    of the seals of governing rows that they told and that are still the newest.
    """

    id = IdField(primary_key=True)
    last_seq = models.BigIntegerField(default=0)
    last_hash = models.TextField()
    bytes = models.BigIntegerField(default=0, db_default=0)
    closed_at = models.DateTimeField(null=True)
    start_seq = models.BigIntegerField(default=0, db_default=0)
    start_hash = models.TextField(null=True)
    start_at = models.DateTimeField(null=True)
    start_versions = models.TextField(null=True)
    start_seals = models.TextField(null=True)
    start_signature = models.TextField(null=True)


UNINDEXED_PATH = Coalesce(F("path"), Value("", output_field=PathField()))
UNINDEXED_TIME = Coalesce(F("at"), Value(datetime.min.replace(tzinfo=UTC)))
"""What no index is asked for: other conditions leave few rows, which the planner does not know."""


def at_or_beneath(column: Expression | F, path: str) -> Q:
    """At a path; with a final slash beneath it, as a range: LIKE folds case on SQLite."""
    if not path.endswith("/"):
        return Q(Exact(column, path))
    low, high = paths.subtree(path[:-1])
    return Q(GreaterThanOrEqual(column, low), LessThan(column, high))


def by_path_alone(rows: models.QuerySet[Any], low: int, high: int) -> Any:
    """Rows with some paths and a seq between two, read from the index by path alone; their `place` is their seq.

    Asked for the bounds of seq, or for its order, SQLite would walk the whole chain; `+ 0` hides them from it. Bounded
    twice by what it does not know, PostgreSQL would expect few rows and start parallel workers.
    """
    placed = rows.annotate(place=F("seq") + 0).filter(place__lte=high)
    return placed.filter(place__gte=low) if low > 1 else placed


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    def of_chain(self, chain: str) -> AuditEntryQuerySet:
        return self.filter(chain=chain)

    def newest(self) -> AuditEntryQuerySet:
        return self.order_by("-seq")

    def oldest(self) -> AuditEntryQuerySet:
        return self.order_by("seq")

    def in_order(self, *, newest: bool) -> AuditEntryQuerySet:
        return self.newest() if newest else self.oldest()

    def in_brief(self) -> AuditEntryQuerySet:
        """Without the columns that can be long; `message_start` is what the message begins with."""
        long = ("input", "message", "salts", "commitments")
        return self.defer(*long).annotate(message_start=Substr("message", 1, 400))

    def between(self, low: int, high: int) -> AuditEntryQuerySet:
        """Those whose seq is neither below `low` nor above `high`."""
        return self.filter(seq__gte=low, seq__lte=high)

    def by_author(self, author_id: str) -> AuditEntryQuerySet:
        """Those of an agent (whichever key it showed) or of a person."""
        return self.filter(author_id=author_id)

    def of_session(self, session_id: str) -> AuditEntryQuerySet:
        return self.filter(session=session_id)

    def of_command(self, command: str) -> AuditEntryQuerySet:
        return self.filter(command=command)

    def through(self, door: str) -> AuditEntryQuerySet:
        return self.filter(door=door)

    def through_other(self, door: str) -> AuditEntryQuerySet:
        """Those through a door that is not the tool's; the literal lets SQLite use the index made for it."""
        return self.filter(~Exact(F("door"), Literal(Door.TOOL.value)), door=door)

    def that_ended(self, ok: bool) -> AuditEntryQuerySet:
        return self.filter(ok=ok)

    def of_memory(self, memory_id: str) -> AuditEntryQuerySet:
        """Those that name a memory and no other, of entries that something else has bounded."""
        return self.filter(memory=memory_id)

    def at_path(self, path: str) -> AuditEntryQuerySet:
        return self.filter(path=path)

    def beneath(self, path: str) -> AuditEntryQuerySet:
        """Those with a path beneath a directory."""
        return self.filter(at_or_beneath(F("path"), path + "/"))

    def within(self, start: datetime | None, end: datetime | None) -> AuditEntryQuerySet:
        """Those at `start` or later and before `end` (null is no bound), of entries that `seqs_near` has bounded."""
        found = self if start is None else self.filter(GreaterThanOrEqual(UNINDEXED_TIME, start))
        return found if end is None else found.filter(LessThan(UNINDEXED_TIME, end))

    def seqs_near(self, start: datetime | None, end: datetime | None) -> tuple[int, int]:
        """The seqs of one chain between which everything within two moments stands, as far as CLOCK_SLACK goes.

        Lists are in the order of seq. With its two ends found by time, each filter keeps its own index.
        """
        low, high, by_time = 1, LAST_SEQ, self.annotate(place=F("seq")).values("place")
        if start is not None:
            first = by_time.filter(at__gte=start).order_by("at")[:CLOCK_SLACK]
            low = first.aggregate(seq=Min("place"))["seq"] or LAST_SEQ
        if end is not None:
            last = by_time.filter(at__lt=end).order_by("-at")[:CLOCK_SLACK]
            high = last.aggregate(seq=Max("place"))["seq"] or 0
        return low, high

    def bytes(self) -> int:
        """What they are counted for; see `AuditChain.bytes`."""
        long = (Coalesce(Length(name), 0) for name in ("message", "input", "salts", "commitments"))
        size = ENTRY_BYTES + next(long) + next(long) + next(long) + next(long)
        return self.aggregate(size=Sum(size))["size"] or 0

    def of_seqs(self, seqs: Iterable[int]) -> AuditEntryQuerySet:
        return self.filter(seq__in=list(seqs))


class AuditEntry(RowOfStore):
    """One act: who, through which door, what, and how it ended. No foreign keys: it outlives what it tells of.

    `input` and `message` are ASCII-escaped JSON. `message` is null where the answer is rendered again from `version`
    (lines `first_line` to `last_line`, `cut` when the view limit ended it) or is that of `replay_of`. `author_id` is
    the agent behind a key, else the same as `actor_id`; `duration` counts microseconds.
    """

    STORE = "chain"

    pk = models.CompositePrimaryKey("chain", "seq")
    chain = IdField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=6, choices=ActorKind.choices)
    actor_id = IdField(null=True)
    author_id = IdField(null=True)
    label = models.TextField(null=True)
    session = IdField(null=True)
    door = models.CharField(max_length=7, choices=Door.choices)
    command = models.TextField(null=True)
    path = PathField(null=True)
    new_path = PathField(null=True)
    memory = IdField(null=True)
    version = IdField(null=True)
    ok = models.BooleanField()
    message = models.TextField(null=True)
    input = models.TextField(null=True)
    duration = models.BigIntegerField()
    group = IdField(null=True)
    token = models.TextField(null=True)
    replay_of = models.BigIntegerField(null=True)
    note = models.TextField(null=True)
    first_line = models.BigIntegerField(null=True)
    last_line = models.BigIntegerField(null=True)
    cut = models.BooleanField(null=True)
    digest = models.TextField(null=True)
    salts = PlainJSONField()
    commitments = PlainJSONField()
    key_name = models.TextField()
    previous_hash = models.TextField()
    hash = models.TextField()

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["chain", "at", "seq"], name="entry_by_time"),
            models.Index(fields=["chain", "path", "seq"], name="entry_by_path"),
            models.Index(fields=["chain", "author_id", "seq"], name="entry_by_author"),
            models.Index(fields=["chain", "command", "seq"], name="entry_by_command"),
            models.Index(
                fields=["chain", "session", "seq"], condition=Q(session__isnull=False), name="entry_by_session"
            ),
            models.Index(fields=["chain", "seq"], condition=Q(ok=False), name="entry_by_error"),
            models.Index(fields=["chain", "door", "seq"], condition=~Q(door=Door.TOOL), name="entry_by_door"),
            models.Index(fields=["chain", "replay_of"], condition=Q(replay_of__isnull=False), name="entry_of_replay"),
        ]


class IdempotentCall(RowOfStore):
    """That a key has already made a call: the SHA-256 of its canonical input, and the seq of its first entry."""

    pk = models.CompositePrimaryKey("store", "key", "token")
    store = models.ForeignKey("memoryhub.MemoryStore", models.CASCADE, db_index=False, related_name="+")
    key = IdField()
    token = PathField()
    digest = models.TextField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["at"], name="idempotent_call_by_time")]

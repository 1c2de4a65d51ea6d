"""The audit: hash chains, their entries, and the tool calls that must not run twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from django.db import models
from django.db.models import Case, Exists, Expression, F, Max, Min, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Length, Substr
from django.db.models.lookups import Exact, GreaterThanOrEqual, LessThan

from memoryhub.models.fields import IdField, Literal, PathField, PlainJSONField
from memoryhub.models.inputs import InputField, lacks_text
from memoryhub.models.rows import RowOfStore
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.results import PROPOSED

HUB = "hub"
"""The id of the chain for acts outside any store: sign-ins, people, agents, keys, settings."""

LAST_SEQ = 2**63 - 1
CLOCK_SLACK = 5_000
"""A search by time finds an entry even if its time is out of order by up to this many entries."""


class Door(models.TextChoices):
    TOOL = "tool"
    API = "api"
    WEB = "web"
    MCP = "mcp"
    COMMAND = "command"

    @property
    def has_tool(self) -> bool:
        """Return whether agents call the memory tool through this door.

        Entries through such a door may have any command name, because agents send it.
        """
        return self in (Door.TOOL, Door.MCP)


class ActorKind(models.TextChoices):
    KEY = "key"
    USER = "user"
    POLICY = "policy"
    SYSTEM = "system"


ENTRY_BYTES = 500
"""Estimated bytes of an entry without its long columns: its short columns and its index records."""


class AuditChain(models.Model):
    """The head of a chain. Its id is a store's id, or HUB. A chain outlives its store.

    `bytes` is the sum of the sizes of its entries. If retention removed the oldest entries, up to and including the
    entry `start_seq`, the chain starts at a signed checkpoint. The versions and seals of removed entries can be kept;
    the checkpoint covers them too.

    `key_name` is the name of the current audit key, with which the next entry must be written (null: the audit key was
    never rotated). The entries up to `older_seq` were written with older keys. `older_signature` is the signature of
    the entry `older_seq` with the current key.
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
    key_name = models.TextField(null=True)
    older_seq = models.BigIntegerField(default=0, db_default=0)
    older_signature = models.TextField(null=True)


BECAME_A_PROPOSAL = f'"{PROPOSED}'
"""The beginning of the message of a call that became part of a proposal, as JSON."""


def was_refused_with(*beginnings: str) -> Q:
    """Return the condition that a call was refused with an answer that begins with one of `beginnings`.

    If the call repeats an earlier call and its entry has no answer, the answer of the earlier call counts.
    """
    begins = Q(*(Q(message__startswith=f'"{text}') for text in beginnings), _connector=Q.OR)
    repeated = Q(message__isnull=True, replay_of__isnull=False) & Q(Exists(_first_call().filter(begins)))
    return Q(ok=False) & (Q(message__isnull=False) & begins | repeated)


def beginning_of_message(length: int) -> Case:
    """Return the first `length` characters of an entry's message.

    If a refused call repeats an earlier call and its entry has no message, use the message of the earlier call.
    """
    start = Substr("message", 1, length)
    refused = When(ok=False, then=Coalesce(start, Subquery(_first_call().values_list(start)[:1])))
    return Case(refused, default=start)


def _first_call() -> models.QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(chain=OuterRef("chain"), seq=OuterRef("replay_of"))


UNINDEXED_PATH = Coalesce(F("path"), Value("", output_field=PathField()))
UNINDEXED_NEW_PATH = Coalesce(F("new_path"), Value("", output_field=PathField()))
UNINDEXED_TIME = Coalesce(F("at"), Value(datetime.min.replace(tzinfo=UTC)))
"""A path and a time in a form that no index serves. They are for queries in which other conditions leave few rows: the
planner does not know that, and would otherwise choose the index by path or by time."""


def at_or_beneath(column: Expression | F, path: str) -> Q:
    """Return the condition that `column` equals `path`.

    If `path` ends with a slash, return the condition that `column` is this directory or a path under it.
    """
    if not path.endswith("/"):
        return Q(Exact(column, path))
    return Q(Exact(column, path[:-1])) | _beneath(column, path[:-1])


def _beneath(column: Expression | F, directory: str) -> Q:
    low, high = paths.subtree(directory)
    return Q(GreaterThanOrEqual(column, low), LessThan(column, high))


def by_path_alone(rows: models.QuerySet[Any], low: int, high: int) -> Any:
    """Limit rows that were selected by path to the seqs from `low` to `high`, and annotate `place`, which equals `seq`.

    If the bounds named `seq` itself, SQLite would walk the whole chain; `+ 0` hides the column from its planner.
    PostgreSQL gets a lower bound only where one is needed, because with two bounds it would start parallel workers.
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
        """Defer the columns that can be long, and annotate `message_start`: the first 400 characters of the message."""
        long = ("input", "message", "salts", "commitments", "proof")
        return self.defer(*long).annotate(message_start=beginning_of_message(400))

    def between(self, low: int, high: int) -> AuditEntryQuerySet:
        """Return the entries whose seq is from `low` to `high`, both included."""
        return self.filter(seq__gte=low, seq__lte=high)

    def by_author(self, author_id: str) -> AuditEntryQuerySet:
        """Return the entries of a person, or of an agent with any of its keys. `author_id` is the id of the person or
        agent."""
        return self.filter(author_id=author_id)

    def of_session(self, session_id: str) -> AuditEntryQuerySet:
        return self.filter(session=session_id)

    def of_command(self, command: str) -> AuditEntryQuerySet:
        return self.filter(command=command)

    def through_other(self, door: str) -> AuditEntryQuerySet:
        """Return the entries through the given door, which must not be TOOL.

        The literal in the SQL lets SQLite use the partial index.
        """
        return self.filter(~Exact(F("door"), Literal(Door.TOOL.value)), door=door)

    def by_version(self, versions: Collection[str]) -> AuditEntryQuerySet:
        """Return the entries whose `version` is one of `versions`, except the entries through the door TOOL."""
        return self.filter(~Exact(F("door"), Literal(Door.TOOL.value)), version__in=versions)

    def that_ended(self, ok: bool) -> AuditEntryQuerySet:
        return self.filter(ok=ok)

    def at_path(self, path: str) -> AuditEntryQuerySet:
        return self.filter(path=path)

    def beneath(self, path: str) -> AuditEntryQuerySet:
        """Return the entries with a path under a directory."""
        return self.filter(_beneath(F("path"), path))

    def to_path(self, path: str) -> AuditEntryQuerySet:
        """Return the entries with this new path, such as renames."""
        return self.filter(new_path=path)

    def to_beneath(self, path: str) -> AuditEntryQuerySet:
        """Return the entries with a new path under a directory."""
        return self.filter(_beneath(F("new_path"), path))

    def within(self, start: datetime | None, end: datetime | None) -> AuditEntryQuerySet:
        """Return the entries written at `start` or later, and before `end`; None as `start` or `end` sets no bound.

        No index serves this filter: limit the seqs by `seqs_near` first.
        """
        found = self if start is None else self.filter(GreaterThanOrEqual(UNINDEXED_TIME, start))
        return found if end is None else found.filter(LessThan(UNINDEXED_TIME, end))

    def seqs_near(self, start: datetime | None, end: datetime | None) -> tuple[int, int]:
        """Return (low, high): bounds for the seqs of one chain's entries in a span of time.

        None as `start` or `end` sets no bound. Entries outside of the span may be between the bounds, because clocks
        can run backwards: filter by `within` too.
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
        """Return the estimated size of the entries, in bytes; see `AuditChain.bytes`."""
        names = ("message", "input", "salts", "commitments", "proof")
        size: Combinable = Value(ENTRY_BYTES)
        for name in names:
            size = size + Coalesce(Length(name), 0)
        return self.aggregate(size=Sum(size))["size"] or 0

    def of_seqs(self, seqs: Iterable[int]) -> AuditEntryQuerySet:
        return self.filter(seq__in=list(seqs))

    def that_lack_their_text(self) -> AuditEntryQuerySet:
        """Return the entries whose input is stored without the text that their version has."""
        return self.filter(lacks_text())


class AuditEntry(RowOfStore):
    """One act: actor, door, command and outcome. It has no foreign keys, because it outlives the rows that it names.

    `input` and `message` are ASCII-escaped JSON. A text that `version` has is not stored in `input` again; see
    `InputField`. `message` is the answer. It is null in two cases: the answer can be rendered again from `version`, or
    it is the same as the answer of the entry `replay_of`. `first_line` and `last_line` are the first and the last line
    that the answer shows; `cut` says whether the view limit cut the answer. `author_id` is the id of the agent or the
    person. `duration` is in microseconds.

    `proof` has the salts and commitments; `actions.core.proofs` reads them. Older entries have them in `salts` and
    `commitments` instead.
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
    input = InputField(null=True)
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
    proof = models.BinaryField(null=True)
    key_name = models.TextField()
    previous_hash = models.TextField()
    hash = models.TextField()

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["chain", "at", "seq"], name="entry_by_time"),
            models.Index(fields=["chain", "path", "seq"], name="entry_by_path"),
            models.Index(
                fields=["chain", "new_path", "seq"], condition=Q(new_path__isnull=False), name="entry_by_new_path"
            ),
            models.Index(fields=["chain", "author_id", "seq"], name="entry_by_author"),
            models.Index(fields=["chain", "command", "seq"], name="entry_by_command"),
            models.Index(
                fields=["chain", "session", "seq"], condition=Q(session__isnull=False), name="entry_by_session"
            ),
            models.Index(fields=["chain", "seq"], condition=Q(ok=False), name="entry_by_error"),
            models.Index(fields=["chain", "door", "seq"], condition=~Q(door=Door.TOOL), name="entry_by_door"),
            models.Index(
                fields=["chain", "version", "seq"],
                condition=~Q(door=Door.TOOL) & Q(version__isnull=False),
                name="entry_by_version",
            ),
            models.Index(fields=["chain", "replay_of"], condition=Q(replay_of__isnull=False), name="entry_of_replay"),
        ]


class IdempotentCall(RowOfStore):
    """A tool call that must not run twice, because the agent sent a `token` with it.

    `key` is the id of the agent's key. `digest` is the digest of the call's input. `seq` is the seq of the entry that
    was written when the call ran.
    """

    pk = models.CompositePrimaryKey("store", "key", "token")
    store = models.ForeignKey("memoryhub.MemoryStore", models.CASCADE, db_index=False, related_name="+")
    key = IdField()
    token = PathField()
    digest = models.TextField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["at"], name="idempotent_call_by_time")]

"""Claude runs: tasks that people give to Claude with a memory store, the events in them, and the tokens of a day."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.stores import MemoryStore
from memoryhub.pure import ids


class ClaudeRunState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    RUNNING = "running", _("Running")
    FINISHED = "finished", _("Finished")
    STOPPED = "stopped", _("Stopped")
    INTERRUPTED = "interrupted", _("Interrupted")
    FAILED = "failed", _("Failed")
    OVER_BUDGET = "over_budget", _("Over budget")


GOING_ON = (ClaudeRunState.WAITING, ClaudeRunState.RUNNING)


class ClaudeRunQuerySet(models.QuerySet["ClaudeRun"]):
    def of_store(self, store_id: str) -> ClaudeRunQuerySet:
        return self.filter(store_id=store_id)

    def going_on(self) -> ClaudeRunQuerySet:
        """Return the runs that wait for a worker or that a worker works on."""
        return self.filter(state__in=GOING_ON)

    def dreams(self) -> ClaudeRunQuerySet:
        """Return the dreams. Their ids have a prefix of their own, so the query reads no other runs."""
        return self.filter(pk__gt=ids.DREAM, pk__lt=ids.DREAM + "~")

    def newest(self) -> ClaudeRunQuerySet:
        """Return the runs, newest first. They are not ordered by id, because the ids of dreams sort after all
        others."""
        return self.select_related("started_by").order_by("-created_at", "-id")

    def before(self, run: ClaudeRun) -> ClaudeRunQuerySet:
        """Return the runs that are older than this run."""
        return self.filter(models.Q(created_at__lt=run.created_at) | models.Q(created_at=run.created_at, pk__lt=run.pk))


class ClaudeRun(models.Model):
    """A conversation with Claude, which has the memory tool on one memory store.

    Its calls are made with the agent `agent` and the key `key` (both are ids), in the session `session_name`. `options`
    are the values of a `pure.conversation.options.Options`. `budget` is the most `tokens` that the run may use; `held`
    of them are reserved for the answer that is being made. `context` is the number of tokens from which the last answer
    was made. `problem` says in one word why the run ended. The process `worker` works on the run and was seen at
    `seen_at`. `revision` grows with each change of the run or of its events; `events` is the number of its events.

    The run begins with the state of the store after the entry `base`. If the run works on a throw-away copy, `copy` is
    the copy's id. `copied` is the seq of the copy's newest entry when all memories had been copied (null: not all are
    copied yet). If the run `proposes`, its changes in the copy become a proposal.

    A run that an agent started is a dream. Its `dream` has the `sessions` that Claude reads, and `updates`: whether the
    result changes the store itself or becomes a new store. `agent` and `key` are then those of the agent that started
    it, and `task` has the agent's instructions. `archived_at` is when the dream was hidden from the list of dreams.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    agent = IdField()
    key = IdField()
    started_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    model = models.CharField(max_length=100)
    system = models.TextField(default="", blank=True)
    task = models.TextField()
    options = PlainJSONField(default=dict)
    state = models.CharField(max_length=11, choices=ClaudeRunState.choices, default=ClaudeRunState.WAITING)
    problem = models.CharField(max_length=30, default="", blank=True)
    stop_asked = models.BooleanField(default=False)
    worker = models.CharField(max_length=60, default="", blank=True)
    seen_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    revision = models.BigIntegerField(default=0)
    events = models.BigIntegerField(default=0)
    turns = models.BigIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cache_written = models.BigIntegerField(default=0)
    cache_read = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)
    held = models.BigIntegerField(default=0)
    budget = models.BigIntegerField(null=True)
    context = models.BigIntegerField(default=0)
    base = models.BigIntegerField(null=True)
    copy = IdField(null=True)
    copied = models.BigIntegerField(null=True)
    proposes = models.BooleanField(default=False)
    dream = PlainJSONField(null=True)
    archived_at = models.DateTimeField(null=True)

    objects = ClaudeRunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["store", "id"], name="claude_run_of_store"),
            models.Index(fields=["state"], name="claude_run_by_state"),
        ]

    def __str__(self) -> str:
        return self.task

    @property
    def session_name(self) -> str:
        return f"claude-run-{self.pk}"

    @property
    def place(self) -> str:
        """Return the id of the memory store on which Claude works: the run's copy, if it has one."""
        return str(self.copy or self.store_id)

    @property
    def is_dream(self) -> bool:
        return self.dream is not None

    @property
    def is_going_on(self) -> bool:
        return self.state in GOING_ON


class ClaudeEventKind(models.TextChoices):
    MESSAGE = "message", _("Message")
    TEXT = "text", _("Text")
    THINKING = "thinking", _("Thinking")
    COMPACTION = "compaction", _("Summary")
    CALL = "call", _("Call")
    TURN = "turn", _("Answer")
    PROBLEM = "problem", _("Problem")
    PROPOSAL = "proposal", _("Proposal")


class ClaudeEventQuerySet(models.QuerySet["ClaudeEvent"]):
    def of_run(self, run_id: str) -> ClaudeEventQuerySet:
        """Return the events of a run in order."""
        return self.filter(run_id=run_id).order_by("number")


class ClaudeEvent(models.Model):
    """One event of a run. `number` is its place in the run, from 1.

    `content` depends on the kind; see `actions.claude_runs.events`. If a call ran, `seq` is the number of its audit
    entry. An event `is_open` while it still grows. An event that `is_cut` belongs to an answer that broke off, and is
    not a part of the conversation.
    """

    pk = models.CompositePrimaryKey("run", "number")
    run = models.ForeignKey(ClaudeRun, models.CASCADE, db_index=False, related_name="+")
    number = models.BigIntegerField()
    kind = models.CharField(max_length=10, choices=ClaudeEventKind.choices)
    at = models.DateTimeField()
    content = PlainJSONField(default=dict)
    seq = models.BigIntegerField(null=True)
    is_open = models.BooleanField(default=False)
    is_cut = models.BooleanField(default=False)

    objects = ClaudeEventQuerySet.as_manager()


class ClaudeDay(models.Model):
    """The tokens that all Claude runs of the hub together have used or reserved on a day (UTC)."""

    day = models.DateField(primary_key=True)
    tokens = models.BigIntegerField(default=0)


class ClaudeModel(models.Model):
    """A model that Claude's API offers, with its `name` for people.

    `max_tokens` is the most tokens of an answer. `thinks` says whether the model can think before it answers. `edits`
    names the kinds of context management that the model supports, such as the removal of old tool results. Each of
    these three is null if the API did not report it.
    """

    id = models.CharField(max_length=100, primary_key=True)
    name = models.CharField(max_length=200)
    max_tokens = models.BigIntegerField(null=True)
    thinks = models.BooleanField(null=True)
    edits = PlainJSONField(null=True)
    place = models.BigIntegerField()

"""Evaluations: how well a model kept memories in a suite of test cases, on throw-away copies of a memory store."""

from __future__ import annotations

from django.db import models

from memoryhub.models.access import User
from memoryhub.models.claude_runs import GOING_ON, ClaudeRunState
from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.stores import MemoryStore


class ClaudeEvaluationQuerySet(models.QuerySet["ClaudeEvaluation"]):
    def of_store(self, store_id: str) -> ClaudeEvaluationQuerySet:
        """Return the evaluations of a store, newest first."""
        return self.filter(store_id=store_id).order_by("-id")

    def finished(self) -> ClaudeEvaluationQuerySet:
        return self.filter(state=ClaudeRunState.FINISHED)

    def going_on(self) -> ClaudeEvaluationQuerySet:
        """Return the evaluations that wait for a worker or that a worker works on."""
        return self.filter(state__in=GOING_ON)


class ClaudeEvaluation(models.Model):
    """A run of the suite of `pure.conversation.evaluations`.

    `model` is "" for the scripted model. `results` is {name of a case that has ended: whether it passed}. `copy` is the
    id of the throw-away copy for the current case. `started_by` is the person who started the evaluation (null: a
    command did). The other fields mean the same as in a Claude run.
    """

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, related_name="+")
    model = models.CharField(max_length=100, blank=True)
    at = models.DateTimeField()
    results = PlainJSONField(default=dict)
    tokens = models.BigIntegerField(default=0)
    started_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    state = models.CharField(max_length=11, choices=ClaudeRunState.choices, default=ClaudeRunState.FINISHED)
    problem = models.CharField(max_length=30, default="", blank=True)
    stop_asked = models.BooleanField(default=False)
    worker = models.CharField(max_length=60, default="", blank=True)
    seen_at = models.DateTimeField(null=True)
    copy = IdField(null=True)

    objects = ClaudeEvaluationQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["state"], name="claude_evaluation_by_state")]

    def __str__(self) -> str:
        return f"{self.model or 'scripted'} {self.at:%F %T}"

    @property
    def is_going_on(self) -> bool:
        return self.state in GOING_ON

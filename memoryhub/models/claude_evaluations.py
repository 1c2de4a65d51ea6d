"""Evaluations of memory: how a model did in the suite, on copies of a memory store."""

from __future__ import annotations

from django.db import models

from memoryhub.models.fields import IdField, PlainJSONField
from memoryhub.models.stores import MemoryStore


class ClaudeEvaluationQuerySet(models.QuerySet["ClaudeEvaluation"]):
    def of_store(self, store_id: str) -> ClaudeEvaluationQuerySet:
        """Return the evaluations of a store, newest first."""
        return self.filter(store_id=store_id).order_by("-id")


class ClaudeEvaluation(models.Model):
    """A run of the suite of `conversation.evaluations`. `model` is "" for the scripted model. `results` is {name of a
    case: whether it passed}; what the model said is not kept."""

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, related_name="+")
    model = models.CharField(max_length=100, blank=True)
    at = models.DateTimeField()
    results = PlainJSONField(default=dict)
    tokens = models.BigIntegerField(default=0)

    objects = ClaudeEvaluationQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.model or 'scripted'} {self.at:%F %T}"

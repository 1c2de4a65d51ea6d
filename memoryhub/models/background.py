"""What a hub knows of itself: which secrets it was started with, and how its background work goes."""

from django.db import models


class BackgroundTask(models.Model):
    """How a kind of background work goes on a node (a machine): when it last succeeded and failed, and why.

    `failures` counts those since the last success; `next_at` is when it is tried again after one.
    """

    pk = models.CompositePrimaryKey("node", "name")
    node = models.CharField(max_length=255)
    name = models.CharField(max_length=40)
    succeeded_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    problem = models.TextField(default="")
    failures = models.BigIntegerField(default=0)
    next_at = models.DateTimeField(null=True)


class Installation(models.Model):
    """One row: keyed digests of the secrets with which the hub was first started, and the clock of its running time.

    `clock` is where forgetting stands in time; see `actions/hub_clock`.
    """

    id = models.IntegerField(primary_key=True, default=1)
    secret_mark = models.TextField(null=True)
    audit_mark = models.TextField(null=True)
    clock = models.DateTimeField(null=True)

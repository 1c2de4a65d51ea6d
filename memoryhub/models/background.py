"""The hub's own state: digests of the secrets with which it was first started, and the state of its background work."""

from django.db import models

from memoryhub.models.fields import IdField


class BackgroundTask(models.Model):
    """The state of one kind of background work on a node (a machine): its last success and failure, and why it failed.

    `failures` counts the failures since the last success. After a failure, `next_at` is when the work is tried again.
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
    """One row about this hub: for example, keyed digests of the secrets with which it was first started.

    `clock` is the time of a clock that moves only while the hub runs (see `actions.core.hub.clock`). Until
    `stream_until`, the process `stream_holder` writes the audit stream. `older_keys` are the earlier audit keys,
    encrypted with the current one.
    """

    id = models.IntegerField(primary_key=True, default=1)
    secret_mark = models.TextField(null=True)
    audit_mark = models.TextField(null=True)
    older_keys = models.TextField(null=True)
    clock = models.DateTimeField(null=True)
    stream_holder = models.TextField(null=True)
    stream_until = models.DateTimeField(null=True)


class StreamCursor(models.Model):
    """How far a chain has been written to the audit stream: `seq` is that of the last entry that was written."""

    chain = IdField(primary_key=True)
    seq = models.BigIntegerField()

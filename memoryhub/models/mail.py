"""E-mail: the messages that wait, what each person wants to get, and alarms that last."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField


class MailKind(models.TextChoices):
    TEST = "test", _("Test message")
    INVITATION = "invitation", _("Invitation")
    RESET = "reset", _("New password")
    MENTION = "mention", _("Mention")
    DIGEST = "digest", _("Daily digest")
    RETENTION = "retention", _("Warning before a removal")
    ALARM = "alarm", _("Alarm")
    SECOND = "second", _("Second person")


class MailState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    SENT = "sent", _("Sent")
    FAILED = "failed", _("Failed")


class MailQuerySet(models.QuerySet["Mail"]):
    def waiting(self) -> MailQuerySet:
        return self.filter(state=MailState.WAITING)

    def due(self, at: datetime) -> MailQuerySet:
        """Return the messages to send at a moment, those that have waited longest first.

        No wait is longer than some hours: a later moment was noted while the clock was wrong.
        """
        is_time = Q(next_at__lte=at) | Q(next_at__gt=at + timedelta(days=1))
        return self.waiting().filter(is_time).order_by("next_at", "id")

    def newest(self) -> MailQuerySet:
        return self.select_related("to").order_by("-id")


class Mail(models.Model):
    """A message to send.

    The row has no words: they are written from the state of the hub when the message is sent. So a message says only
    what its receiver may see then, and nothing has to be erased from the row. `to` is the receiver; it is null for the
    address of an invitation, and for a new password of an address without an account. `about` names what the message is
    about: a comment, an invitation, an alarm or a request; `store` is its memory store. Of the token of an invitation
    only `nonce` is stored, which is of no use without SECRET_KEY. `problem` says in a few words why the last try
    failed. A message that is no longer needed when it is due is deleted.
    """

    kind = models.CharField(max_length=10, choices=MailKind.choices)
    to = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    store = IdField(default="")
    about = IdField(default="")
    nonce = models.TextField(default="")
    created_at = models.DateTimeField()
    next_at = models.DateTimeField()
    tries = models.BigIntegerField(default=0)
    state = models.CharField(max_length=7, choices=MailState.choices, default=MailState.WAITING)
    problem = models.CharField(max_length=40, default="")
    ended_at = models.DateTimeField(null=True)

    objects = MailQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["next_at", "id"], condition=Q(state=MailState.WAITING), name="mail_due"),
            models.Index(fields=["ended_at"], name="mail_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Digest(models.TextChoices):
    OFF = "off", _("Nothing")
    DANGER = "danger", _("A daily digest, of open findings alone")
    DAILY = "daily", _("A daily digest")
    AT_ONCE = "at_once", _("A daily digest, and each mention of me at once")


class MailChoice(models.Model):
    """What a person wants to get by e-mail. A person without a row gets what the defaults say.

    The digest is due each day at `hour` in the person's time zone. `next_at` is the next such moment (null: it is not
    computed yet). `warnings` of what retention will remove go to admins of the memory store, and `alarms` to
    administrators of the hub.
    """

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="mail_choice")
    digest = models.CharField(max_length=7, choices=Digest.choices, default=Digest.AT_ONCE)
    hour = models.IntegerField(default=8)
    warnings = models.BooleanField(default=True)
    alarms = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True, db_index=True)


class AlarmState(models.TextChoices):
    NEW = "new", _("New")
    RAISED = "raised", _("Raised")
    ENDED = "ended", _("Ended")


class Alarm(models.Model):
    """Something that a person was warned of: an alarm that lasts since `since`, or a removal by retention.

    `mailed_at` is when the last message about it was put into the outbox; null: none yet. An alarm is raised when it
    has lasted a while. `changed_at` is when its `state` changed. `told` is the state that was last reported to
    webhooks.
    """

    key = IdField(primary_key=True)
    since = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=6, choices=AlarmState.choices, default=AlarmState.NEW)
    changed_at = models.DateTimeField(null=True)
    told = models.CharField(max_length=6, choices=AlarmState.choices, default=AlarmState.NEW)

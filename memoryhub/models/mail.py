"""E-mail: the messages that wait to be sent, the choices of each person about e-mail, and the state of each alarm."""

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
        """Return the messages to send at a moment; the message that has waited longest is first.

        A message whose `next_at` is more than a day ahead is due too: that time was set while the clock was wrong.
        """
        is_time = Q(next_at__lte=at) | Q(next_at__gt=at + timedelta(days=1))
        return self.waiting().filter(is_time).order_by("next_at", "id")

    def newest(self) -> MailQuerySet:
        return self.select_related("to").order_by("-id")


class Mail(models.Model):
    """A message to send. Its words are not stored, but written when it is sent.

    `to` is the receiver; null for an address without an account. `about` is the id of the subject of the message (a
    comment, an invitation, an alarm or a request), and `store` is the subject's memory store. The token of an
    invitation is not stored: it is made from `nonce` and SECRET_KEY. `problem` is why the last try failed, in a few
    words.
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
    """The choices of a person about e-mail. If a person has no row, the defaults apply.

    The digest is due at `hour` in the person's time zone; `next_at` is when it is due next (null: not computed yet).
    `warnings` are about removals by retention; they go to admins of the memory store. `alarms` go to administrators of
    the hub.
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
    """The state of an alarm, or of the warnings about removals by retention in one memory store.

    `since` is when the alarm began or, for warnings, when the store was last checked. `mailed_at` is when the last
    message about the alarm or the removals was put into the outbox (null: none yet). The `state` of an alarm becomes
    RAISED when the alarm has lasted for `LASTS` (see `actions.mail.alarms`). `changed_at` is when the `state` changed;
    `told` is the state that was last reported to webhooks.
    """

    key = IdField(primary_key=True)
    since = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=6, choices=AlarmState.choices, default=AlarmState.NEW)
    changed_at = models.DateTimeField(null=True)
    told = models.CharField(max_length=6, choices=AlarmState.choices, default=AlarmState.NEW)

"""The browsers in which people are signed in."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from memoryhub.models.access import User
from memoryhub.models.fields import IdField


def longest() -> timedelta:
    """Return the longest time for which a person stays signed in."""
    return timedelta(hours=settings.MEMORYHUB_SIGN_IN_HOURS)


def idle() -> timedelta:
    """Return the time without a request after which a person is signed out of a browser."""
    return timedelta(hours=settings.MEMORYHUB_SIGN_IN_IDLE_HOURS)


class BrowserSessionQuerySet(models.QuerySet["BrowserSession"]):
    def open(self, at: datetime) -> BrowserSessionQuerySet:
        """Return the sessions in which the person is still signed in at a moment.

        They began less than `longest()` ago and were last used less than `idle()` ago.
        """
        return self.filter(started_at__gt=at - longest(), seen_at__gt=at - idle())

    def ended(self, at: datetime) -> BrowserSessionQuerySet:
        """Return the sessions that are not `open` at a moment."""
        return self.filter(Q(started_at__lte=at - longest()) | Q(seen_at__lte=at - idle()))

    def newest(self) -> BrowserSessionQuerySet:
        """Order the sessions by their last use, newest first."""
        return self.order_by("-seen_at", "-id")


class BrowserSession(models.Model):
    """A browser in which a person is signed in. Without this row, the browser's cookie is not valid.

    `device` is the User-Agent that the browser sent. `seen_at` is when the browser was last used, or up to SEEN_EVERY
    earlier, because not every use is recorded. `grant` is the encrypted token with which the hub asks the identity
    provider again about the person. `asked_at` is when the hub last asked, and `answered_at` when the provider last
    answered.
    """

    id = IdField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="browsers")
    device = models.CharField(max_length=300, default="", blank=True)
    address = models.CharField(max_length=64, default="", blank=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)
    confirmed_at = models.DateTimeField()
    grant = models.TextField(default="", blank=True)
    asked_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)

    objects = BrowserSessionQuerySet.as_manager()

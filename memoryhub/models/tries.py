"""Tries of a password: one row for each account, network and known browser that lately had a wrong one."""

from django.db import models

from memoryhub.models.fields import IdField


class TryCounter(models.Model):
    """How often something was tried; `until` is when it may be tried again. The id says of what, without naming it."""

    id = IdField(primary_key=True)
    tries = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    until = models.DateTimeField()

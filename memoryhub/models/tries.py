"""Password attempts: one row for each account, network and known browser with a recent wrong password."""

from django.db import models

from memoryhub.models.fields import IdField


class TryCounter(models.Model):
    """The number of password attempts for one account, network or browser, and when the next one is allowed (`until`).

    The id is a digest, so that the row does not reveal a name or an address.
    """

    id = IdField(primary_key=True)
    tries = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    until = models.DateTimeField()

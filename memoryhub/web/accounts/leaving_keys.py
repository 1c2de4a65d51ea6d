"""The keys issued by a person who loses a role or the account: those that still work, and those to revoke."""

from django.contrib import messages
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.models import Key, User
from memoryhub.models.access import KeyQuerySet
from memoryhub.web.agents.rows import KeyRow, key_rows
from memoryhub.web.common.request import Request

MOST_KEYS = 500


def rows_of(keys: KeyQuerySet, maker: User, user: User) -> list[KeyRow]:
    """Return the usable keys that `maker` issued, newest first, as rows that `user` may see; at most MOST_KEYS."""
    now = timezone.now()
    return key_rows(keys.made_by(maker).usable(now).newest()[:MOST_KEYS], user, now)


def chosen_keys(request: Request, rows: list[KeyRow]) -> list[Key] | None:
    """Return the ticked keys that the person may revoke.

    If a key was issued after the page was shown, add a warning for the person and return None.
    """
    shown = request.POST.getlist("shown")
    if any(row.key.pk not in shown for row in rows):
        messages.warning(
            request, _("Nothing was changed, because another key was issued in the meantime. Check the list again.")
        )
        return None
    ticked = request.POST.getlist("key")
    return [row.key for row in rows if row.key.pk in ticked and row.may_revoke]

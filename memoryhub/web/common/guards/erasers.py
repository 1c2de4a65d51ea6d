"""Names of people who can erase, for a person who may not erase."""

from collections.abc import Collection

from django.db import models
from django.utils.translation import gettext as _

from memoryhub.models import Member, User
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated

MOST_NAMED = 3


def who_erases(stores: Collection[str]) -> str:
    """Return the names of at most MOST_NAMED people who can erase: admins of `stores`, or else administrators of the
    hub.

    Without memory stores, no one is named. E-mail addresses of administrators of the hub are not shown.
    """
    admins = Member.objects.filter(store_id__in=stores).active_admins().values_list("user_id", flat=True)
    if said := _names(User.objects.filter(pk__in=admins)):
        return _("an admin: %(names)s") % {"names": said}
    # no e-mail addresses, because administrators of the hub sign in with them
    of_hub = User.objects.filter(is_superuser=True, is_active=True).exclude(name="")
    said = _names(of_hub) if stores else ""
    return _("an administrator of the hub: %(names)s") % {"names": said} if said else _("an administrator of the hub")


def _names(users: models.QuerySet[User]) -> str:
    """Return the first MOST_NAMED names, separated by commas. Without a name, a person's e-mail address is used."""
    found = users.order_by("name", "pk").values_list("name", "email")[:MOST_NAMED]
    return ", ".join(isolated(without_hidden(name or email)) for name, email in found)

"""Names of people who can erase, for a person who may not erase."""

from collections.abc import Collection

from django.db import models
from django.utils.translation import gettext as _

from memoryhub.models import Member, User
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated

MOST_NAMED = 3


def who_erases(stores: Collection[str]) -> str:
    """Return words for the people who can erase, such as “an admin: Ann, Bob”. At most MOST_NAMED people are named.

    The people are admins of `stores`. If there are none, they are administrators of the hub, whose e-mail addresses
    are not shown. If `stores` is empty, no one is named.
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

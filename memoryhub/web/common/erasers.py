"""Whom a person without the right to erase asks to erase something for good."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from memoryhub.models import Member
from memoryhub.templatetags.visible import isolated
from memoryhub.text.visible import without_hidden

MOST_NAMED = 3


def who_erases(stores: Collection[str]) -> str:
    """Return whom to ask, for the end of a sentence: some admins of memory stores (ids), else one of the hub."""
    admins = Member.objects.filter(store_id__in=stores).active_admins().values_list("user_id", "user__name")
    names = dict(admins.order_by("user__name", "user_id").distinct()[:MOST_NAMED])
    said = ", ".join(isolated(without_hidden(name)) for name in names.values())
    return _("an admin: %(names)s") % {"names": said} if said else _("an administrator of the hub")

"""The pages and the pages of settings that a person may open, for the palette: of the hub and of a memory store."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from memoryhub.models import MemoryStore, Role, User

OF_THE_HUB: dict[str, str | Promise] = {
    "today": gettext_lazy("Today"), "stores": gettext_lazy("Memory stores"), "review": gettext_lazy("Review"),
    "decided": gettext_lazy("Decided"), "findings": gettext_lazy("Findings"), "search": gettext_lazy("Search"),
    "overview": gettext_lazy("Overview"), "audit": gettext_lazy("Audit"), "agents": gettext_lazy("Agents"),
}  # fmt: skip
OF_A_STORE: dict[str, str | Promise] = {
    "store_overview": gettext_lazy("Overview"), "store_findings": gettext_lazy("Findings"),
    "proposals": gettext_lazy("Proposals"), "moments": gettext_lazy("As it was"),
    "store_sessions": gettext_lazy("Sessions"), "store_audit": gettext_lazy("Audit"), "trash": gettext_lazy("Trash"),
    "find": gettext_lazy("Find a path"),
}  # fmt: skip
OWN: dict[str, str | Promise] = {
    "account": gettext_lazy("Your settings"), "saved_views": gettext_lazy("Saved views"),
    "guide": gettext_lazy("Guide"), "api_docs": gettext_lazy("API"),
}  # fmt: skip
SETTINGS_OF_THE_HUB: dict[str, str | Promise] = {
    "hub_limits": gettext_lazy("Limits"), "hub_rules": gettext_lazy("Sensitive text"),
    "hub_retention": gettext_lazy("Retention"), "webhooks": gettext_lazy("Webhooks"),
    "hub_background": gettext_lazy("Background work"),
}  # fmt: skip
SETTINGS_OF_A_STORE: dict[str, str | Promise] = {
    "edit_store": gettext_lazy("General"), "members": gettext_lazy("Members"), "store_keys": gettext_lazy("Keys"),
    "limits": gettext_lazy("Limits"), "path_rules": gettext_lazy("Path rules"),
    "rules": gettext_lazy("Sensitive text"), "retention": gettext_lazy("Retention"),
    "holds": gettext_lazy("Holds"), "store_webhooks": gettext_lazy("Webhooks"),
    "erase": gettext_lazy("Erase a text"), "receipts": gettext_lazy("Receipts of erasures"),
    "scans": gettext_lazy("Scans of the history"),
}  # fmt: skip


ALSO: dict[str, str | Promise] = {
    "holds": gettext_lazy("legal hold pin freeze case"),
}  # fmt: skip
"""Other words by which the palette finds a page."""


def pages(user: User, store_id: str) -> Iterator[tuple[str, str]]:
    """Yield (address, name) of the pages. The pages of the memory store come first."""
    store = MemoryStore.objects.visible_to(user).filter(pk=store_id).first() if store_id else None
    if store is not None:
        for route, name in OF_A_STORE.items():
            yield reverse(route, args=[store.pk]), _("This memory store: %(page)s") % {"page": name}
    for route, name in OF_THE_HUB.items():
        yield reverse(route), str(name)
    if user.is_superuser:
        yield reverse("people"), _("People")


def settings(user: User, store_id: str) -> Iterator[tuple[str, str, str]]:
    """Yield (address, name, other words for it) of the pages of settings.

    If the person is an admin of the memory store, its pages come first.
    """
    store = MemoryStore.objects.filter(pk=store_id).first() if store_id else None
    if store is not None and user.role_in(store) == Role.ADMIN:
        for route, name in SETTINGS_OF_A_STORE.items():
            yield (
                reverse(route, args=[store.pk]),
                _("Settings of this memory store: %(page)s") % {"page": name},
                str(ALSO.get(route, "")),
            )
    if user.is_superuser:
        for route, name in SETTINGS_OF_THE_HUB.items():
            yield reverse(route), _("Settings of the hub: %(page)s") % {"page": name}, ""
    for route, name in OWN.items():
        yield reverse(route), str(name), ""

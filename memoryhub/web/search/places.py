"""The pages that the palette lists, if the person may open them."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from memoryhub.actions.claude_runs import configuration
from memoryhub.models import Key, MemoryStore, Role, User

OF_THE_HUB: dict[str, str | Promise] = {
    "today": gettext_lazy("Today"), "stores": gettext_lazy("Memory stores"), "review": gettext_lazy("Review"),
    "decided": gettext_lazy("Decided"), "findings": gettext_lazy("Findings"), "search": gettext_lazy("Search"),
    "overview": gettext_lazy("Overview"), "audit": gettext_lazy("Audit"), "agents": gettext_lazy("Agents"),
    "keys": gettext_lazy("All keys"),
}  # fmt: skip
OF_A_STORE: dict[str, str | Promise] = {
    "store_overview": gettext_lazy("Overview"), "store_findings": gettext_lazy("Findings"),
    "proposals": gettext_lazy("Proposals"), "moments": gettext_lazy("As it was"),
    "store_sessions": gettext_lazy("Sessions"), "store_audit": gettext_lazy("Audit"), "trash": gettext_lazy("Trash"),
    "find": gettext_lazy("Find a path"), "try_call": gettext_lazy("Try a call"),
}  # fmt: skip
OWN: dict[str, str | Promise] = {
    "account": gettext_lazy("Your settings"), "saved_views": gettext_lazy("Saved views"),
    "mail_choices": gettext_lazy("Your e-mail"), "guide": gettext_lazy("Guide"), "api_docs": gettext_lazy("API"),
}  # fmt: skip
GUIDE: dict[str, tuple[str | Promise, str | Promise]] = {
    "runs": (gettext_lazy("Claude runs"), gettext_lazy("anthropic key tokens budget try agent task")),
    "proposals": (gettext_lazy("Proposals"), gettext_lazy("merge approve wait pull request only propose path rules")),
    "retention": (gettext_lazy("Retention"), gettext_lazy("expire erase legal hold secrets privacy")),
    "export": (gettext_lazy("Exports"), gettext_lazy("download zip git")),
    "import": (gettext_lazy("Imports"), gettext_lazy("upload zip git")),
    "webhooks": (gettext_lazy("Webhooks"), gettext_lazy("chat slack teams discord signature")),
    "agents": (gettext_lazy("Connecting agents"), gettext_lazy("sdk python typescript mcp client key")),
    "mcp": (gettext_lazy("MCP"), gettext_lazy("model context protocol client")),
    "http": (gettext_lazy("The API"), gettext_lazy("openapi rest http errors")),
    "security": (gettext_lazy("Security"), gettext_lazy("threats attacks trust")),
    "identity": (
        gettext_lazy("Sign-in"), gettext_lazy("sso oidc single sign-on passkey 2fa mfa proxy ldap second person"),
    ),
    "email": (gettext_lazy("E-mail and alarms"), gettext_lazy("smtp digest mail notifications alerts")),
    "metrics": (
        gettext_lazy("Metrics and logs"), gettext_lazy("prometheus monitor grafana json log alerts siem stream syslog"),
    ),
    "operations": (gettext_lazy("Running the hub"), gettext_lazy("backup restore doctor alarms upgrade disk")),
}  # fmt: skip
"""{document of the guide: (its name, other words for it)}"""
SETTINGS_OF_THE_HUB: dict[str, str | Promise] = {
    "hub_limits": gettext_lazy("Limits"), "hub_rules": gettext_lazy("Sensitive text"),
    "hub_retention": gettext_lazy("Retention"), "webhooks": gettext_lazy("Webhooks"),
    "hub_claude": gettext_lazy("Claude runs"), "hub_mail": gettext_lazy("E-mail"),
    "hub_backups": gettext_lazy("Backups"), "hub_background": gettext_lazy("Health"),
    "acts": gettext_lazy("Second person"), "erase_everywhere": gettext_lazy("Erase"),
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
    "limits": gettext_lazy("rate limited 429 quota full size too many calls"),
    "hub_limits": gettext_lazy("rate limited 429 quota full size too many calls"),
    "hub_background": gettext_lazy("background work healthy status is livez readyz healthz disk database monitor jobs"),
    "hub_backups": gettext_lazy("restore snapshot disaster recovery dump"),
    "hub_claude": gettext_lazy("anthropic key tokens budget models"),
    "hub_mail": gettext_lazy("smtp mail outbox notifications"),
    "mail_choices": gettext_lazy("digest mentions notifications alarms unsubscribe email only"),
    "api_docs": gettext_lazy("openapi swagger rest http"),
    "claude_runs": gettext_lazy("run try anthropic agent task"),
    "store_keys": gettext_lazy("tokens api secret connect agents mcp"),
    "agents": gettext_lazy("keys tokens api secret connect mcp stop block pause disable revoke agent"),
    "stores": gettext_lazy("archived hand over owner split move copy create new"),
    "overview": gettext_lazy("charts statistics compare weeks busiest noisiest agent never read unread errors"),
    "store_overview": gettext_lazy("charts statistics compare weeks busiest noisiest agent never read unread largest"),
    "moments": gettext_lazy("compare weeks days then history changes restore earlier bring back"),
    "path_rules": gettext_lazy("permissions read-only only propose hide protect split limit agent"),
    "webhooks": gettext_lazy("chat slack teams discord notifications alerts failed deliveries retry"),
    "store_webhooks": gettext_lazy("chat slack teams discord notifications alerts failed deliveries retry"),
    "members": gettext_lazy("people roles invite access permissions hand over owner"),
    "people": gettext_lazy("users invite administrators"),
    "retention": gettext_lazy("expire expiry policies cleanup ttl"),
    "hub_retention": gettext_lazy("expire expiry policies cleanup ttl"),
    "rules": gettext_lazy("secrets pii masking privacy"),
    "hub_rules": gettext_lazy("secrets pii masking privacy"),
    "erase_everywhere": gettext_lazy("privacy personal data subject access request archive stored"),
    "acts": gettext_lazy("four eyes two people approval allow dual control delete erase"),
    "audit": gettext_lazy("log history entries who read"),
    "store_audit": gettext_lazy("log history entries who read"),
    "holds": gettext_lazy("legal hold pin freeze case"),
    "trash": gettext_lazy("deleted recycle bin undelete restore bring back empty remove permanently"),
    "decided": gettext_lazy("undo take back"),
    "store_sessions": gettext_lazy("replay undo runs"),
    "edit_store": gettext_lazy("archive copy delete rename"),
    "try_call": gettext_lazy("test tool by hand dry run"),
    "account": gettext_lazy("password theme zone sign out authenticator passkey 2fa mfa"),
}  # fmt: skip
"""{page: other words with which people search for it, which are not in its name}"""

_PROOF = gettext_lazy("Proof for an auditor")
_PROVES = gettext_lazy("signed signature audit export evidence verify public key")

Place = tuple[str, str, str]
"""The URL of a page, its name, and other words for it."""


def pages(user: User, store_id: str) -> Iterator[Place]:
    """Yield the pages other than settings: those of the memory store `store_id`, then those of the hub."""
    store = MemoryStore.objects.visible_to(user).filter(pk=store_id).first() if store_id else None
    if store is not None:
        role = user.role_in(store)
        for route, name in OF_A_STORE.items():
            if route == "try_call" and not (role and role.includes(Role.CURATOR)):
                continue
            yield _place(route, _("This memory store: %(page)s") % {"page": name}, store.pk)
        proof = _("This memory store: %(page)s") % {"page": _PROOF}
        yield f"{reverse('store_audit', args=[store.pk])}#proof", proof, str(_PROVES)
        if configuration.may_run(user, store):
            page = _("Claude runs")
            yield _place("claude_runs", _("This memory store: %(page)s") % {"page": page}, store.pk)
    for route, name in OF_THE_HUB.items():
        if route != "keys" or user.is_superuser:
            yield _place(route, str(name))
    yield f"{reverse('audit')}#proof", str(_PROOF), str(_PROVES)
    if user.is_superuser:
        yield _place("people", _("People"))
    if MemoryStore.objects.administered_by(user).exists():
        yield reverse("every_receipt"), _("Receipts of erasures"), _("proof erased signed privacy")
    if Key.objects.governed_by(user).exists():
        also = _("leaked stolen lost compromised rotate rotation revoke new api token secret")
        yield reverse("keys" if user.is_superuser else "agents"), _("Replace a key"), also


def settings(user: User, store_id: str) -> Iterator[Place]:
    """Yield the settings: of the memory store `store_id` for its admins, of the hub for superusers, then the person's
    own."""
    store = MemoryStore.objects.filter(pk=store_id).first() if store_id else None
    if store is not None and user.role_in(store) == Role.ADMIN:
        for route, name in SETTINGS_OF_A_STORE.items():
            yield _place(route, _("Settings of this memory store: %(page)s") % {"page": name}, store.pk)
    if user.is_superuser:
        for route, name in SETTINGS_OF_THE_HUB.items():
            yield _place(route, _("Settings of the hub: %(page)s") % {"page": name})
    for route, name in OWN.items():
        yield _place(route, str(name))


def guide() -> Iterator[Place]:
    """Yield the documents of the guide."""
    for topic, (title, words) in GUIDE.items():
        yield reverse("guide", args=[topic]), _("Guide: %(page)s") % {"page": title}, str(words)


def _place(route: str, name: str, *parts: str) -> Place:
    return reverse(route, args=parts), name, str(ALSO.get(route, ""))

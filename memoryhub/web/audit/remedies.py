"""Remedies for errors of calls: a sentence for each kind of error, with the page on which its cause can be changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.core.rules import holds
from memoryhub.models import AuditEntry, Hold, Memory, MemoryStore, Role, User
from memoryhub.models.audit import ActorKind
from memoryhub.pure.protocol.kinds import Kind, kind_of


@dataclass(frozen=True, slots=True)
class Remedy:
    """The advice on how a caller avoids an error, with the label and the URL of the page that the advice concerns."""

    words: str | Promise
    link: str | Promise = ""
    url: str = ""


THEN = _("See what was there")
_LEAST = {"edit_store": Role.ADMIN, "archive_store": Role.ADMIN, "rules": Role.CURATOR}
"""{route of a page: the least role that may open the page}. Viewers may open the pages that are not here."""


_OF_STORE: Mapping[Kind, tuple[str | Promise, str | Promise, str]] = {
    Kind.NOT_FOUND: (
        _("The agent should view the directory first, and name a path that exists."), THEN, "moment",
    ),
    Kind.EXISTS: (
        _("The agent should change what is there, or choose another path. A setting of the memory store can "
        "also allow it to overwrite."),
        _("Overwrite on create"), "edit_store",
    ),
    Kind.NO_MATCH: (
        _("The agent should view the memory first, and copy the old text exactly, without the line numbers."),
        THEN, "moment",
    ),
    Kind.SEVERAL: (
        _("The agent should copy more of the text around the place, so that the old text is found only once."),
        THEN, "moment",
    ),
    Kind.LIMIT: (_("Raise the limit, or have the agent write less."), _("Limits of this memory store"), "limits"),
    Kind.SENSITIVE: (
        _("The agent should leave out that value. The rules say what is refused."),
        _("Rules for sensitive text"), "rules",
    ),
    Kind.ARCHIVED: (_("Nothing can be written until the memory store is unarchived."), _("Unarchive"), "archive_store"),
    Kind.HELD: (
        _("Nobody can change the memory until the hold is "
          "released."), _("Pins and legal holds of this memory store"), "holds",
    ),
    Kind.RULE: (_("The agent can choose another path, or an admin can change the "
                  "rules."), _("Path rules"), "path_rules"),
    Kind.PRECONDITION: (
        _("The memory was changed in the meantime. The caller should read the memory again, then write."),
        THEN, "moment",
    ),
}  # fmt: skip
"""{kind: (sentence, name of a page, route of the page)}; the page is one of the memory store."""


def remedy_for(entry: AuditEntry, store: MemoryStore | None, answer: str, user: User) -> Remedy | None:
    """Return the remedy for the error of an agent's call, or None. The remedy has no link if the person may not open
    the page."""
    if store is None or entry.ok or entry.actor_kind != ActorKind.KEY:
        return None
    kind = kind_of(answer)
    if kind == Kind.READ_ONLY and entry.author_id:
        words = _("The key has the access Read. Give the agent a key with the access Write.")
        return Remedy(words, _("Keys of this agent"), reverse("agent", args=[entry.author_id]))
    if kind in (Kind.PATH, Kind.MALFORMED):
        words = _("The call must have the form that the memory tool specifies.")
        return Remedy(words, _("Connect an agent"), reverse("guide", args=["agents"]))
    return _of_store(*_OF_STORE[kind], entry, store, user) if kind in _OF_STORE else None


def _of_store(
    words: str | Promise, link: str | Promise, name: str, entry: AuditEntry, store: MemoryStore, user: User
) -> Remedy:
    if name == "moment":
        place = entry.path.removeprefix("/") if entry.path else ""
        then = reverse("moment_directory", args=[store.pk, entry.seq, place]) if place else ""
        return Remedy(words, link, then or reverse("moment", args=[store.pk, entry.seq]))
    role = user.role_in(store)
    if role is None or not role.includes(_LEAST.get(name, Role.VIEWER)):
        return Remedy(words)
    url = reverse(name, args=[store.pk])
    return Remedy(words, link, f"{url}#{hold.pk}" if name == "holds" and (hold := _hold_of(entry)) else url)


def _hold_of(entry: AuditEntry) -> Hold | None:
    """Return the legal hold that refused the call, if it is known."""
    path, store = entry.path or "", entry.chain
    memory = entry.memory or Memory.objects.live().at(path).filter(store_id=store).values_list("pk", flat=True).first()
    return holds.holds_of(store, entry.at).stops_removal(memory or "", path)

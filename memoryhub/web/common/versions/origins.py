"""The authors of imported versions, with the names that their source gives them.

They have no account or agent in the hub.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.models import Import, MemoryVersion
from memoryhub.models.audit import ActorKind

_KINDS = {
    "api_actor": ActorKind.KEY, "session_actor": ActorKind.KEY, "user_actor": ActorKind.USER,
    "service_account_actor": ActorKind.SYSTEM,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """The author of an imported version: the kind and the name, and the id of the import."""

    kind: str
    name: str
    job: str

    @property
    def label(self) -> str:
        """Return the name that pages show."""
        return _("%(name)s (imported)") % {"name": self.name} if self.name else _("unknown (imported)")


def of_versions(versions: Iterable[MemoryVersion | None]) -> dict[str, Origin]:
    """Return {version id: Origin}. Versions that were not imported are left out."""
    return of_origins((version.pk, version.origin) for version in versions if version is not None)


def of_ids(store_id: str, ids: Collection[str]) -> dict[str, Origin]:
    """Return {version id: Origin} for the imported versions among those with these `ids`."""
    brought = MemoryVersion.objects.among(store_id, ids).filter(origin__isnull=False)
    return of_origins(brought.values_list("pk", "origin"))


def of_origins(origins: Iterable[tuple[str, Any]]) -> dict[str, Origin]:
    """Return {version id: Origin} for pairs of a version id and its stored `origin`."""
    known = [(pk, origin) for pk, origin in origins if isinstance(origin, dict)]
    if not known:
        return {}
    jobs = {str(origin.get("import")) for _pk, origin in known}
    labels: dict[str, Any] = dict(Import.objects.filter(pk__in=jobs).values_list("pk", "actors"))
    found = {}
    for pk, origin in known:
        job, id = str(origin.get("import")), str(origin.get("id") or "")
        name = str(labels.get(job, {}).get(id) or id)
        found[pk] = Origin(_KINDS.get(str(origin.get("type")), ActorKind.SYSTEM).value, name, job)
    return found

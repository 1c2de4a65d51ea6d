"""The authors of the versions in an export, and the notes of deletions.

Each author is an actor in the API's form, with the name that the actor had when the version was made.
"""

from collections.abc import Iterable
from typing import Any

from memoryhub.models import AuditEntry, Import, MemoryVersion, Operation
from memoryhub.models.audit import ActorKind
from memoryhub.pure.actors import typed
from memoryhub.pure.transfer.bundle import Author


class Authors:
    """The authors of a store's versions.

    `find` loads the authors of some versions; then `of` returns the author of each of these versions.
    """

    def __init__(self, store_id: str) -> None:
        self.store = store_id
        self._entries: dict[int, Author] = {}
        self._notes: dict[int, str | None] = {}
        self._labels: dict[str, dict[str, str]] = {}

    def find(self, versions: Iterable[MemoryVersion]) -> None:
        versions = list(versions)
        seqs = {version.seq for version in versions if version.origin is None}
        columns = ("seq", "actor_kind", "actor_id", "session", "label")
        rows = AuditEntry.objects.of_chain(self.store).of_seqs(seqs).values_list(*columns)
        self._entries = {seq: _author(*told) for seq, *told in rows}
        deletions = {version.seq for version in versions if _has_note(version)}
        acts = AuditEntry.objects.of_chain(self.store).of_seqs(deletions)
        self._notes = dict(acts.filter(note__isnull=False).values_list("seq", "note"))
        jobs = {str(version.origin.get("import")) for version in versions if version.origin} - self._labels.keys()
        if jobs:
            self._labels.update({job: {} for job in jobs})
            self._labels.update({job.pk: job.actors for job in Import.objects.filter(store_id=self.store, pk__in=jobs)})

    def of(self, version: MemoryVersion) -> Author | None:
        """Return the author of a version that was given to `find`; None if the version's entry was removed."""
        if version.origin is None:
            return self._entries.get(version.seq)
        return self._imported(version.origin)

    def note_of(self, version: MemoryVersion) -> str | None:
        """Return the note of a deletion, or None. The version must have been given to `find` before."""
        return self._notes.get(version.seq) if _has_note(version) else None

    def _imported(self, origin: dict[str, Any]) -> Author:
        """Return the author that an imported version has in its original store."""
        id = str(origin.get("id") or "")
        labels = self._labels.get(str(origin.get("import")), {})
        return Author(str(origin.get("type") or ""), id, str(labels.get(id) or ""))


def _has_note(version: MemoryVersion) -> bool:
    """Return whether a version has the note of its entry (if the entry has a note).

    It has the note if it is a deletion, is not redacted, and was not superseded by the same entry.
    """
    is_last = version.superseded_seq != version.seq
    return version.operation == Operation.DELETED and version.redacted_at is None and is_last


def name_of(entry: AuditEntry | None) -> str:
    """Return the name that the actor of an entry had when the entry was written; "" if it is unknown."""
    return _name(entry.actor_kind, entry.label) if entry else ""


def _author(kind: str, id: str | None, session: str | None, label: str | None) -> Author:
    """Return the author of an entry; `type` and `id` are empty for the hub or an unknown actor."""
    return Author(*(typed(kind, id, session) or ("", "")), _name(kind, label))


def _name(kind: str, label: str | None) -> str:
    """Return the name to export for an actor: its label, but for a person only the part of the label before the `@`."""
    return (label or "").partition("@")[0] if kind == ActorKind.USER else label or ""

"""Deletes the path of a redacted version from the audit, unless another version of the memory store has that path."""

import re
from collections.abc import Iterator

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from memoryhub.actions.core.audit import own_texts, to_json
from memoryhub.actions.core.audit.evidence import Evidence, replace_field
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.erasure.places import REDACTED, Terms
from memoryhub.actions.transfer import importing
from memoryhub.models import AuditEntry, ImportItem, Memory, MemoryVersion, ProposedChange
from memoryhub.pure.protocol import paths

MASKED = f"/{REDACTED}"


def is_shared(store_id: str, version: MemoryVersion) -> bool:
    """Return whether another version of the store has the same path. Then the path stays in the audit."""
    others = MemoryVersion.objects.filter(store_id=store_id, path=version.path).exclude(pk=version.pk)
    return version.path is not None and others.exists()


def forget(store: Tree, version: MemoryVersion, evidence: Evidence) -> None:
    """Delete a version's path from the entries, the proposals, the ended imports and the trash. Call it before the
    redaction.

    The path stays if another version has the same path.
    """
    path = version.path
    if path is None or is_shared(store.store, version):
        return
    term = _Path(path)
    for entry in _entries(store.store, path):
        for field in ("path", "new_path"):
            if getattr(entry, field) == path:
                replace_field(evidence, entry, field, MASKED)
        for field in ("input", "message"):
            value = getattr(entry, field)
            masked = term.masked_json(value) if value else value
            if masked != value:
                replace_field(evidence, entry, field, masked)
    proposed = ProposedChange.objects.filter(store_id=store.store)
    proposed.filter(path=path).update(path=MASKED)
    proposed.filter(new_path=path).update(new_path=MASKED)
    items = ImportItem.objects.filter(job__store_id=store.store, path=path)
    items.exclude(job__state__in=importing.OPEN).update(path=MASKED)
    Memory.objects.among(store.store, [version.memory_id]).in_trash().filter(path=path).update(
        path=MASKED, name=paths.name(MASKED)
    )


def _entries(store_id: str, path: str) -> Iterator[AuditEntry]:
    """Yield the entries that contain the path, even as a part of a longer path, oldest first."""
    escaped = to_json(path)[1:-1]
    answer = StrIndex(F("message"), Value(escaped, output_field=models.TextField()))
    found = Q(path=path) | Q(new_path=path) | own_texts.has_in_input(escaped) | Q(GreaterThan(answer, 0))
    yield from list(AuditEntry.objects.of_chain(store_id).filter(found).oldest())


class _Path(Terms):
    """Masks one path inside texts, but not where it is only a part of a longer path."""

    def __init__(self, path: str) -> None:
        super().__init__([path])
        self.whole = re.compile(rf"(?<![^\s\"'“(:=,\[])(/memories)?{re.escape(path)}(?!\.?[\w/-])")

    def masked(self, text: str) -> str:
        return self.whole.sub(lambda match: (match[1] or "") + MASKED, text)

    def masked_path(self, path: str) -> str:
        return self.masked(path)

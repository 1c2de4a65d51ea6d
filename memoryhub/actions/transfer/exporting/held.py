"""The export of the memories under a legal hold, with all their versions and a signed certificate of the content.

The first entry, `export`, is written before the first byte is sent. The second one, `certify`, is written at the end,
with the digest of the certificate. So the audit confirms the certificate even after a change of the audit key.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record, documents
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.memories.selection import MOST_TOLD, Chosen
from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import Export, Wanted
from memoryhub.actions.transfer.exporting.rows import Rows, Scope
from memoryhub.models import Hold, HoldKind, Memory
from memoryhub.pure import chain
from memoryhub.pure.protocol import paths
from memoryhub.pure.transfer.archive import write
from memoryhub.pure.transfer.names import Names

HISTORY, TEXTS, CERTIFICATE = "history.jsonl", "texts", "certificate.json"


class NothingHeld(Exception):
    """The hold has ended, or it holds no memory yet."""


@dataclass(slots=True)
class HeldExport:
    """An export whose entry has been written, and the holds whose memories it contains.

    `act` returns the act for the entry of the certificate.
    """

    export: Export
    holds: Sequence[Hold]
    places: Sequence[str]
    act: Callable[[], Act]

    def body(self) -> Iterator[bytes]:
        """Yield the ZIP archive: the history, the texts of the live memories, and last the certificate."""
        yield from write.files(self._files(), self.export.about.at)

    def _files(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        history = hashlib.sha256()
        yield HISTORY, write.hashed(self.export.body(), history)
        names = Names()
        for head in Rows(self.export.scope).heads():
            if (text := head.version.content) is not None:
                yield f"{TEXTS}/{names.of(head.version.path)}", [text.encode("utf-8", "surrogatepass")]
        yield CERTIFICATE, [self._certificate({HISTORY: history.hexdigest()}).encode()]

    def _certificate(self, files: dict[str, str]) -> str:
        """Write the entry of the certificate, and return the signed certificate as JSON text."""
        act, scope = self.act(), self.export.scope
        counts = self.export.counts
        content: dict[str, Any] = {
            "holds": [_hold_as_json(hold) for hold in self.holds],
            "export_entry": scope.seq,
            "files": files,
            "memories": counts.memories,
            "versions": counts.versions,
        }
        return documents.certified("certificate_of_held", scope.store, content, {"paths": list(self.places)}, act)


def begin(store_id: str, hold_id: str, act: Callable[[], Act], *, whole_case: bool = False) -> HeldExport:
    """Begin the export of the memories that a legal hold covers now: write the entry, and return the export.

    With `whole_case`, export the memories of all legal holds of the same case. Raises NothingHeld and tree.NoSuchStore.
    """
    with tree.locked(store_id, act()) as store:
        found = holds_with(store_id, hold_id, store.at, whole_case=whole_case)
        scope = _scope(store_id, found, store.seq)
        count = _count(scope)
        if not count:
            raise NothingHeld
        wanted = Wanted("jsonl", chosen=Chosen(scope.memories), governance=True, proofs=True)
        made = HeldExport(exporting.of_scope(store, wanted, scope), found, _places(store_id, found), act)
        tree.commit(store, _record(made, count))
    return made


def holds_with(store_id: str, hold_id: str, at: datetime, *, whole_case: bool) -> list[Hold]:
    """Return a list with the legal hold `hold_id`; with `whole_case`, a list with all legal holds of the same case.

    The list is empty if the hold `hold_id` has ended.
    """
    legal = Hold.objects.of_store(store_id).legal().active(at)
    hold = legal.filter(pk=hold_id).first()
    if hold is None or not (whole_case and hold.case_number):
        return [hold] if hold else []
    return list(Hold.objects.of_case(store_id, HoldKind.HOLD, hold.case_number).active(at).order_by("pk"))


def count(store_id: str, found: Sequence[Hold]) -> int:
    """Return how many memories these holds hold now, including those in the trash."""
    return _count(_scope(store_id, found, 0))


def _scope(store_id: str, found: Sequence[Hold], seq: int) -> Scope:
    """Return the scope of an export of held memories.

    It has the topmost directories that the holds cover, and the covered memories outside of these directories.
    """
    places = {hold.path for hold in found if hold.path is not None}
    tops = sorted(place for place in places if places.isdisjoint(paths.ancestors(place)))
    rows: list[tuple[str, str]] = []
    for part in in_parts(sorted({hold.memory for hold in found if hold.memory})):
        rows += Memory.objects.among(store_id, part).values_list("pk", "path")
    for part in in_parts([place for place in tops if place]):
        rows += Memory.objects.filter(store_id=store_id, path__in=part).values_list("pk", "path")
    single = sorted({memory for memory, path in rows if not set(tops).intersection(paths.ancestors(path))})
    return Scope(store_id, seq, tuple(tops), tuple(single), with_trash=True)


def _count(scope: Scope) -> int:
    there = Memory.objects.filter(store_id=scope.store)
    ranges = (paths.subtree(directory) for directory in scope.directories)
    counts = [there.filter(path__gte=low, path__lt=high).count() for low, high in ranges]
    return there.count() if scope.is_whole else len(scope.memories) + sum(counts)


def _places(store_id: str, found: Sequence[Hold]) -> list[str]:
    """Return the path of each hold's memory or directory, sorted.

    A memory that was removed permanently has no path, and is left out.
    """
    named: dict[str, str] = {}
    for part in in_parts(sorted({hold.memory for hold in found if hold.memory})):
        named |= dict(Memory.objects.among(store_id, part).values_list("pk", "path"))
    places = (named.get(hold.memory) if hold.memory else f"{hold.path}/" for hold in found)
    return sorted({place for place in places if place})


def _record(made: HeldExport, count: int) -> Record:
    case = made.holds[0].case_number
    details = {
        "format": "zip",
        "history": True,
        "audit": False,
        "masked": False,
        "governance": True,
        "paths": made.places[:MOST_TOLD],
        "memories": count,
        "selected": len(made.places),
        "holds": [hold.pk for hold in made.holds[:MOST_TOLD]],
        **({"case_number": case} if case else {}),
    }
    scope = made.export.scope
    one = scope.memories[0] if count == 1 and scope.memories else None
    return Record("export", path=made.places[0] if one else None, memory=one, input=audit.to_json(details))


def _hold_as_json(hold: Hold) -> dict[str, Any]:
    """Return a hold as the certificate describes it."""
    ends = chain.moment(hold.ends_at) if hold.ends_at else None
    what = {"id": hold.pk, "entry": hold.seq, "memory": hold.memory, "path": hold.path}
    why = {"case_number": hold.case_number, "reason": hold.reason, "freezes": hold.freezes}
    return {**what, **why, "placed_by": hold.owner_id, "placed_at": chain.moment(hold.created_at), "ends_at": ends}

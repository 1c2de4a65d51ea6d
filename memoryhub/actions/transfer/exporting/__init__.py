"""Exports of a memory store, a directory or a selection. The audit entry is written before the first byte is sent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.memories.selection import Chosen, Item, NotDone, Selected, named_of, selected
from memoryhub.actions.transfer.exporting import rules as export_rules
from memoryhub.actions.transfer.exporting.comments import Threads
from memoryhub.actions.transfer.exporting.proposed import proposals
from memoryhub.actions.transfer.exporting.rows import Cover, Rows, Scope
from memoryhub.models import AuditChain, AuditEntry, Directory, MemoryStore, Redaction
from memoryhub.pure import chain
from memoryhub.pure.statement import EntryRange, counted
from memoryhub.pure.transfer.archive import write
from memoryhub.pure.transfer.bundle import BundledRule
from memoryhub.pure.transfer.git import write as git_write
from memoryhub.pure.transfer.jsonl import write as jsonl_write
from memoryhub.pure.transfer.jsonl.write import Counts
from memoryhub.pure.transfer.written import FORMATS, About, JsonRow, WrittenVersion

__all__ = ["ENDINGS", "FORMATS", "TYPES", "Export", "NotDone", "Wanted", "begin", "prepared"]

ENDINGS = {"zip": "zip", "jsonl": "jsonl", "git": "gitstream"}
TYPES = {"zip": "application/zip", "jsonl": "application/jsonl", "git": "application/x-git-fast-import"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The content and the form of an export: a selection, or a directory."""

    form: str
    path: str = ""  # of the directory; "" is the whole store
    chosen: Chosen | None = None
    history: bool = True
    masked: bool = False  # values are masked as on pages, and the audit is left out
    governance: bool = False  # with comments and, for a whole store, proposals and path rules
    proofs: bool = False  # versions have the values for a verification (always with the audit)
    signed: bool = False  # the download is signed; it must contain the audit
    notes: bool = True  # with the notes of deletions, unless values are masked; people wrote them, not for agents

    @property
    def has_comments(self) -> bool:
        """Return whether the export contains the comments on its memories."""
        return self.governance and self.form != "git" and self.history and not self.masked

    @property
    def has_governance(self) -> bool:
        """Return whether the export contains the proposals and the path rules."""
        has_lines = self.form == "jsonl" or (self.form == "zip" and self.history)
        return self.governance and has_lines and self._is_whole

    @property
    def audit(self) -> bool:
        """Return whether the export contains the audit."""
        return self.form == "jsonl" and self.history and self._is_whole

    @property
    def _is_whole(self) -> bool:
        return not self.masked and not self.path and self.chosen is None


@dataclass(slots=True)
class Export:
    """An export whose entry has been written. `counts` and `entries` increase while `body` is read."""

    wanted: Wanted
    scope: Scope
    about: About
    start: int
    rules: Sequence[BundledRule] = ()
    counts: Counts = field(default_factory=Counts)
    entries: dict[str, EntryRange] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the file name of the download."""
        store = str(self.about.store["name"])
        stem = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in store).lower().split())[:60]
        return f"{stem or 'memories'}.{ENDINGS[self.wanted.form]}"

    @property
    def content_type(self) -> str:
        return TYPES[self.wanted.form]

    def body(self, cover: Cover | None = None) -> Iterator[bytes]:
        """Yield the bytes of the export. `cover` masks the texts of rows.

        Raises ValueError for a `masked` export without `cover`.
        """
        if self.wanted.masked and cover is None:
            raise ValueError("a masked export needs to know what to mask")
        wanted = self.wanted
        rows = Rows(self.scope, cover=cover, proofs=wanted.audit or wanted.proofs, notes=wanted.notes)
        if self.wanted.form == "git":
            ordered = rows.in_order(history=self.wanted.history)
            return git_write.stream(self.about, ordered, self.counts)
        if self.wanted.form == "zip":
            history = self._lines(rows) if self.wanted.history else None
            return write.archive(self.about, self._counted(rows.heads()), history)
        return self._lines(rows)

    def _lines(self, rows: Rows) -> Iterator[bytes]:
        self.counts.memories = self.counts.versions = 0
        yield from jsonl_write.opening(self.about)
        versions = rows.histories() if self.wanted.history else rows.heads()
        threads = (Threads(self.scope.store, self.scope.seq).of,) if self.wanted.has_comments else ()
        yield from jsonl_write.memories(versions, self.counts, *threads)
        if self.wanted.has_governance:
            yield from jsonl_write.proposals(proposals(self.scope.store, self.scope.seq))
            yield from jsonl_write.rules(self.rules)
        if self.wanted.audit:
            yield from jsonl_write.audit("entry", self._entries(rows.entries()))
            yield from jsonl_write.audit("redaction", self._redactions(rows.redactions()))
            yield from jsonl_write.audit("proof", [self._proof()])
        yield jsonl_write.closing(self.counts, changed=self._changed())

    def _counted(self, versions: Iterable[WrittenVersion]) -> Iterator[WrittenVersion]:
        for version in versions:
            self.counts.memories += 1
            self.counts.versions += 1
            yield version

    def _entries(self, rows: Iterable[JsonRow]) -> Iterator[JsonRow]:
        for row in counted(rows, self.entries):
            self.counts.entries += 1
            yield row

    def _redactions(self, rows: Iterable[JsonRow]) -> Iterator[JsonRow]:
        for row in rows:
            self.counts.redactions += 1
            yield row

    def _proof(self) -> JsonRow:
        """Return the start of the chain, and the head of the chain at the export's entry."""
        row = AuditChain.objects.get(pk=self.scope.store)
        last = AuditEntry.objects.of_chain(self.scope.store).get(seq=self.scope.seq)
        return {
            "chain": row.pk,
            "last_seq": last.seq,
            "last_hash": last.hash,
            "older_seq": row.older_seq,
            "older_signature": row.older_signature,
            "start_seq": row.start_seq,
            "start_hash": row.start_hash,
            "start_at": chain.moment(row.start_at) if row.start_at else None,
            "start_versions": row.start_versions,
            "start_signature": row.start_signature,
        }

    def _changed(self) -> bool:
        """Return whether anything was redacted or removed after the export's entry."""
        redacted = Redaction.objects.of_chain(self.scope.store).filter(seq__gt=self.scope.seq).exists()
        return redacted or _start_of(self.scope.store) != self.start


def begin(store_id: str, wanted: Wanted, act: Act) -> Export:
    """Write the entry of an export, and return the export, which can have any size.

    Raises NotDone if there is nothing to export. Also raises tree.NoSuchStore.
    """
    with tree.locked(store_id, act) as store:
        export, record = prepared(store, wanted)
        tree.commit(store, record)
    return export


def prepared(store: Tree, wanted: Wanted) -> tuple[Export, Record]:
    """Return the export and the record that the caller commits. Raises NotDone if there is nothing to export."""
    if wanted.chosen is not None:
        found = selected(store.store, wanted.chosen, most=None) if wanted.chosen.everything_in is None else None
        if found is None:
            return prepared(store, replace(wanted, path=wanted.chosen.everything_in or "", chosen=None))
        scope, items = _scope_of(store, found.items), found.items
        vanished = found.vanished
    else:
        there = Directory.objects.filter(store_id=store.store).at(wanted.path).first()
        items = (Item(there.pk, there.path, there.memory_count, there.total_bytes, None),) if there else ()
        scope, vanished = Scope(store.store, store.seq, (wanted.path,), with_trash=wanted.history), 0 if items else 1
    if not items:
        raise NotDone(Selected((), vanished), changed=False)
    return of_scope(store, wanted, scope), _record(wanted, items)


def of_scope(store: Tree, wanted: Wanted, scope: Scope) -> Export:
    """Return the export of a part of a store. The caller commits its record."""
    row = MemoryStore.objects.get(pk=store.store)
    rules = export_rules.rules(row) if wanted.has_governance else ()
    return Export(wanted, scope, _about(store, row, wanted), _start_of(store.store), rules)


def _scope_of(store: Tree, items: Iterable[Item]) -> Scope:
    items = list(items)
    directories = tuple(item.path for item in items if item.is_directory)
    return Scope(store.store, store.seq, directories, tuple(item.id for item in items if not item.is_directory))


def _record(wanted: Wanted, items: Iterable[Item]) -> Record:
    """Return the record of an export, with the totals and the first paths of its items (see `named_of`)."""
    items = list(items)
    one = items[0] if len(items) == 1 else None
    details = {
        "format": wanted.form,
        "history": wanted.history,
        "audit": wanted.audit,
        "masked": wanted.masked,
        "paths": list(named_of(items)),
        "memories": sum(item.count for item in items),
        "size": sum(item.size for item in items),
        "selected": len(items),
    }
    if wanted.has_governance or wanted.has_comments:
        details["governance"] = True
    if wanted.signed:
        details["signed"] = True
    return Record(
        "export",
        path=one.path or None if one else None,
        memory=one.memory.id if one and one.memory else None,
        version=one.memory.head if one and one.memory else None,
        input=audit.to_json(details),
    )


def _about(store: Tree, row: MemoryStore, wanted: Wanted) -> About:
    facts = {
        "id": row.pk,
        "name": row.name,
        "description": row.description,
        "metadata": row.metadata,
        "created_at": chain.moment(row.created_at),
        "updated_at": chain.moment(row.updated_at),
        "archived_at": chain.moment(row.archived_at) if row.archived_at else None,
        "memory_count": row.memory_count,
        "total_bytes": row.total_bytes,
    }
    return About(
        settings.MEMORYHUB_URL,
        facts,
        store.at,
        store.seq,
        wanted.path or None,
        wanted.history,
        wanted.audit,
        wanted.masked,
    )


def _start_of(chain_id: str) -> int:
    return AuditChain.objects.filter(pk=chain_id).values_list("start_seq", flat=True).first() or 0


def directory_of(path_prefix: str) -> str:
    """Return the directory for a path prefix: `/notes` for `/notes/` and `/notes`, `""` for `/`."""
    return path_prefix.rstrip("/")

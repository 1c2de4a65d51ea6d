"""Writes one memory of an import to a locked store.

It becomes a new memory with its history, replaces another text, or gets a free path beside another memory.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db import transaction

from memoryhub.actions.core import audit, proposed_texts, sql, tree
from memoryhub.actions.core.audit import Record, Version
from memoryhub.actions.core.audit.evidence import Evidence
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.findings import Screened, ScreenedPath
from memoryhub.actions.memories import commands
from memoryhub.actions.transfer import dismissals
from memoryhub.actions.transfer.importing import comments as import_comments, notes, preview, proposals, rules
from memoryhub.actions.transfer.importing.places import clamped
from memoryhub.actions.transfer.importing.preview import (
    BESIDE,
    BESIDE_IT,
    CHANGED,
    REFUSED,
    REPLACED,
    RULES,
    SAME,
    SKIP,
    SKIPPED,
    TAKEN,
    TRASH,
    is_deleted,
    require_free,
)
from memoryhub.models import Import, ImportItem, Memory, MemoryText, MemoryVersion, Operation, Redaction
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

_MEMORY_ID, _VERSION_ID = (re.compile(prefix + "[0-9A-HJKMNP-TV-Z]{26}") for prefix in (ids.MEMORY, ids.MEMORY_VERSION))


class _Brought(NamedTuple):
    """The outcome of an item, and the record for its entry (None: no entry)."""

    outcome: str
    record: Record | None = None


def bring(store: Tree, job: Import, item: ImportItem) -> None:
    """Import an item according to the person's choice, with its own entry. If a rule forbids this, the item is refused.
    The outcome is set on the item; the caller saves it."""
    _fresh(store)
    before = store.memories, store.total_bytes
    try:
        with transaction.atomic():
            outcome, record = _bring(store, job, item)
            if record is not None:
                item.seq = notes.commit(store, item, record)
    except ToolError as error:
        store.memories, store.total_bytes = before
        _fresh(store)
        outcome, item.reason = REFUSED, error.message
        details = {"import": job.pk, "number": item.number, "choice": item.choice}
        act = ("edit_path_rules", None) if item.found == RULES else ("import", item.path)
        refused = Record(act[0], ok=False, path=act[1], answer=error.message, input=audit.to_json(details))
        item.seq = tree.commit(store, refused)
    item.outcome, item.content, item.history = outcome, None, []


def _fresh(store: Tree) -> None:
    """Reset what the tree has noted for the previous memory, because each memory is a separate act."""
    store.made, store.changed, store.kept_out, store.overridden = [], [], [], []
    store.masked, store.asks, store.reason = None, False, None


def _bring(store: Tree, job: Import, item: ImportItem) -> _Brought:
    if item.choice == SKIP:
        return _Brought({"same": SAME, "refused": REFUSED}.get(item.found, SKIPPED))
    if item.is_proposal:
        return _Brought(TAKEN, proposals.brought(store, job, item))
    if item.found == RULES:
        record = rules.taken(store, job, item)
        return _Brought(TAKEN if record else SAME, record)
    if item.found == TRASH or is_deleted(item):
        return _Brought(TAKEN, _with_history(store, job, item, item.path))
    current = tree.memory_at(store, item.path)
    if current is None:
        preview.require_path(item.path)
        require_free(store, item.path)
        return _Brought(TAKEN, _new(store, job, item, item.path))
    return _over(store, job, item, current)


def _over(store: Tree, job: Import, item: ImportItem, current: StoredMemory) -> _Brought:
    """Import a memory whose path is taken: under a free path beside the other memory, or as the other memory's newest
    version."""
    if current.content == item.content:
        return _Brought(SAME)
    if item.choice == BESIDE:
        return _Brought(BESIDE_IT, _new(store, job, item, beside(store, item.path)))
    if current.head != item.met:
        return _Brought(CHANGED)
    version = commands.write(store, current, findings.screen(store, current.path, current.content, item.content or ""))
    if version == current.head:
        return _Brought(SAME)
    return _Brought(REPLACED, _record(job, item, current.path, current.id, store.made))


def beside(store: Tree, path: str) -> str:
    """Return a free path such as `/a (imported).md` for a memory whose path is taken. Raises ToolError if none is
    free."""
    directory, name = paths.parent(path), paths.name(path)
    stem, dot, ending = name.rpartition(".") if "." in name[1:] else (name, "", "")
    for number in range(1, 1000):
        mark = " (imported)" if number == 1 else f" (imported {number})"
        room = paths.MOST_BYTES_OF_NAME - len((mark + dot + ending).encode())
        short = stem.encode()[: max(1, room)].decode("utf-8", "ignore").rstrip()
        free = f"{directory}/{short}{mark}{dot}{ending}"
        if not tree.is_taken(store, free):
            return paths.from_tool(paths.to_tool(free), creates=True)
    raise ToolError(results.already_exists(path))


def _record(job: Import, item: ImportItem, path: str, memory: str, made: Sequence[Version], **more: int) -> Record:
    details: dict[str, Any] = {
        "import": job.pk,
        "number": item.number,
        "choice": item.choice,
        "versions": len(made) - more.get("gone", 0),
        **{name: count for name, count in more.items() if count},
    }
    if path != item.path:
        details["beside"] = item.path
    return Record(
        "import",
        path=path or None,
        memory=memory,
        version=made[-1].id,
        versions=tuple(made),
        input=audit.to_json(details),
    )


# ------------------------------------------------------------------------------------------------ a new memory


def _new(store: Tree, job: Import, item: ImportItem, path: str) -> Record:
    if item.history:
        return _with_history(store, job, item, path)
    place = findings.screen_path(store, path)
    screened = findings.screen(store, path, None, item.content or "")
    tree.check_limits(store, path, old_size=None, new_size=len(screened.text.encode()))
    memory = tree.add_memory(store, path, screened.text)
    findings.note(store, memory, store.made[-1].id, screened, place)
    dismissals.carry(store, job, item, memory)
    return _record(job, item, path, memory, store.made)


def _with_history(store: Tree, job: Import, item: ImportItem, path: str) -> Record:
    """Write a memory with all its versions, at a free path or in the trash; return the record."""
    history = [dict(version) for version in item.history]
    last = history[-1]
    if last["path"] is not None:
        last["path"] = path
    written = _History(store, job, item, path)
    written.look(history)
    for version in history:
        written.version(version)
    return written.finish()


class _History:
    """Writes the versions of one memory, oldest first. All of them belong to the entry of the import."""

    def __init__(self, store: Tree, job: Import, item: ImportItem, path: str) -> None:
        self.store, self.job, self.item, self.path = store, job, item, path
        self.memory, self.kept = self._ids(item)
        self.screened: dict[str, Screened] = {}
        self.place = ScreenedPath(path)
        self.evidence = Evidence(store)
        self.texts: list[MemoryText] = []
        self.versions: list[MemoryVersion] = []
        self.missing: list[Version] = []
        self.last: MemoryVersion | None = None

    def _ids(self, item: ImportItem) -> tuple[str, frozenset[str]]:
        """Return the memory's id, and the ids from the source that versions keep.

        An id that this hub has or once had is not kept: the memory or version then gets a new id.
        """
        own = item.memory or ""
        versions = {version["id"] for version in item.history if version["id"] and _VERSION_ID.fullmatch(version["id"])}
        taken: set[str | None] = set()
        for part in in_parts(sorted(versions)):
            taken |= set(MemoryVersion.objects.filter(pk__in=part).values_list("pk", flat=True))
            # Versions removed here are still named by entries, which would then point to another text.
            taken |= set(Redaction.objects.of_versions(self.store.store, part).values_list("version", flat=True))
        is_free = (
            _MEMORY_ID.fullmatch(own) is not None
            and not Memory.objects.filter(pk=own).exists()
            and not Redaction.objects.of_memories(self.store.store, [own]).exists()
        )
        return own if is_free else ids.new_id(ids.MEMORY, self.store.at), frozenset(versions - taken)

    def look(self, history: Sequence[dict[str, Any]]) -> None:
        """Check every rule that a write has to follow, before anything is written."""
        if self.path:
            self.place = findings.screen_path(self.store, self.path)
        for version in history:
            content = version["content"]
            if content is not None and content not in self.screened:
                self.screened[content] = findings.screen(self.store, version["path"] or self.path, None, content)
        newest = history[-1]["content"]
        if history[-1]["operation"] != Operation.DELETED:
            size = len(self.screened[newest].text.encode())
            tree.check_limits(self.store, self.path, old_size=None, new_size=size, versions=len(history) - 1)

    # -------------------------------------------------------------------------------------------- versions

    def version(self, details: dict[str, Any]) -> None:
        """Add the next version. If versions before it are missing at the source, first record each of them as
        removed."""
        first = self.last.number + 1 if self.last else 1
        for number in range(first, details["number"]):
            self._gone(number)
        version = self._row(details)
        if details["redacted"]:
            self._redact(version)
        elif details["content"] is not None:
            self._text(version, self.screened[details["content"]].text)
        self._commit(version)
        if details["redacted"]:
            version.salt = None
            self.evidence.of_version(version)
        self.versions.append(version)
        self.last = version

    def _row(self, details: dict[str, Any]) -> MemoryVersion:
        type, id = details["author"] or ("", "")
        kept = details["id"] if details["id"] in self.kept else ids.new_id(ids.MEMORY_VERSION, self.store.at)
        return MemoryVersion(  # type: ignore[misc]
            id=kept,
            store_id=self.store.store,
            memory_id=self.memory,
            number=details["number"],
            operation=details["operation"],
            path=details["path"],
            created_at=clamped(self.store, details["at"]),
            seq=self.store.seq,
            superseded_seq=self.store.seq,
            salt=chain.new_salt(),
            origin={"import": self.job.pk, "type": type, "id": id},
        )

    def _text(self, version: MemoryVersion, content: str) -> None:
        """Set a version's text. If the previous version has the same text, both versions share the text's row."""
        encoded = content.encode()
        version.size, version.sha256 = len(encoded), hashlib.sha256(encoded).hexdigest()
        if self.last is not None and self.last.text_id and self.last.sha256 == version.sha256:
            version.text_id = self.last.text_id
            return
        text = MemoryText(
            id=ids.new_id(ids.MEMORY_TEXT, self.store.at),
            store_id=self.store.store,
            memory_id=self.memory,
            content=content,
        )
        self.texts.append(text)
        version.text_id = text.pk

    def _redact(self, version: MemoryVersion) -> None:
        """Mark a version as redacted by this import, because it was redacted at the source."""
        version.path, version.redacted_at, version.redacted_seq = None, self.store.at, self.store.seq
        version.redacted_by = self.store.act.actor.id
        if version.operation != Operation.DELETED:
            version.size = 0

    def _commit(self, version: MemoryVersion) -> None:
        version.commitment = chain.version_commitment(
            version.salt or "",
            id=version.pk,
            memory=self.memory,
            number=version.number,
            operation=version.operation,
            path=version.path or "",
            sha256=version.sha256,
            at=chain.moment(version.created_at),
            origin=version.origin,
        )
        self.store.made.append(Version(version.pk, version.commitment))

    def _gone(self, number: int) -> None:
        """Record a version that was removed at the source, as if it had been removed in this hub."""
        version = self._row(
            {"id": None, "number": number, "operation": "modified", "path": "", "at": None, "author": None}
        )
        self._commit(version)
        self.missing.append(self.store.made[-1])
        self.evidence.of_removed(version)

    # -------------------------------------------------------------------------------------------- the memory

    def finish(self) -> Record:
        """Write all rows and return the entry's record."""
        head, store = self.versions[-1], self.store
        head.superseded_seq = None
        redactions = self.evidence.write()
        sql.run_each(sql.ADD_TEXT, ((one.pk, one.store_id, self.memory, one.content) for one in self.texts))
        sql.run_each(sql.ADD_IMPORTED_VERSION, map(_columns, self.versions))
        with_text = self._with_text()
        live = head.operation != Operation.DELETED
        directory = tree.make_directories(store, self.path) if live else None
        path = self.path or f"/{proposed_texts.REMOVED}"  # of a memory in the trash whose path was redacted
        Memory(
            id=self.memory,
            store_id=store.store,
            directory_id=directory,
            path=path,
            name=paths.name(path),
            head_id=head.pk,
            text_id=with_text.text_id,
            size=with_text.size or 0,
            sha256=with_text.sha256 or "",
            version_count=head.number,
            removed_versions=len(self.missing),
            created_at=self.versions[0].created_at,
            updated_at=head.created_at,
            deleted_at=None if live else head.created_at,
            restored_at=store.at if live else None,
        ).save(force_insert=True)
        if live:
            tree.count(store, paths.ancestors(self.path), 1, head.size or 0)
        self._note()
        dismissals.carry(store, self.job, self.item, self.memory)
        comments = self._comments()
        record = _record(
            self.job, self.item, self.path, self.memory, store.made, gone=len(self.missing), comments=comments
        )
        return record._replace(redactions=redactions)

    def _comments(self) -> int:
        threads = self.item.history[-1].get(import_comments.KEY, ())
        contents = {text.pk: text.content for text in self.texts}
        texts = {version.number: contents.get(str(version.text_id)) for version in self.versions}
        return import_comments.write(self.store, self.memory, threads, texts.get)

    def _with_text(self) -> MemoryVersion:
        """Return the version whose text the memory has: its newest version or, if that is a deletion, the last version
        before it."""
        return next(version for version in reversed(self.versions) if version.operation != Operation.DELETED)

    def _note(self) -> None:
        """Record the findings in the newest text, then in the older texts. Each text is searched once."""
        noted: set[str] = set()
        for version, screened in self._newest_first():
            if version.text_id in noted:
                continue
            noted.add(str(version.text_id))
            place = self.place if version is self.versions[-1] else None
            findings.note(self.store, self.memory, version.pk, screened, place)

    def _newest_first(self) -> Iterator[tuple[MemoryVersion, Screened]]:
        by_text = {screened.text: screened for screened in self.screened.values()}
        contents = {text.pk: text.content for text in self.texts}
        for version in reversed(self.versions):
            if version.text_id:
                yield version, by_text[contents[version.text_id]]


def _columns(one: MemoryVersion) -> tuple[object, ...]:
    """Return a version's columns in the order of `sql.ADD_IMPORTED_VERSION`."""
    redacted_at = sql.moment(one.redacted_at) if one.redacted_at else None
    return (
        one.pk,
        one.store_id,
        one.memory_id,
        one.number,
        one.operation,
        one.path,
        one.text_id,
        one.size,
        one.sha256,
        sql.moment(one.created_at),
        one.seq,
        one.superseded_seq,
        one.salt,
        one.commitment,
        redacted_at,
        one.redacted_by,
        one.redacted_seq,
        audit.to_json(one.origin),
    )

"""The acts of people on memories: create, edit, rename, delete and restore.

Each act has one audit entry, and may have a note. An act that is refused raises ToolError, before any write. If someone
else has changed the memory, Conflict is raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from memoryhub.actions.core import audit, proposing, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.proposing import Wanted
from memoryhub.actions.core.rules import holds, path_rules
from memoryhub.actions.core.rules.path_rules import Change
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.findings import Kept
from memoryhub.actions.memories import commands
from memoryhub.actions.review import decisions
from memoryhub.models import MemoryVersion
from memoryhub.models.audit import ActorKind
from memoryhub.pure.path_rules import PathRule, Verb
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.commands import Create, Delete, Insert, Rename, StrReplace, View, parse
from memoryhub.pure.protocol.errors import ToolError


class Conflict(Exception):
    """The memory has changed since the person opened it. `current` is its current state (None: it was deleted)."""

    def __init__(self, current: StoredMemory | None) -> None:
        super().__init__("already changed by someone else")
        self.current = current


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an act: the entry's seq, and the ids of the memory and its version.

    The ids are None if the act was not about exactly one memory. `masked` has the kinds of the values that were masked
    in the stored text.
    """

    seq: int
    memory: str | None
    version: str | None
    masked: tuple[str, ...] = ()


def create(store_id: str, path: str, content: str, act: Act, *, override: str | None = None) -> Done:
    """Create a memory. A memory that is already at the path is never overwritten.

    Flagged text needs a reason (`override`), here and in `edit` and `rename`; otherwise NeedsReason is raised.
    """
    with tree.locked(store_id, act) as store:
        store.overwrite, store.asks, store.reason = False, _is_person(act), override
        return _done(store, commands.create(store, Create(path, content)), {"path": path})


def by_hand(
    store_id: str, input: Mapping[str, Any], act: Act, *, override: str | None = None
) -> tuple[Record, Done | None]:
    """Perform a command of the memory tool, typed by a person. Return its record and the result of the act.

    The record has the tool's answer. The result is None for a view, which has no entry. Raises ToolError, whose message
    is the tool's answer, if the command is refused; NeedsReason if flagged text has no reason (`override`).
    """
    command = parse(input)
    with tree.locked(store_id, act) as store:
        store.asks, store.reason = _is_person(act), override
        if isinstance(command, View):
            return commands.looked_at(store, command), None
        record = commands.VERBS[type(command)](store, command)
        written = record._replace(command="edit") if isinstance(command, StrReplace | Insert) else record
        details: dict[str, object] = {"path": command.path}
        if isinstance(command, Rename):
            details["new_path"] = command.new_path
        return record, _done(store, written, details)


@dataclass(frozen=True, slots=True)
class Merged:
    """The ids of two versions that a person merged: the one the person had opened, and a newer one by someone else."""

    opened: str
    theirs: str


def edit(
    store_id: str,
    memory_id: str,
    content: str,
    expected_sha256: str,
    act: Act,
    *,
    merged: Merged | None = None,
    reviewed: str | None = None,
    override: str | None = None,
) -> Done:
    """Give a memory a new text, if its text still has the expected SHA-256. Without a change, no version is made.

    `reviewed` is the id of a version of the memory: that version and the earlier ones then no longer await review.
    Raises Conflict if the memory was deleted, or if its text is neither the expected one nor `content`.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        memory = tree.memory_by_id(store, memory_id)
        if memory is None or (memory.sha256 != expected_sha256 and memory.content != content):
            raise Conflict(memory)
        store.asks, store.reason = _is_person(act), override
        screened = findings.screen_written(store, memory.path, memory.content, content)
        version = commands.write(store, memory, screened)
        record = Record("edit", path=memory.path, memory=memory.id, version=version, versions=tuple(store.made))
        details: dict[str, object] = {"path": memory.path}
        details |= decisions.mark_with_edit(store, memory.id, reviewed)
        return _done(store, record, details | _told_of_merge(store, memory, merged))


def _told_of_merge(store: Tree, memory: StoredMemory, merged: Merged | None) -> dict[str, object]:
    """Return the part of the entry's input that describes a merge; {} if no versions of this memory were merged."""
    if merged is None:
        return {}
    named = {merged.opened, merged.theirs}
    versions = MemoryVersion.objects.filter(store_id=store.store, memory_id=memory.id, pk__in=named)
    if versions.count() != len(named):
        return {}
    return {"opened": merged.opened, "theirs": merged.theirs, "merged": True}


def rename(
    store_id: str, path: str, new_path: str, act: Act, *, memory_id: str | None = None, override: str | None = None
) -> Done:
    """Move a memory or a directory to a free path.

    With `memory_id`, raise Conflict if that memory is no longer at the path.
    """
    with tree.locked(store_id, act) as store:
        store.asks, store.reason = _is_person(act), override
        _require_same(store, path, memory_id)
        return _done(store, commands.rename(store, Rename(path, new_path)), {"path": path, "new_path": new_path})


def delete(store_id: str, path: str, act: Act, *, memory_id: str | None = None) -> Done:
    """Move a memory or a directory to the trash.

    With `memory_id`, raise Conflict if that memory is no longer at the path.
    """
    with tree.locked(store_id, act) as store:
        _require_same(store, path, memory_id)
        return _done(store, commands.delete(store, Delete(path)), {"path": path})


def restore(store_id: str, version_id: str, act: Act, *, path: str | None = None) -> Done:
    """Give a memory the text of an earlier version, unless it has that text already. A deleted memory leaves the trash.

    The deleted memory goes to `path` or, if that is None, to the version's path. Raises ToolError if that path is
    taken.
    """
    with tree.locked(store_id, act) as store:
        return _done(store, *put_back(store, version_id, path))


def put_back(store: Tree, version_id: str, path: str | None) -> tuple[Record, dict[str, object]]:
    """Restore a version in a locked store; return the record and the input for the entry. Raises ToolError."""
    tree.require_active(store)
    version = MemoryVersion.objects.filter(store_id=store.store, pk=version_id).select_related("text").first()
    if version is None or version.text is None or version.size is None or version.sha256 is None:
        raise ToolError(results.nothing_to_restore())
    memory = tree.memory_by_id(store, version.memory_id)
    if memory is not None:
        head = _restore_live(store, memory, version)
    else:
        head = _restore_deleted(store, version, path or version.path or "")
    place = memory.path if memory else path or version.path
    record = Record("restore", path=place, memory=version.memory_id, version=head, versions=tuple(store.made))
    return record, {"version": version_id, "path": place}


def _is_person(act: Act) -> bool:
    """Return whether the actor is a person. Only a person is asked for a reason."""
    return act.actor.kind == ActorKind.USER


def note_download(store_id: str, memory_id: str, act: Act) -> StoredMemory:
    """Record that a person downloads a memory; return the memory with its text. Raises Conflict if the memory was
    deleted."""
    with tree.locked(store_id, act) as store:
        memory = tree.memory_by_id(store, memory_id)
        if memory is None:
            raise Conflict(None)
        record = Record("download", path=memory.path, memory=memory.id, version=memory.head)
        _done(store, record, {"path": memory.path})
        return memory


def _require_same(store: Tree, path: str, memory_id: str | None) -> None:
    """Raise Conflict if the memory is no longer at the path; do nothing if `memory_id` is None."""
    if memory_id is None:
        return
    memory = tree.memory_by_id(store, memory_id)
    if memory is None or memory.path != path:
        raise Conflict(memory)


def _restore_live(store: Tree, memory: StoredMemory, version: MemoryVersion) -> str:
    if memory.sha256 == version.sha256:
        return memory.head
    rule = path_rules.require(store, Verb.EDIT, [Change(memory.path, memory, lambda: version.content or "")])
    if rule:
        _propose(store, rule, memory, memory.path, memory.content, version)
    kept = _as_kept(store, memory, memory.path, memory.content, version)
    tree.check_limits(store, memory.path, old_size=memory.size, new_size=kept.size, versions=memory.kept)
    head = tree.restore_text(store, memory, kept.text, kept.size, kept.sha256)
    findings.note(store, memory.id, head, kept.screened, returns=True)
    return head


def _restore_deleted(store: Tree, version: MemoryVersion, path: str) -> str:
    memory = tree.memory_in_trash(store, version.memory_id)
    if memory is None or path == paths.ROOT_DIRECTORY:
        raise ToolError(results.nothing_to_restore())
    if tree.is_taken(store, path):
        raise ToolError(results.already_exists(path))
    commands.require_place(store, path, results.cannot_create)
    holds.require_may_return(store, [(memory.id, memory.path, path)])
    rule = path_rules.require(store, Verb.CREATE, [Change(path, memory)])
    place = findings.screen_path(store, path)
    if rule:
        _propose(store, rule, memory, path, None, version)
    kept = _as_kept(store, memory, path, None, version)
    tree.check_limits(store, path, old_size=None, new_size=kept.size, versions=memory.kept)
    head = tree.restore_memory(store, memory, path, kept.text, kept.size, kept.sha256)
    findings.note(store, memory.id, head, kept.screened, place, returns=True)
    return head


def _propose(
    store: Tree, rule: PathRule, memory: StoredMemory, path: str, old: str | None, version: MemoryVersion
) -> NoReturn:
    screened = findings.screen(store, path, old, version.content or "")
    proposing.propose(store, rule, [Wanted(memory, path, screened.text)])


def _as_kept(store: Tree, memory: StoredMemory, path: str, old: str | None, version: MemoryVersion) -> Kept:
    size, sha256 = version.size or 0, version.sha256 or ""
    return findings.screen_stored(store, memory.id, path, old, str(version.text_id), size, sha256)


def _done(store: Tree, record: Record, details: dict[str, object]) -> Done:
    """Write the entry, whose input names versions instead of texts, and return the result."""
    if store.overridden:
        details = {**details, "override": store.reason, "findings": sorted(store.overridden)}
    # The input has no digest of a text, because a digest could confirm guesses at a text that is redacted later.
    record = record._replace(answer=None, rendered=False, first_line=None, last_line=None, input=audit.to_json(details))
    return Done(tree.commit(store, record), record.memory, record.version, tuple(kind for kind, _ in store.kept_out))

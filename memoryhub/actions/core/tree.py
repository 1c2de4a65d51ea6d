"""The memory tree of a locked store. Only this module changes the rows of the tree."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from memoryhub.actions.core import audit, settling, sql, store_settings
from memoryhub.actions.core.audit import Act, ChainHead, Version
from memoryhub.actions.core.audit.kept_calls import kept_of
from memoryhub.actions.core.hub import disk_space
from memoryhub.actions.core.rules import freezing, limits, protected_lines
from memoryhub.actions.core.rules.ruling import NOTHING_CLEAN, Clean, Looked, Ruling, ruling
from memoryhub.actions.core.rules.sight import Sight, sight_of
from memoryhub.actions.core.stored import StoredMemory, with_its_findings
from memoryhub.actions.core.transactions import remembered, writing
from memoryhub.models import Finding, FindingState, Operation, ReviewState
from memoryhub.models.audit import ActorKind
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError


class NoSuchStore(Exception):
    """The store does not exist, or was deleted."""


@dataclass(slots=True)
class Tree:
    """A locked store: its rules and limits, its totals, and the act that changes it."""

    store: str
    act: Act
    archived: bool
    overwrite: bool
    proposes_without_error: bool
    shows_proposed: bool
    path_rules: str  # JSON text
    rules: tuple[str, str | None]  # for sensitive text: the store's and the hub's, as JSON texts
    limits: limits.Limits
    memories: int
    total_bytes: int
    head: ChainHead
    now: object
    made: list[Version] = field(default_factory=list)
    changed: list[settling.Changed] = field(default_factory=list)
    kept_out: list[tuple[str, str]] = field(default_factory=list)  # (kind, value)
    masked: tuple[str, str] | None = None  # a new text before and after its masking
    overridden: list[str] = field(default_factory=list)
    asks: bool = False  # whether a person who writes flagged text must give a `reason`
    reason: str | None = None
    frozen: freezing.Frozen | None = None
    sight: Sight | None = None  # if set, only memories that the actor sees are read
    looked: Looked = field(default_factory=dict)  # this and the next three were read before the lock
    clean: Clean = NOTHING_CLEAN
    at_hand: StoredMemory | None = None
    resolved_ahead: settling.Resolved | None = None
    ended: list[Finding] = field(default_factory=list)  # open findings that the act itself resolves

    @property
    def ruling(self) -> Ruling:
        """Return the rules for each kind of sensitive text."""
        return ruling(*self.rules)

    @property
    def seq(self) -> int:
        """Return the seq that this act's entry will have."""
        return self.head.last_seq + 1

    @property
    def at(self) -> datetime:
        return self.act.at


@contextmanager
def locked(store_id: str, act: Act) -> Iterator[Tree]:
    """Open a transaction, lock the store against other writers, and yield its tree. Raises NoSuchStore."""
    with writing():
        yield lock(store_id, act)


def lock(store_id: str, act: Act) -> Tree:
    """Lock a store and its chain, inside `writing`, and return the tree. Raises NoSuchStore."""
    own: store_settings.Settings | None = remembered.get("store", store_id)
    totals: tuple[int, int, ChainHead] | None = remembered.take("totals", store_id)
    if own is None or totals is None:
        row = sql.one(sql.STORE if own is None else sql.TOTALS, store_id)
        if row is None:
            raise NoSuchStore(store_id)
        memories, total, *head = row[: sql.TOTAL_COLUMNS]
        totals = memories, total, ChainHead(store_id, *head)
        own = own or store_settings.of_row(row[sql.TOTAL_COLUMNS :])
        remembered.put(own, "store", store_id)
    if act.note:
        act = act._replace(note=ruling(*own.rules).masked(act.note))
    return Tree(store_id, act, *own, *totals, sql.moment(act.at), sight=sight_of(own.path_rules, act.actor, act.at))


# ------------------------------------------------------------------------------------------------ reading


def memory_at(tree: Tree, path: str) -> StoredMemory | None:
    """Return the live memory at a path, with its text, or None."""
    at_hand, tree.at_hand = tree.at_hand, None
    if at_hand is None or at_hand.path != path:
        row = sql.one_at(sql.MEMORY_AT, tree.store, path)
        at_hand = with_its_findings(tree.store, row) if row else None
    return at_hand if sees(tree, path) else None


def memory_by_id(tree: Tree, memory_id: str) -> StoredMemory | None:
    """Return the live memory with this id, with its text, or None."""
    row = sql.one(sql.MEMORY_BY_ID, tree.store, memory_id)
    return StoredMemory(*row) if row and sees(tree, row[1]) else None


def memory_in_trash(tree: Tree, memory_id: str) -> StoredMemory | None:
    """Return the deleted memory with this id, with its last text, or None."""
    row = sql.one(sql.MEMORY_IN_TRASH, tree.store, memory_id)
    return StoredMemory(*row) if row and sees(tree, row[1]) else None


def memories_under(tree: Tree, path: str) -> list[StoredMemory]:
    """Return the live memories under a directory, without their texts, in code-point order of their paths."""
    rows = sql.rows(sql.MEMORIES_UNDER, tree.store, *paths.subtree(path))
    return [StoredMemory(*row) for row in rows if sees(tree, row[1])]


def directory_at(tree: Tree, path: str) -> str | None:
    """Return the id of the directory at a path; None if there is none, or if the actor sees nothing in it."""
    row = sql.one(sql.DIRECTORY_AT, tree.store, path)
    is_hidden = tree.sight and path != paths.ROOT_DIRECTORY and not memories_under(tree, path)
    return None if row is None or is_hidden else str(row[0])


def is_taken(tree: Tree, path: str) -> bool:
    """Return whether a live memory or a directory is at a path."""
    return bool(sql.one(sql.PATH_TAKEN, tree.store, path) and sees(tree, path)) or directory_at(tree, path) is not None


def directory_of(tree: Tree, path: str) -> str | None:
    """Return the id of the directory directly above a path; None if it does not exist."""
    row = sql.one(sql.DIRECTORY_AT, tree.store, paths.ancestors(path)[-1])
    return str(row[0]) if row else None


def memory_above(tree: Tree, path: str) -> str | None:
    """Return the path of a memory at a position where `path` needs a directory; None if there is none."""
    above = paths.ancestors(path)[1:]
    found = sql.memories_at(tree.store, above) if above else ()
    return next((place for (place,) in found if sees(tree, place)), None)


def sees(tree: Tree, path: str) -> bool:
    """Return whether the actor sees memories at a path."""
    return tree.sight is None or tree.sight.sees(path)


# ----------------------------------------------------------------------------- changes, versions, directories


def require_active(tree: Tree) -> None:
    """Raise ToolError if the store is archived."""
    if tree.archived:
        raise ToolError(results.store_archived())


def frozen(tree: Tree) -> freezing.Frozen:
    """Return the store's freezing holds, which are read once per act."""
    tree.frozen = tree.frozen or freezing.of_store(tree.store, tree.now)
    return tree.frozen


def require_not_frozen(tree: Tree, *memories: StoredMemory) -> None:
    """Raise ToolError for the first memory that a hold freezes. Call it before the first write of a change."""
    frozen(tree).require_free((memory.id, memory.path) for memory in memories)


def check_limits(tree: Tree, path: str, *, old_size: int | None, new_size: int, versions: int = 0) -> None:
    """Raise ToolError for the first limit that a write would exceed. See `limits.check` for the parameters."""
    limits.check(tree.limits, path, old_size=old_size, new_size=new_size, memories=tree.memories,
                 total_bytes=tree.total_bytes, versions=versions)  # fmt: skip


def check_versions(tree: Tree, memories: Iterable[StoredMemory]) -> None:
    """Raise ToolError for the first memory that has reached the limit of versions."""
    for memory in memories:
        limits.check_versions(tree.limits, memory.path, memory.kept)


def add_memory(tree: Tree, path: str, content: str, directory: str | None = None) -> str:
    """Create a memory at a path that is free and that no memory blocks. Return the memory's id.

    `directory` is the id of the directory that contains the path, if it is known."""
    encoded, memory = content.encode(), ids.new_id(ids.MEMORY, tree.at)
    size, sha256 = len(encoded), hashlib.sha256(encoded).hexdigest()
    directory, text = directory or make_directories(tree, path), add_text(tree, memory, content, path)
    head = add_version(tree, memory, 1, Operation.CREATED, path, text, size, sha256)
    sql.run_later(
        sql.ADD_MEMORY, memory, tree.store, directory, path, paths.name(path), head, text, size, sha256, tree.now,
        tree.now, False, place=(tree.store, path),
    )  # fmt: skip
    count(tree, paths.ancestors(path), 1, size)
    return memory


def write_text(tree: Tree, memory: StoredMemory, content: str) -> str:
    """Give a live memory a new text; return the id of the new version."""
    require_not_frozen(tree, memory)
    encoded = content.encode()
    size, sha256 = len(encoded), hashlib.sha256(encoded).hexdigest()
    return restore_text(tree, memory, add_text(tree, memory.id, content, memory.path), size, sha256)


def move_memory(tree: Tree, memory: StoredMemory, path: str) -> None:
    """Move a live memory to a free path."""
    require_not_frozen(tree, memory)
    directory = make_directories(tree, path)
    version = next_version(tree, memory, Operation.MODIFIED, path, memory.text, memory.size, memory.sha256)
    sql.run(sql.NEW_PLACE, version, directory, path, paths.name(path), tree.now, tree.store, memory.id)
    count(tree, paths.ancestors(path), 1, memory.size)
    count(tree, paths.ancestors(memory.path), -1, -memory.size)
    sql.remove_empty_directories(tree.store, paths.ancestors(memory.path))


def move_with_text(tree: Tree, memory: StoredMemory, path: str, content: str) -> str:
    """Move a live memory to a free path and give it a new text, in one version; return the version's id."""
    require_not_frozen(tree, memory)
    encoded = content.encode()
    size, sha256 = len(encoded), hashlib.sha256(encoded).hexdigest()
    text = add_text(tree, memory.id, content)
    directory = make_directories(tree, path)
    version = next_version(tree, memory, Operation.MODIFIED, path, text, size, sha256)
    sql.run(sql.NEW_PLACE, version, directory, path, paths.name(path), tree.now, tree.store, memory.id)
    sql.run(sql.POINT_TO_TEXT, text, size, sha256, tree.store, memory.id)
    count(tree, paths.ancestors(path), 1, size)
    count(tree, paths.ancestors(memory.path), -1, -memory.size)
    sql.remove_empty_directories(tree.store, paths.ancestors(memory.path))
    return version


def move_directory(tree: Tree, directory: str, path: str, new_path: str, memories: Sequence[StoredMemory]) -> None:
    """Move the directory with the id `directory` from `path` to the free `new_path`. `memories` are all memories in it
    that the actor sees. If it also has hidden memories, only `memories` are moved."""
    require_not_frozen(tree, *memories)
    if tree.sight and tree.sight.leaves_some(tree.store, path, len(memories)):
        for memory in memories:
            move_memory(tree, memory, new_path + memory.path[len(path) :])
        return
    size = sum(memory.size for memory in memories)
    parent = make_directories(tree, new_path)
    sql.run(sql.MOVE_DIRECTORIES, new_path, len(path) + 1, tree.store, *paths.subtree(path))
    sql.run(sql.MOVE_DIRECTORY, new_path, parent, tree.store, directory)
    for memory in memories:
        place = new_path + memory.path[len(path) :]
        version = next_version(tree, memory, Operation.MODIFIED, place, memory.text, memory.size, memory.sha256)
        sql.run(sql.NEW_PREFIX, version, place, tree.now, tree.store, memory.id)
    count(tree, paths.ancestors(new_path), len(memories), size)
    count(tree, paths.ancestors(path), -len(memories), -size)
    sql.remove_empty_directories(tree.store, paths.ancestors(path))


def delete_memories(tree: Tree, path: str, memories: Sequence[StoredMemory]) -> None:
    """Move the memories at or under a path to the trash, and delete their directories.

    `memories` are all memories there that the actor sees. Memories that the actor does not see stay."""
    require_not_frozen(tree, *memories)
    if tree.sight and tree.sight.leaves_some(tree.store, path, len(memories)):
        for memory in memories:
            delete_memories(tree, memory.path, [memory])
        return
    for memory in memories:
        note_deleted(tree, memory)
    sql.run(sql.REMOVE_DIRECTORIES, tree.store, *paths.subtree(path))
    sql.run(sql.REMOVE_DIRECTORY, tree.store, path)
    count(tree, paths.ancestors(path), -len(memories), -sum(memory.size for memory in memories))
    sql.remove_empty_directories(tree.store, paths.ancestors(path))


def restore_memory(tree: Tree, memory: StoredMemory, path: str, text: str, size: int, sha256: str) -> str:
    """Move a memory from the trash to a free path, with the text whose id is `text`. Return the new version's id."""
    put(tree, memory, Operation.CREATED, path, text, size, sha256)
    return tree.made[-1].id


def restore_text(tree: Tree, memory: StoredMemory, text: str, size: int, sha256: str) -> str:
    """Give a live memory one of its earlier texts again, the one with the id `text`. Return the new version's id."""
    require_not_frozen(tree, memory)
    version = next_version(tree, memory, Operation.MODIFIED, memory.path, text, size, sha256)
    values = (version, text, size, sha256, tree.now, tree.store, memory.id)
    sql.run_later(sql.NEW_TEXT, *values, place=(tree.store, memory.path))
    count(tree, paths.ancestors(memory.path), 0, size - memory.size)
    return version


def take_out(tree: Tree, memories: Sequence[StoredMemory]) -> None:
    """Free the paths of these live memories. Call `put` or `note_deleted` for each memory afterwards."""
    require_not_frozen(tree, *memories)
    sql.run_each(sql.TAKE_OUT, [(tree.now, tree.store, memory.id) for memory in memories])
    by_directories = defaultdict[Sequence[str], list[int]](list)
    for memory in memories:
        by_directories[paths.ancestors(memory.path)].append(memory.size)
    for above, sizes in by_directories.items():
        count(tree, above, -len(sizes), -sum(sizes))
    for path in sorted(set().union(*by_directories), reverse=True):
        sql.remove_empty_directories(tree.store, [path])


def note_deleted(tree: Tree, memory: StoredMemory) -> None:
    """Write a version which says that a memory was deleted. The caller updates the directories."""
    version = next_version(tree, memory, Operation.DELETED, memory.path, None, None, None)
    sql.run(sql.TO_TRASH, version, tree.now, tree.now, tree.store, memory.id)


def put(tree: Tree, memory: StoredMemory, operation: Operation, path: str, text: str, size: int, sha256: str) -> None:
    """Place a memory from the trash, or from `take_out`, at a free path. `text` is the id of the text that it gets."""
    require_not_frozen(tree, memory)
    directory = make_directories(tree, path)
    version = next_version(tree, memory, operation, path, text, size, sha256)
    place = (directory, path, paths.name(path))
    sql.run(sql.RETURN, version, *place, text, size, sha256, tree.now, tree.now, tree.store, memory.id)
    count(tree, paths.ancestors(path), 1, size)


def add_text(tree: Tree, memory: str, content: str, path: str | None = None) -> str:
    """Add a text; return its id. Pass `path` only if the text becomes the newest one at this path. Raises DiskFull."""
    disk_space.require_room()
    text = ids.new_id(ids.MEMORY_TEXT, tree.at)
    sql.run_later(sql.ADD_TEXT, text, tree.store, memory, content, place=path and (tree.store, path))
    return text


def mark_read(tree: Tree, memory: str, path: str) -> None:
    """Record that an agent read the text of the memory at a path in this act."""
    sql.run_later(sql.READ, tree.now, tree.seq, tree.store, memory, place=(tree.store, path))


def add_version(
    tree: Tree, memory: str, number: int, operation: Operation, path: str,
    text: str | None, size: int | None, sha256: str | None,
) -> str:  # fmt: skip
    """Write a memory version and return its id. The version's commitment is kept for the act's entry. `text` is
    the id of its text. `text`, `size` and `sha256` are None if it has no text. A version by a key awaits review."""
    version, salt, kind = ids.new_id(ids.MEMORY_VERSION, tree.at), chain.new_salt(), operation.value
    commitment = chain.version_commitment(
        salt, id=version, memory=memory, number=number, operation=kind, path=path, sha256=sha256,
        at=chain.moment(tree.at),
    )  # fmt: skip
    review = ReviewState.UNREVIEWED.value if tree.act.actor.kind == ActorKind.KEY else None
    sql.run_later(
        sql.ADD_VERSION, version, tree.store, memory, number, kind, path, text, size, sha256, tree.now,
        tree.seq, review, salt, commitment,
    )  # fmt: skip
    tree.made.append(Version(version, commitment))
    return version


def next_version(
    tree: Tree, memory: StoredMemory, operation: Operation, path: str,
    text: str | None, size: int | None, sha256: str | None,
) -> str:  # fmt: skip
    """Write a memory's next version, which replaces its head; return the version's id."""
    require_not_frozen(tree, memory)
    sql.run_later(sql.SUPERSEDE, tree.seq, tree.store, memory.head)
    tree.changed.append(settling.Changed(memory.id, memory.text or None, memory.path, text, path if text else None))
    return add_version(tree, memory.id, memory.versions + 1, operation, path, text, size, sha256)


def make_directories(tree: Tree, path: str) -> str:
    """Create the missing directories above a path. Return the id of the directory that directly contains the path."""
    above = paths.ancestors(path)
    known = dict(sql.directories_at(tree.store, above))
    parent = None
    for directory in above:
        if directory not in known:
            known[directory] = ids.new_id(ids.DIRECTORY, tree.at)
            sql.run(sql.ADD_DIRECTORY, known[directory], tree.store, directory, parent, tree.now)
        parent = known[directory]
    return str(parent)


def count(tree: Tree, above: Sequence[str], memories: int, size: int) -> None:
    """Add `memories` and `size` to the counters of the store and of the directories `above` a change."""
    sql.count_directories(tree.store, above, memories, size, tree.now)
    if memories or size:
        sql.add(sql.COUNT_STORE, (memories, size), (), tree.store)
        tree.memories, tree.total_bytes = tree.memories + memories, tree.total_bytes + size


def commit(tree: Tree, record: audit.Record) -> int:
    """Write the act's entry (for a key, shortened by `kept_of`), then update the findings. Return the entry's seq."""
    protected_lines.follow_memories(tree.store, tree.path_rules, tree.changed)
    seq = audit.append(tree.head, tree.act, kept_of(record) if tree.act.actor.kind == ActorKind.KEY else record)
    if tree.changed:
        settling.settle(tree.head, tree.act, tree.store, tree.changed, seq, tree.resolved_ahead)
    settling.write(tree.head, tree.act, tree.store, tree.ended, FindingState.RESOLVED, {"entry": seq})
    tree.changed, tree.ended = [], []
    return seq

"""The calls of the API on one memory: create, retrieve, update and delete.

Each call has an audit entry, except a retrieval without the text. The entry's input has ids and paths, but neither a
text nor its digest. Every function raises calls.NotRun, tree.NoSuchStore, and ToolError or its subclasses PathConflict
and PreconditionFailed. If a function gets the id of a memory that does not exist, it raises NoSuchMemory and writes no
entry.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn, TypeVar

from django.conf import settings

from memoryhub.actions.core import proposing, sql, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.proposing import Wanted
from memoryhub.actions.core.rules import holds, path_rules
from memoryhub.actions.core.rules.ruling import Looked
from memoryhub.actions.core.rules.sight import sees, sight_in
from memoryhub.actions.core.sql import lists
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import ahead, findings
from memoryhub.actions.findings.findings import Screened
from memoryhub.actions.memories import input_masking
from memoryhub.actions.memories.api.requests import Asked, on_store
from memoryhub.models import Memory
from memoryhub.pure.chain import moment
from memoryhub.pure.path_rules import PathRule, Verb
from memoryhub.pure.protocol import paths, rendering, results, text
from memoryhub.pure.protocol.errors import PathConflict, PreconditionFailed, ToolError

T = TypeVar("T")
Told = Mapping[str, str | None]


class NoSuchMemory(Exception):
    """The store has no live memory with this id."""


class MemoryTold(NamedTuple):
    """A memory in the form of the API. Times are strings. `content` is None in an answer without the text."""

    id: str
    path: str
    head: str
    size: int
    sha256: str
    created_at: str
    updated_at: str
    content: str | None


class Change(NamedTuple):
    """The changes of an update. None leaves a value unchanged.

    `expected` is the SHA-256 that the current text must have (None: any).
    """

    content: str | None
    path: str | None
    expected: str | None


def create(store_id: str, path: str, content: str, asked: Asked) -> MemoryTold:
    """Create a memory and return it. Raises PathConflict if a memory is at the path, under it or above it."""
    details, looked = {"path": path}, ahead.of_text(store_id, None, content)
    record = Record("create", path=path)
    return _on_store(store_id, asked, record, details, lambda store: _create(store, path, content), looked)


def retrieve(store_id: str, memory_id: str, asked: Asked, *, full: bool) -> MemoryTold:
    """Return a memory. With `full`, the memory has its text, and the read has an entry. Raises NoSuchMemory."""
    if full:
        details = {"memory": memory_id}
        return _on_store(store_id, asked, Record("view"), details, lambda store: _retrieve(store, memory_id))
    note_call(store_id, asked)
    sql.connect()
    row = sql.one(lists.MEMORY_WITHOUT_TEXT, store_id, memory_id)
    if row is None or not sees(sight_in(store_id, asked.caller.actor, asked.at), row[1]):
        raise NoSuchMemory(memory_id)
    return told_of(row)


def update(store_id: str, memory_id: str, change: Change, asked: Asked) -> MemoryTold:
    """Write a new text, a new path or both as one version, and return the memory. Without a change, write only an
    entry."""
    command = "edit" if change.content is not None else "rename"
    details = {"memory": memory_id, "new_path": change.path, "precondition": _named(change.expected)}
    record = Record(command, new_path=change.path, memory=memory_id)
    looked = _looked(store_id, memory_id, change.content or "")
    return _on_store(store_id, asked, record, details, lambda store: _update(store, memory_id, change, record), looked)


def _looked(store_id: str, memory_id: str, content: str) -> Looked:
    if len(content) < ahead.LONG:
        return {}
    sql.connect()
    row = sql.one(lists.MEMORY, store_id, memory_id)
    return ahead.of_text(store_id, StoredMemory(*row[:9]).content, content) if row else {}


def delete(store_id: str, memory_id: str, expected: str | None, asked: Asked) -> None:
    """Move a memory to the trash. `expected` is the SHA-256 that its text must have (None: any)."""
    details = {"memory": memory_id, "precondition": _named(expected)}
    record = Record("delete", memory=memory_id)
    return _on_store(store_id, asked, record, details, lambda store: _delete(store, memory_id, expected))


# ------------------------------------------------------------------------------------------------ shared


def _on_store(
    store_id: str, asked: Asked, record: Record, told: Told, do: Callable[[Tree], tuple[T, Record]],
    looked: Looked | None = None,
) -> T:  # fmt: skip
    """Run `do` with `requests.on_store`. The entry's input is `told`, with masked and blocked values replaced.

    If `do` raises NoSuchMemory, there is no entry.
    """

    def work(store: Tree) -> tuple[T | Exception, Record | None]:
        store.looked = looked or {}
        try:
            result, made = do(store)
        except NoSuchMemory as missing:
            return missing, None
        except _Refused as refused:
            return _refused(store, refused.record, refused.error, told)
        except ToolError as error:
            return _refused(store, record, error, told)
        return result, input_masking.of_api(store, made, told)

    return on_store(store_id, asked, record, work)


class _Refused(Exception):
    """A refusal whose record also names the memory that was read."""

    def __init__(self, record: Record, error: ToolError) -> None:
        super().__init__(error.message)
        self.record, self.error = record, error


def _refused(store: Tree, record: Record, error: ToolError, told: Told) -> tuple[Exception, Record]:
    made = input_masking.of_api(store, record._replace(ok=False, answer=error.message), told)
    error.message = made.answer or error.message
    return error, made


def note_call(store_id: str, asked: Asked) -> None:
    """Note a call that writes no entry: count it if the store limits calls, and record the use of the key."""
    sql.connect()
    counts = settings.MEMORYHUB_LIMITS["calls"] is not None or sql.one(lists.COUNTS_CALLS, store_id)
    if asked.caller.stale or counts:
        on_store(store_id, asked, Record(None), lambda store: (None, None))


def told_of(row: sql.Row) -> MemoryTold:
    """Return the memory in a row of `sql.lists`."""
    id, path, head, size, sha256, created_at, updated_at, content = row
    created_at, updated_at = lists.moment(created_at), lists.moment(updated_at)
    return MemoryTold(id, path, head, size, sha256, created_at, updated_at, content)


def told_of_memory(memory: Memory) -> MemoryTold:
    """Return a memory in the API's form, without its text."""
    at = moment(memory.created_at), moment(memory.updated_at)
    return MemoryTold(memory.pk, memory.path, memory.head_id, memory.size, memory.sha256, *at, content=None)


def view(store: Tree, memory: str, version: str, path: str, content: str) -> Record:
    """Record that an agent read a whole text; return the record of this view of all lines."""
    tree.mark_read(store, memory, path)
    last = text.shown_lines(content)
    return Record(
        "view",
        answer=rendering.view_again(path, content, 1, last, False),
        path=path,
        memory=memory,
        version=version,
        rendered=True,
        first_line=1,
        last_line=last,
        cut=False,
    )


def _named(expected: str | None) -> str | None:
    """Return the name under which an entry records that a digest was `expected`; None if no digest was expected."""
    # The digest itself is not recorded, because it could confirm guesses at a text that is redacted later.
    return None if expected is None else "content_sha256"


def _find(store: Tree, memory_id: str) -> tuple[StoredMemory, MemoryTold]:
    row = sql.one(lists.MEMORY, store.store, memory_id)
    if row is None or not sees(store.sight, row[1]):
        raise NoSuchMemory(memory_id)
    memory, created_at, updated_at = StoredMemory(*row[:9]), lists.moment(row[9]), lists.moment(row[10])
    return memory, MemoryTold(
        memory.id, memory.path, memory.head, memory.size, memory.sha256, created_at, updated_at, memory.content
    )


# ------------------------------------------------------------------------------------------------ the four operations


def _create(store: Tree, path: str, content: str) -> tuple[MemoryTold, Record]:
    tree.require_active(store)
    require_free_path(store, path, results.already_exists(path), lambda above: results.cannot_create(path, above))
    rule = path_rules.require(store, Verb.CREATE, [path_rules.Change(path)])
    place = findings.screen_path(store, path)
    screened = findings.screen_written(store, path, None, content)
    if rule:
        proposing.propose(store, rule, [Wanted(None, path, screened.text)])
    encoded = screened.text.encode()
    tree.check_limits(store, path, old_size=None, new_size=len(encoded))
    memory_id = tree.add_memory(store, path, screened.text)
    version = store.made[-1].id
    findings.note(store, memory_id, version, screened, place)
    at, sha256 = moment(store.at), hashlib.sha256(encoded).hexdigest()
    made = MemoryTold(memory_id, path, version, len(encoded), sha256, at, at, screened.text)
    return made, Record("create", path=path, memory=memory_id, version=version, versions=tuple(store.made))


def _retrieve(store: Tree, memory_id: str) -> tuple[MemoryTold, Record]:
    memory, found_as = _find(store, memory_id)
    return found_as, view(store, memory.id, memory.head, memory.path, memory.content)


def _update(store: Tree, memory_id: str, change: Change, record: Record) -> tuple[MemoryTold, Record]:
    memory, told = _find(store, memory_id)
    record = record._replace(path=memory.path)
    try:
        tree.require_active(store)
        return _changed(store, memory, told, change, record)
    except ToolError as error:
        raise _Refused(record, error) from None


def _changed(
    store: Tree, memory: StoredMemory, told: MemoryTold, change: Change, record: Record
) -> tuple[MemoryTold, Record]:
    path = memory.path if change.path is None else change.path
    if change.expected not in (None, memory.sha256) and not _is_so(store, memory, path, change.content):
        raise PreconditionFailed(results.precondition_failed(memory.path))
    place = findings.ScreenedPath(path)
    rule = None
    if path != memory.path:
        rule = _require_may_move(store, memory, path)
        place = findings.screen_path(store, path)
    screened = _screened(store, memory, path, change.content)
    if path == memory.path and screened.text == memory.content:
        return told, record._replace(new_path=None, version=memory.head)
    if screened.text != memory.content:
        wanted = path_rules.Change(memory.path, memory, lambda: screened.text)
        rule = path_rules.require(store, Verb.EDIT, [wanted]) or rule
    if rule:
        _propose(store, rule, memory, path, screened)
    version, size, sha256 = _write(store, memory, path, screened)
    findings.note(store, memory.id, version, screened, place)
    made = told._replace(
        path=path, head=version, size=size, sha256=sha256, updated_at=moment(store.at), content=screened.text
    )
    new_path = path if path != memory.path else None
    return made, record._replace(new_path=new_path, version=version, versions=tuple(store.made))


def _is_so(store: Tree, memory: StoredMemory, path: str, content: str | None) -> bool:
    """Return whether a memory already has the path and, after masking, the text (None: any text)."""
    if path != memory.path:
        return False
    try:
        return _screened(store, memory, path, content).text == memory.content
    except ToolError:
        return False


def _screened(store: Tree, memory: StoredMemory, path: str, content: str | None) -> Screened:
    if content is None or content == memory.content:
        return Screened(memory.content)
    return findings.screen_written(store, path, memory.content, content)


def _propose(store: Tree, rule: PathRule, memory: StoredMemory, path: str, screened: Screened) -> NoReturn:
    content = screened.text if screened.text != memory.content else None
    proposing.propose(store, rule, [Wanted(memory, memory.path, content, path if path != memory.path else None)])


def _write(store: Tree, memory: StoredMemory, path: str, screened: Screened) -> tuple[str, int, str]:
    """Write the change and return the new version's id, size and SHA-256."""
    if screened.text == memory.content:
        tree.check_versions(store, [memory])
        tree.move_memory(store, memory, path)
        return store.made[-1].id, memory.size, memory.sha256
    encoded = screened.text.encode()
    tree.check_limits(store, path, old_size=memory.size, new_size=len(encoded), versions=memory.kept)
    if path == memory.path:
        tree.write_text(store, memory, screened.text)
    else:
        tree.move_with_text(store, memory, path, screened.text)
    return store.made[-1].id, len(encoded), hashlib.sha256(encoded).hexdigest()


def _require_may_move(store: Tree, memory: StoredMemory, path: str) -> PathRule | None:
    """Return the rule by which the move may only be proposed, or None. Raises ToolError if the move is refused."""
    old = memory.path
    if path.startswith(old + "/"):
        raise PathConflict(results.inside_itself(old, path), old, memory.id)
    require_free_path(store, path, results.destination_exists(path), lambda up: results.cannot_rename(old, path, up))
    rule = path_rules.require_may_move(store, [(memory, path)])
    holds.require_may_move(store, [(old, path)])
    return rule


def require_free_path(store: Tree, path: str, taken: str, beneath: Callable[[str], str]) -> None:
    """Raise PathConflict if a memory is at a path, under it or above it.

    `taken` is the message for a memory at or under the path. `beneath(above)` returns the message for a memory above
    it.
    """
    at = tree.memory_at(store, path)
    if at is not None:
        raise PathConflict(taken, path, at.id)
    below = _first_below(store, path)
    if below is not None:
        raise PathConflict(taken, *below)
    above = tree.memory_above(store, path)
    if above is not None:
        stands = tree.memory_at(store, above)
        raise PathConflict(beneath(above), above, stands.id if stands else "")
    if store.sight and store.sight.hides_at(store.store, path):
        raise path_rules.hidden_place(path)


def _first_below(store: Tree, path: str) -> tuple[str, str] | None:
    """Return the path and the id of the first memory under a path, or None."""
    if store.sight:
        return next(((memory.path, memory.id) for memory in tree.memories_under(store, path)), None)
    row = sql.one(lists.FIRST_BENEATH, store.store, *paths.subtree(path))
    return None if row is None else (row[0], row[1])


def _delete(store: Tree, memory_id: str, expected: str | None) -> tuple[None, Record]:
    memory, _ = _find(store, memory_id)
    record = Record("delete", path=memory.path, memory=memory.id)
    try:
        if expected not in (None, memory.sha256):
            raise PreconditionFailed(results.precondition_failed(memory.path))
        rule = path_rules.require(store, Verb.DELETE, [path_rules.Change(memory.path, memory)])
        holds.require_free(store, [(memory.id, memory.path)])
        if rule:
            proposing.propose(store, rule, [Wanted(memory, memory.path, deletes=True)])
    except ToolError as error:
        raise _Refused(record, error) from None
    tree.delete_memories(store, memory.path, [memory])
    return None, record._replace(version=store.made[-1].id, versions=tuple(store.made))

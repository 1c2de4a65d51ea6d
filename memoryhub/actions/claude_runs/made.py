"""The changes of a run in its throw-away copy, and the proposal of these changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoryhub.actions.claude_runs import events, work
from memoryhub.actions.claude_runs.runs import CopyGone, NoSuchRun, NotNow
from memoryhub.actions.core import audit, proposing, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.proposing import Wanted
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.proposals import decide
from memoryhub.models import (
    Agent,
    ClaudeEvent,
    ClaudeEventKind,
    ClaudeRun,
    ClaudeRunState,
    Door,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    ProposalState,
    Session,
)
from memoryhub.models.audit import ActorKind
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError

COMMAND = "propose_claude_run"
LOST = "Retention has removed the version from which Claude started, so this change is not proposed."


@dataclass(frozen=True, slots=True)
class Made:
    """A memory that the run created, changed or deleted."""

    memory: str | None  # its id in the original store (None: a new memory)
    version: str | None  # the id of the original's version (None: a new memory)
    path: str  # the path of the original or of the new memory
    content: str | None = None  # None: not changed
    new_path: str | None = None  # None: not changed
    deletes: bool = False
    is_lost: bool = False  # the original version was removed later


@dataclass(slots=True)
class Proposed:
    """The result of proposing the changes of a run: the proposal's number, and how many changes it has.

    The number is None without a proposal; `error` then says why. Changes that are left out are listed as (path,
    reason).
    """

    number: int | None = None
    changes: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    error: str = ""


def made_of(run: ClaudeRun) -> list[Made]:
    """Return the changes that a run made in its copy, ordered by path. Raises CopyGone.

    A memory that the run deleted and created again at the same path counts as changed.
    """
    require_copy(run)
    return sorted(_made(run), key=lambda one: one.path) if run.copied is not None else []


def require_copy(run: ClaudeRun) -> None:
    """Raise CopyGone if the copy of a run has been deleted, or has become a memory store of its own."""
    if not MemoryStore.present.filter(pk=run.copy, copy_of=run.store_id).exists():
        raise CopyGone


def _made(run: ClaudeRun) -> Iterator[Made]:
    """Yield what the run changed in the copy: memories that differ from the copied originals, new ones, and deleted
    ones."""
    base = {version.path: version for version in _base(run)}
    # Read in the copy, because retention may have removed versions of the original store.
    first = MemoryVersion.objects.filter(store_id=run.copy, number=1, seq__lte=run.copied)
    copied = {str(version.path): version for version in first.only("memory_id", "path", "sha256")}
    origins = {version.memory_id: path for path, version in copied.items()}
    there = list(Memory.objects.live().filter(store_id=run.copy))
    gone = set(copied) - {origins.get(memory.pk) for memory in there}
    now = {memory.pk: origins.get(memory.pk, memory.path if memory.path in gone else "") for memory in there}
    changed = [memory for memory in there if not _is_same(memory, copied.get(now[memory.pk]))]
    texts = _texts(run, [memory.pk for memory in changed])
    for memory in changed:
        was = copied.get(now[memory.pk])
        if was is None:
            yield Made(None, None, memory.path, texts[memory.pk])
        else:
            content = texts[memory.pk] if was.sha256 != memory.sha256 else None
            new_path = memory.path if was.path != memory.path else None
            yield _of(base, str(was.path), content=content, new_path=new_path)
    for path in gone - set(now.values()):
        yield _of(base, path, deletes=True)


def _of(base: Mapping[str | None, MemoryVersion], path: str, **change: Any) -> Made:
    version = base.get(path)
    if version is None:
        return Made(None, None, path, is_lost=True, **change)
    return Made(version.memory_id, version.pk, path, **change)


def _is_same(memory: Memory, was: MemoryVersion | None) -> bool:
    return was is not None and (was.path, was.sha256) == (memory.path, memory.sha256)


def _base(run: ClaudeRun) -> Sequence[MemoryVersion]:
    versions = MemoryVersion.objects.filter(store_id=run.store_id, text__isnull=False).as_of(run.base or 0)
    return list(versions.only("path", "memory_id"))


def _texts(run: ClaudeRun, memories: Sequence[str]) -> Mapping[str, str]:
    found = Memory.objects.among(run.copy or "", memories).select_related("text")
    return {memory.pk: memory.text.content if memory.text else "" for memory in found}


def finish(run_id: str, worker: str, at: datetime) -> None:
    """End a run of a worker and propose the changes of its copy, in one transaction.

    Nothing is proposed if the person who started the run may no longer run Claude on the store.
    """
    run = ClaudeRun.objects.get(pk=run_id)
    made, agent = made_of(run), Agent.objects.get(pk=run.agent)
    act = Act(Actor.key(run.key, agent), Door.TOOL, at)
    with tree.locked(run.store_id, act) as store, work.own(run_id, worker) as own:
        if not work.may_go_on(own):
            events.end(own, ClaudeRunState.FAILED, at, problem="not_allowed")
            return
        propose_in(store, own, made)
        events.end(own, ClaudeRunState.FINISHED, at)


def propose(run_id: str, store_id: str, act: Act) -> Proposed:
    """Propose the changes that an ended run made in its copy.

    Raises NoSuchRun, NotNow, CopyGone and tree.NoSuchStore.
    """
    run = ClaudeRun.objects.of_store(store_id).filter(pk=run_id).exclude(copy=None).first()
    if run is None:
        raise NoSuchRun
    made = made_of(run)
    with tree.locked(store_id, act) as store:
        own = ClaudeRun.objects.select_for_update().filter(pk=run_id).first()
        if own is None or own.revision != run.revision or own.is_going_on:
            raise NotNow
        require_copy(run)  # an erasure or a redaction may have deleted it, with the texts that were read from it
        return propose_in(store, own, made)


def propose_in(store: Tree, run: ClaudeRun, made: Sequence[Made]) -> Proposed:
    """Open a proposal of the changes `made` if possible, and add an event with the result to the run.

    A new proposal replaces an earlier open proposal of the run, which is withdrawn.
    """
    proposed = Proposed()
    wanted = [(one, change) for one in made if (change := _wanted(store, one, proposed)) is not None]
    try:
        tree.require_active(store)
        proposing.require_size([], [change for _, change in wanted])
        proposing.require_room(store, run.agent)
    except ToolError as error:
        proposed.error = str(error)
    if wanted and not proposed.error:
        _open(store, run, wanted, proposed)
    content: dict[str, Any] = {"number": proposed.number, "changes": proposed.changes, "left_out": proposed.left_out}
    content |= {"error": proposed.error} if proposed.error else {}
    events.add(run, ClaudeEventKind.PROPOSAL, events.kept_in(store.store, content), store.at)
    return proposed


def _open(store: Tree, run: ClaudeRun, wanted: Sequence[tuple[Made, Wanted]], proposed: Proposed) -> None:
    session = session_of(run)
    store.act = store.act._replace(session=session) if store.act.actor.kind == ActorKind.KEY else store.act
    told = ClaudeEvent.objects.of_run(run.pk).filter(kind=ClaudeEventKind.PROPOSAL)
    contents: list[Any] = list(told.values_list("content", flat=True))
    numbers = [content["number"] for content in contents if content["number"]]
    for earlier in Proposal.objects.of_store(store.store).of_state(ProposalState.OPEN).filter(number__in=numbers):
        decide.close(earlier, ProposalState.WITHDRAWN, store.seq, store.act)
    proposal = proposing.opened(store, key=run.key, agent=run.agent, session=session)
    for number, (one, change) in enumerate(wanted, 1):
        proposing.row(store, proposal, number, change, one.version).save(force_insert=True)
    proposed.number, proposed.changes = proposal.number, len(wanted)
    details = {"run": run.pk, "proposal": proposal.pk, "number": proposal.number, "changes": len(wanted)}
    tree.commit(store, Record(COMMAND, input=audit.to_json(details)))


def session_of(run: ClaudeRun) -> str | None:
    """Return the id of the session of a run's calls, or None if the run has made no call yet."""
    return Session.objects.filter(agent=run.agent, name=run.session_name).values_list("pk", flat=True).first()


def _wanted(store: Tree, one: Made, proposed: Proposed) -> Wanted | None:
    """Return the change that proposes `one`. If this is not possible, add the reason to `proposed`; return None."""
    memory = None
    if one.is_lost:
        proposed.left_out.append((one.path, LOST))
        return None
    if one.memory is not None:
        memory = tree.memory_by_id(store, one.memory) or tree.memory_in_trash(store, one.memory)
        if memory is None:
            proposed.left_out.append((one.path, results.does_not_exist(one.path)))
            return None
    try:
        content, place = one.content, one.new_path or (one.path if memory is None else None)
        if content is not None:
            content = findings.screen(store, one.path, memory.content if memory else None, content).text
        if place is not None:
            findings.screen_path(store, place)
        if memory is not None and one.deletes:
            holds.require_free(store, [(memory.id, memory.path)])
        elif memory is not None and one.new_path is not None:
            holds.require_may_move(store, [(memory.path, one.new_path)])
        change = Wanted(memory, one.path, content, one.new_path, one.deletes)
        proposing.require_possible(store, change)
    except ToolError as error:
        proposed.left_out.append((one.path, str(error)))
        return None
    return change

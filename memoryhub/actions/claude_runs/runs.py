"""The acts of people on Claude runs: starting, continuing and stopping them.

Each act makes one audit entry, without the texts.
"""

from dataclasses import dataclass, field

from django.conf import settings

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.accounts.keys_and_roles import NameTaken
from memoryhub.actions.claude_runs import events
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.stores import copies, delete
from memoryhub.models import Access, Agent, ClaudeEventKind, ClaudeRun, ClaudeRunState, Key, MemoryStore, User
from memoryhub.models.access import RUNS_KEY
from memoryhub.pure import ids
from memoryhub.pure.conversation.options import Options

MOST_COPIES = 10
"""The most throw-away copies of a store. Before another copy is made, the copy of the run that ended first is
deleted."""
LONGEST_TEXT = 100_000
"""The most characters of a task, a system prompt or a message."""
_LONGEST_NAME = 80


class NoSuchRun(Exception):
    """The run has been removed."""


class NotNow(Exception):
    """The act is not possible in the run's state: the run goes on, has ended, or waits for a message."""


class TooManyCopies(Exception):
    """Unfinished runs use all the throw-away copies that a store may have."""


class CopyGone(Exception):
    """The copy on which the run worked has been deleted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a person for a run. With `copies`, Claude works on a throw-away copy of the store.

    The copy shows the store as it was after the entry `base` (None: as it is now). With `proposes`, the changes in the
    copy become a proposal.
    """

    model: str
    task: str
    system: str = ""
    options: Options = field(default_factory=Options)
    copies: bool = False
    proposes: bool = False
    base: int | None = None


def start(store_id: str, asked: Asked, user: User, act: Act) -> ClaudeRun:
    """Start a run, and return it: it waits for a worker.

    Raises ToolError if the store is archived. Also raises TooManyCopies and tree.NoSuchStore.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        copy = new_copy(store, proposes=asked.proposes) if asked.copies else None
        newest = store.head.last_seq
        agent = _agent_for(user, act)
        run = ClaudeRun.objects.create(
            id=ids.new_id(ids.CLAUDE_RUN, act.at),
            store_id=store_id,
            agent=agent.pk,
            key=_key_of(agent, store_id, user, act).pk,
            started_by=user,
            model=asked.model,
            system=events.kept(store_id, asked.system),
            task=events.kept(store_id, asked.task),
            options=events.kept_in(store_id, asked.options.as_json()),
            budget=settings.MEMORYHUB_CLAUDE_RUN_TOKENS,
            created_at=act.at,
            base=newest if asked.base is None or copy is None else min(asked.base, newest),
            copy=copy,
            proposes=copy is not None and asked.proposes,
        )
        details = {"run": run.pk, "model": run.model, "agent": agent.pk, "budget": run.budget}
        details |= {"copy": copy, "of_entry": run.base} if copy else {}
        tree.commit(store, Record("start_claude_run", input=audit.to_json(details)))
    return run


def go_on(run_id: str, store_id: str, message: str, act: Act, *, summarizes: bool = False) -> None:
    """Continue an ended run with another message. `message` may be empty if Claude's last answer did not finish.

    With `summarizes`, Claude's API first replaces the earlier conversation by a summary. The run gets the token budget
    of a new run in addition. Raises NotNow if the run is a dream, has not ended, or needs a message; ToolError if the
    store is archived. Also raises NoSuchRun, CopyGone and tree.NoSuchStore.
    """
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        run = locked_run(store, run_id)
        if run.is_dream or run.is_going_on or not (message.strip() or run.state != ClaudeRunState.FINISHED):
            raise NotNow
        if run.copy and not MemoryStore.present.filter(pk=run.copy).exists():
            raise CopyGone
        if message.strip():
            content: dict[str, object] = {"text": events.kept(store_id, message), "by": act.actor.label}
            content |= {"summarizes": True} if summarizes else {}
            events.add(run, ClaudeEventKind.MESSAGE, content, act.at)
        allowed = settings.MEMORYHUB_CLAUDE_RUN_TOKENS
        ClaudeRun.objects.filter(pk=run_id).update(
            state=ClaudeRunState.WAITING,
            problem="",
            stop_asked=False,
            ended_at=None,
            budget=None if allowed is None else run.tokens + allowed,
            revision=run.revision + 1,
        )
        details = {"run": run_id, "model": run.model, "budget": allowed}
        tree.commit(store, Record("continue_claude_run", input=audit.to_json(details)))


def stop(run_id: str, store_id: str, act: Act) -> None:
    """Stop a run. Raises NoSuchRun, NotNow and tree.NoSuchStore.

    A waiting run stops at once; a running one within about a second.
    """
    with tree.locked(store_id, act) as store:
        run = locked_run(store, run_id)
        if not run.is_going_on or run.stop_asked:
            raise NotNow
        tree.commit(store, stopping(store, run))


def stopping(store: Tree, run: ClaudeRun) -> Record:
    """Stop a locked run that has not ended, and return the record of its entry."""
    if run.state == ClaudeRunState.WAITING:
        events.end(run, ClaudeRunState.STOPPED, store.at)
    else:
        ClaudeRun.objects.filter(pk=run.pk).update(stop_asked=True, revision=run.revision + 1)
    return Record("stop_claude_run", input=audit.to_json({"run": run.pk, "model": run.model}))


def stop_erased(store: Tree) -> list[str]:
    """End the unfinished runs in a locked store from which a text is erased, and return the ids of these runs.

    Their workers can write nothing more. The store's throw-away copies are deleted.
    """
    return _stop(store, list(ClaudeRun.objects.of_store(store.store).going_on().order_by("pk")))


def stop_redacted(store: Tree) -> list[str]:
    """Delete the throw-away copies of a locked store in which a text is redacted.

    End the unfinished runs on these copies, and return the ids of the runs.
    """
    return _stop(store, list(ClaudeRun.objects.of_store(store.store).going_on().exclude(copy=None).order_by("pk")))


def _stop(store: Tree, going_on: list[ClaudeRun]) -> list[str]:
    for run in going_on:
        events.end(run, ClaudeRunState.STOPPED, store.at, problem="erased")
    for copy in _copies_of(store):
        delete.delete_copy(copy, store.act)
    return [run.pk for run in going_on]


def _copies_of(store: Tree) -> list[str]:
    found = MemoryStore.present.filter(copy_of=store.store).order_by("pk")
    return list(found.values_list("pk", flat=True))


def new_copy(store: Tree, *, proposes: bool) -> str:
    """Make a throw-away copy of a locked store; return its id.

    If the store has MOST_COPIES, copies of ended runs are deleted first. Raises TooManyCopies if too few runs have
    ended.
    """
    there = _copies_of(store)
    ended = ClaudeRun.objects.of_store(store.store).filter(copy__in=there, ended_at__isnull=False).order_by("ended_at")
    too_many = len(there) - MOST_COPIES + 1
    oldest = list(ended.values_list("copy", flat=True)[: max(0, too_many)])
    if len(oldest) < too_many:
        raise TooManyCopies
    for copy in oldest:
        delete.delete_copy(str(copy), store.act)
    return copies.make(store, proposes=proposes)


def locked_run(store: Tree, run_id: str) -> ClaudeRun:
    """Lock a run of a locked store, and return it. Raises NoSuchRun."""
    run = ClaudeRun.objects.of_store(store.store).select_for_update().filter(pk=run_id).first()
    if run is None:
        raise NoSuchRun
    return run


_ABOUT = "Claude in the runs that one person starts in this hub."


def _agent_for(user: User, act: Act) -> Agent:
    """Return the agent that acts in the Claude runs of a person. Create it if it is missing."""
    agent = Agent.objects.filter(claude_for=user).first()
    if agent is not None:
        return agent
    made = None
    name, number = f"Claude ({str(user)[:_LONGEST_NAME]})", 1
    while made is None:
        try:
            spelt = name if number == 1 else f"{name} {number}"
            made = keys_and_roles.create_agent(
                spelt, description=_ABOUT, seen_by=user, actor=act.actor, door=act.door, at=act.at
            )
        except NameTaken:
            number += 1
    Agent.objects.filter(pk=made.pk).update(claude_for=user)  # the entry of its key seals the row
    return made


def _key_of(agent: Agent, store_id: str, user: User, act: Act) -> Key:
    """Return the agent's key to a store; issue one if it is missing. The key's secret is shown to no one."""
    usable = Key.objects.usable(act.at).filter(agent=agent, access=Access.WRITE, all_stores=False, expires_at=None)
    key = usable.filter(stores=store_id, name=RUNS_KEY).first()
    if key is not None:
        return key
    store = MemoryStore.objects.get(pk=store_id)
    made, _secret = keys_and_roles.issue_key(
        agent, stores=[store], name=RUNS_KEY, created_by=user, actor=act.actor, door=act.door, at=act.at
    )
    return made

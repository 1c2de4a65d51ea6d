"""Fills an empty hub with the demo, through the same code as real calls. The moment of each act is an argument."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from secrets import token_urlsafe
from typing import Any

from memoryhub import tool
from memoryhub.actions import figures
from memoryhub.actions.accounts import keys_and_roles, people, sign_in
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.findings import findings
from memoryhub.actions.memories import calls, curation
from memoryhub.actions.review import assignments, decisions
from memoryhub.actions.stores import stores
from memoryhub.demo import doors, governing, story, texts
from memoryhub.models import (
    Access,
    Agent,
    Door,
    Finding,
    FindingState,
    Memory,
    MemoryStore,
    MemoryVersion,
    Role,
    User,
)

SYSTEM = Actor.system("demo")

STORES = (
    (story.SERVICE, "What the support assistant has learned about policies, customers and open problems."),
    (story.WORKSHOP, "Notes of the agents that write code and read papers for the data team."),
)
AGENTS = (
    (story.SUPPORT, "Answers tickets in the help desk."),
    (story.CODE, "Pairs with Sam on the web scraper."),
    (story.RESEARCH, "Reads papers in the evening. Its key may only read since last week."),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """How much the demo has made."""

    stores: int
    agents: int
    calls: int
    errors: int


def load(now: datetime) -> Loaded | None:
    """Load the demo and return how much it has made. If the hub already has a store, do nothing and return None."""
    if MemoryStore.objects.exists():
        return None
    start = now - timedelta(days=story.DAYS + 1)
    mina = _person("mina@example.com", "Mina Park", start)
    made = {name: _store(name, description, mina, start) for name, description in STORES}
    agents = {
        name: keys_and_roles.create_agent(name, description=about, actor=SYSTEM, door=Door.COMMAND, at=start)
        for name, about in AGENTS
    }
    keys = _keys(agents, made, start)
    count = errors = 0
    acts = _acts_of_mina(made, mina, now)
    for run in story.runs():
        while acts and acts[0][0] < now - run.ago:
            at, do = acts.pop(0)
            do(at)
        errors += _play(run, made[run.store], keys[run.agent, run.key], now - run.ago)
        count += len(run.calls)
    while not figures.catch_up():
        pass
    figures.make_lists(now)
    return Loaded(len(made), len(agents), count, errors)


def _person(email: str, name: str, at: datetime) -> User:
    """Create a person who cannot sign in, because no one knows the password."""
    return people.create_user(email, name=name, password=token_urlsafe(24), actor=SYSTEM, door=Door.COMMAND, at=at)


def _store(name: str, description: str, admin: User, at: datetime) -> MemoryStore:
    settings = stores.StoreSettings(name=name, description=description)
    store = stores.create_store(settings, actor=SYSTEM, door=Door.COMMAND, at=at)
    keys_and_roles.set_role(store, admin, Role.ADMIN, actor=SYSTEM, door=Door.COMMAND, at=at)
    return store


def _keys(agents: dict[str, Agent], made: dict[str, MemoryStore], at: datetime) -> dict[tuple[str, str], str]:
    """Return {(agent, name of the key): secret} for each key of the story."""
    keys = {}
    for agent, store, name in sorted({(run.agent, run.store, run.key) for run in story.runs()}):
        by: dict[str, Any] = {"actor": SYSTEM, "door": Door.COMMAND, "at": at, "name": name}
        level = Access.READ if name == story.READ_ONLY else Access.WRITE
        keys[agent, name] = keys_and_roles.issue_key(agents[agent], stores=[made[store]], access=level, **by)[1]
    return keys


def _play(run: story.Run, store: MemoryStore, secret: str, at: datetime) -> int:
    """Make a session's calls, 40 seconds apart. Return how many of the calls were answered with an error."""
    errors = 0
    for position, input in enumerate(run.calls):
        moment = at + timedelta(seconds=40 * position)
        caller = calls.find_caller(secret, store.id, moment)
        assert caller is not None  # the key was made before the first session
        tool_use = tool.ToolUse.of(f"toolu_{run.session}_{position:02}", input)
        duration = partial(len, f"{input}" * 8)
        result = tool.execute(store.id, tool_use, caller=caller, at=moment, session=run.session, elapsed=duration)
        errors += result.is_error
    return errors


def _acts_of_mina(
    made: dict[str, MemoryStore], mina: User, now: datetime
) -> list[tuple[datetime, Callable[[datetime], None]]]:
    """Return (moment, act) of what a person did between the sessions, in order of time."""
    signed_in = partial(sign_in.enter, mina, address="192.0.2.18")
    entered = [(now - timedelta(days=days, hours=7), lambda at: signed_in(at=at)) for days in (18, 10, 0)]
    reviews = [(now - timedelta(days=days, hours=3), partial(_review, made, mina)) for days in (18, 14, 11, 7, 3)]
    curated = (now - timedelta(days=6, hours=2), partial(_curate, made[story.SERVICE], mina))
    flagged = (now - timedelta(days=3, hours=2), partial(_flag, made[story.SERVICE], mina))
    assigned = (now - timedelta(hours=6), partial(_assign, made[story.SERVICE], mina))
    known = (now - timedelta(days=7, hours=2), partial(_dismiss, made[story.SERVICE], mina))
    service, workshop = made[story.SERVICE], made[story.WORKSHOP]
    governed = [
        (now - timedelta(days=9, hours=2), partial(governing.remember, service, mina)),
        (now - timedelta(days=8, hours=2), partial(governing.decide, service, workshop, mina)),
        (now - timedelta(days=2, hours=4), partial(governing.forget, service, mina)),
        (now - timedelta(hours=3), partial(governing.ask, workshop, mina)),
        (now - timedelta(hours=20), partial(governing.run, service)),
        (now - timedelta(hours=20), partial(governing.run, workshop)),
    ]
    through_doors = [
        (now - timedelta(days=10, hours=4), partial(doors.bring_in, workshop, mina)),
        (now - timedelta(days=5, hours=4), partial(doors.subscribe, service, doors.HELP_DESK, mina)),
        (now - timedelta(days=5, hours=4), partial(doors.subscribe, workshop, doors.REPORTS, mina)),
        (now - timedelta(hours=4, minutes=30), partial(doors.lose, workshop)),
        (now - timedelta(hours=5), partial(doors.look_at, service, mina)),
        (now - timedelta(days=2, hours=3), partial(doors.send_events, service, mina)),
        (now - timedelta(hours=4), partial(doors.send_events, service, mina)),
        (now - timedelta(hours=3), partial(doors.pause, service, mina)),
    ]
    reviewed = [*reviews, curated, flagged, assigned, known]
    return sorted([*entered, *reviewed, *governed, *through_doors], key=lambda act: act[0])


def _review(made: dict[str, MemoryStore], mina: User, at: datetime) -> None:
    """Approve all versions that await review in both stores."""
    for store in made.values():
        waiting = MemoryVersion.objects.filter(store=store).unreviewed().values_list("pk", flat=True)
        decisions.approve_many(store.id, list(waiting), Act(Actor.person(mina), Door.WEB, at))


def _flag(store: MemoryStore, mina: User, at: datetime) -> None:
    memory = Memory.objects.filter(store=store).at("/known_problems.md").get()
    note = "The row about Tuesday is out of date: ask logistics before somebody promises it"
    decisions.flag(store.id, [memory.head_id], Act(Actor.person(mina), Door.WEB, at, note=note))


def _assign(store: MemoryStore, mina: User, at: datetime) -> None:
    """Ask Mina to review what an agent wrote about a customer."""
    memory = Memory.objects.filter(store=store).at("/customers/northwind.md").get()
    assignments.assign(store.id, memory.pk, mina.pk, Act(Actor.person(mina), Door.WEB, at, note="I know this customer"))


def _dismiss(store: MemoryStore, mina: User, at: datetime) -> None:
    """Dismiss all findings of the store that are open at this moment. In the story they are harmless."""
    found = Finding.objects.of_store(store.id).open().values_list("pk", flat=True)
    note = "Our own account: it is printed on every invoice"
    findings.decide(store.id, list(found), FindingState.DISMISSED, note, Act(Actor.person(mina), Door.WEB, at))


def _curate(store: MemoryStore, mina: User, at: datetime) -> None:
    """Correct one memory and delete another."""
    memory = Memory.objects.filter(store=store).at("/customer_service_guidelines.xml").get()
    act = Act(Actor.person(mina), Door.WEB, at, note="Agreed in the team meeting")
    better = texts.GUIDELINES.replace("- Use empathetic language", "- Use empathetic language, but do not overdo it")
    curation.edit(store.id, memory.id, better, memory.sha256, act)
    act = Act(Actor.person(mina), Door.WEB, at + timedelta(minutes=4), note="Answered, nothing left to remember")
    curation.delete(store.id, "/tickets/4418.md", act)

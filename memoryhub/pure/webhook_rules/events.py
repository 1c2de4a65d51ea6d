"""Events for webhooks. They are made from audit entries, and from the progress of retention runs and imports.

An event contains ids and the actor, never a text or a path. If an entry changed many memories, each kind of change
becomes one event, with at most LISTED memories. A longer list continues in further events.
"""

import hmac
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memoryhub.pure import ids
from memoryhub.pure.actors import actor

LISTED = 100

OFFICIAL = ("memory_store.created", "memory_store.archived", "memory_store.deleted")
"""The events of the memory_stores API. Their data match the types of its SDK."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "memory_store": (*OFFICIAL, "memory_store.updated", "memory_store.unarchived"),
    "memory": (
        "memory.created", "memory.modified", "memory.renamed", "memory.deleted", "memory.restored", "memory.purged",
    ),
    "memory_version": ("memory_version.redacted",),
    "review": ("review.needed", "review.approved", "review.reverted", "review.flagged"),
    "proposal": ("proposal.opened", "proposal.decided", "proposal.withdrawn"),
    "finding": ("finding.opened", "finding.dismissed", "finding.resolved"),
    "retention_run": (
        "retention_run.started", "retention_run.blocked", "retention_run.finished", "retention_run.cancelled",
    ),
    "import": ("import.finished", "import.failed"),
    "alarm": ("alarm.raised", "alarm.ended"),
}  # fmt: skip
EVENTS = tuple(name for names in GROUPS.values() for name in names)
TEST = "webhook.test"

_RUNS = {
    "waiting": "retention_run.blocked", "running": "retention_run.started", "done": "retention_run.finished",
    "cancelled": "retention_run.cancelled",
}  # fmt: skip
_ALARMS = {"raised": "alarm.raised", "ended": "alarm.ended"}
_IMPORTS = {"done": "import.finished", "failed": "import.failed"}

TELLING = frozenset((*GROUPS["review"], *GROUPS["proposal"], *GROUPS["finding"]))
"""The events for which the input of the audit entry is needed."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Made:
    """A memory version that an entry made. `moved` and `rewritten` say what differs from the previous version.

    `brought`: an import created the memory with several versions, and this is the newest of them.
    """

    id: str
    memory: str
    number: int
    operation: str
    moved: bool = False
    rewritten: bool = True
    needs_review: bool = False
    brought: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A finding that an entry recorded."""

    id: str
    memory: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The facts of an audit entry that its events need.

    `event` is the event of the entry's command (None: it has none). `told` is the entry's input, and `named` has
    (memory, version) for each version that this input names. If the entry's act also decided about versions, `also` is
    {event of a decision: (memory, version) pairs}. `proposals` has (event, number, state) of each proposal that the
    entry's act or call opened or ended.
    """

    chain: str
    seq: int
    at: datetime
    actor_kind: str
    actor_id: str | None
    session: str | None
    event: str | None
    memory: str | None = None
    version: str | None = None
    told: Mapping[str, Any] | None = None
    made: Sequence[Made] = ()
    named: Sequence[tuple[str, str]] = ()
    found: Sequence[Found] = ()
    also: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    proposals: Sequence[tuple[str, int, str]] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `payload` is the JSON text that is signed and sent."""

    id: str
    type: str
    chain: str
    seq: int
    payload: str


# ------------------------------------------------------------------------------------------------ events


def of_entry(entry: Entry, key: bytes) -> Iterator[Event]:
    """Yield the events of an entry: first those about the store and about proposals, then those about memories."""
    hub = _Hub(key)
    if entry.event in GROUPS["memory_store"]:
        official = {"id": entry.chain, "organization_id": hub.organization, "workspace_id": hub.workspace}
        data = official if entry.event in OFFICIAL else official | _who(entry)
        yield hub.event(entry.chain, entry.seq, entry.at, entry.event, data)
    told = Counter[str]()
    for name, number, state in entry.proposals:
        data = hub.place(entry.chain) | _who(entry) | {"proposal": {"number": number, "state": state}}
        yield hub.event(entry.chain, entry.seq, entry.at, name, data, told[name])
        told[name] += 1
    for name, listed in _lists(entry):
        parts = [listed[at : at + LISTED] for at in range(0, len(listed), LISTED)] or [[]]
        for number, part in enumerate(parts):
            more: dict[str, Any] = {"findings" if name.startswith("finding.") else "memories": part}
            if len(parts) > 1:
                more |= {"part": number + 1, "parts": len(parts)}
            yield hub.event(entry.chain, entry.seq, entry.at, name, hub.place(entry.chain) | _who(entry) | more, number)


def of_run(store: str | None, run: str, before: str, state: str, at: datetime, key: bytes) -> Iterator[Event]:
    """Yield the events of a retention run whose state has changed. `before` is the last state that was reported to
    webhooks."""
    hub, names = _Hub(key), [_RUNS[state]] if state in _RUNS else []
    if state in ("done", "cancelled") and before == "":
        names.insert(0, _RUNS["running"])
    for name in names:
        yield hub.event(store or "hub", 0, at, name, hub.place(store) | {"retention_run_id": run}, of=run)


def of_import(store: str, job: str, state: str, memories: int, at: datetime, key: bytes) -> Iterator[Event]:
    """Yield an event if the import has ended."""
    if state in _IMPORTS:
        hub = _Hub(key)
        data = hub.place(store) | {"import_id": job, "memory_count": memories}
        yield hub.event(store, 0, at, _IMPORTS[state], data, of=job)


def of_alarm(key: str, since: datetime, before: str, state: str, at: datetime, audit_key: bytes) -> Iterator[Event]:
    """Yield the events of an alarm whose state has changed. `key` names the kind and the subject of the alarm.

    `before` is the last state that was reported to webhooks.
    """
    hub, (kind, _space, subject) = _Hub(audit_key), key.partition(" ")
    alarm = {"kind": kind, **_subject(kind, subject), "since": _moment(since)}
    names = [_ALARMS[state]] if state in _ALARMS else []
    if state == "ended" and before != "raised":
        names.insert(0, _ALARMS["raised"])
    for name in names:
        yield hub.event("hub", 0, at, name, hub.place(None) | {"alarm": alarm}, of=f"{key} {_moment(since)}")


def _subject(kind: str, subject: str) -> dict[str, str]:
    """Return what an alarm is about: a webhook, or a kind of work on a machine."""
    if kind == "webhook":
        return {"webhook_id": subject}
    node, _space, task = subject.rpartition(" ")
    return {"node": node, "task": task} if kind == "work" else {}


def test_event(webhook: str, chain: str, seq: int, at: datetime, key: bytes) -> Event:
    """Return the event that the test button sends. It contains only the id of the webhook."""
    hub = _Hub(key)
    return hub.event(chain, seq, at, TEST, hub.place(None) | {"id": webhook}, of=webhook)


# ------------------------------------------------------------------------------------------------ their data


def _lists(entry: Entry) -> Iterator[tuple[str, list[dict[str, str | None]]]]:
    """Yield (name of an event, items for its list). Each name is yielded once."""
    lists: dict[str, list[dict[str, str | None]]] = {}
    for made in entry.made:
        for name in _changes(made):
            lists.setdefault(name, []).append({"id": made.memory, "memory_version_id": made.id})
    for finding in entry.found:
        ids_of: dict[str, str | None] = {
            "id": finding.id,
            "memory_id": finding.memory,
            "memory_version_id": finding.version,
            "kind": finding.kind,
        }
        lists.setdefault("finding.opened", []).append(ids_of)
    if entry.event in (*GROUPS["review"], *GROUPS["memory_version"]):
        lists[entry.event] = _named(entry)
    elif entry.event in GROUPS["memory"]:
        lists[entry.event] = [{"id": entry.memory}]
    elif entry.event in GROUPS["finding"]:
        lists[entry.event] = [{"id": finding} for finding in _decided(entry.told or {})]
    lists |= {name: _pairs(pairs) for name, pairs in entry.also.items()}
    yield from lists.items()


def _changes(made: Made) -> list[str]:
    """Return the names of the events for one version. A version that moved a memory and changed its text has two."""
    if made.brought:
        names = ["memory.created", "memory.deleted"] if made.operation == "deleted" else ["memory.created"]
    elif made.operation == "deleted":
        names = ["memory.deleted"]
    elif made.operation == "created":
        names = ["memory.created" if made.number == 1 else "memory.restored"]
    else:
        names = ["memory.modified"] if made.rewritten or not made.moved else []
        names += ["memory.renamed"] if made.moved else []
    return [*names, "review.needed"] if made.needs_review else names


def _named(entry: Entry) -> list[dict[str, str | None]]:
    named: list[tuple[str | None, str | None]] = list(entry.named)
    if not named and entry.version is not None:
        named = [(entry.memory, entry.version)]
    return _pairs(named)


def _pairs(named: Sequence[tuple[str | None, str | None]]) -> list[dict[str, str | None]]:
    return [{"id": memory, "memory_version_id": version} for memory, version in named]


def _decided(details: Mapping[str, Any]) -> list[str]:
    """Return the ids of the findings that an entry's input names; none if the input only says how many findings there
    were."""
    before = details.get("before")
    lists = before.values() if isinstance(before, dict) else ()
    return [str(one) for listed in lists if isinstance(listed, list) for one in listed]


def _who(entry: Entry) -> dict[str, Any]:
    who = actor(entry.actor_kind, entry.actor_id, entry.session)
    return {"actor": who, "session_id": entry.session, "audit_entry": entry.seq}


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Hub:
    """The facts that all events of a hub share. The ids of events are derived from the audit key."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.organization = "org_" + self._id("organization")
        self.workspace = "wrkspc_" + self._id("workspace")

    def _id(self, name: str) -> str:
        return hmac.digest(self.key, f"webhook {name}".encode(), "sha256").hex()[:24]

    def place(self, store: str | None) -> dict[str, Any]:
        own = {"organization_id": self.organization, "workspace_id": self.workspace}
        return {"memory_store_id": store, **own}

    def event(
        self, chain: str, seq: int, at: datetime, name: str, data: Mapping[str, Any], part: int = 0, of: str = ""
    ) -> Event:
        """Return an event. Its id depends on all arguments but `data`, so an event that is made again has the same
        id."""
        told = _encode(["event", chain, seq, name, part, of]).encode()
        id = ids.derived_id(ids.EVENT, at, hmac.digest(self.key, told, "sha256"))
        payload = {"type": "event", "id": id, "created_at": _moment(at), "data": {"type": name, **data}}
        return Event(id, name, chain, seq, _encode(payload))

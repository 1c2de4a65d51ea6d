"""A store whose history has gaps in every way that retention and redaction can leave them: for tests of the pages."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.audit.evidence import Evidence, forget_answers, replace_field
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.erasure import redaction
from memoryhub.actions.retention import removal
from memoryhub.demo import story
from memoryhub.demo.load import load
from memoryhub.models import Access, Agent, AuditEntry, Door, Memory, MemoryStore, MemoryText, MemoryVersion
from memoryhub.models.audit import ActorKind
from tests.support.fixtures import BY
from tests.web.all_pages.recorded_views import MARK
from tests.web.history.versions import Caller

POLICY = Actor(ActorKind.POLICY.value, "policy_of_the_tests", "policy_of_the_tests", "Tidy up")
MASK = "[redacted]"
HISTORY = 8
LATER = timedelta(days=60)
"""So long after its newest entry a store loses something: what a call may still repeat is kept."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """What is missing: of the memory `thinned` some of the oldest versions and one in the middle, and so on."""

    store: MemoryStore
    thinned: Memory
    gone_first: int
    gone_between: int
    purged: str
    redacted: MemoryVersion
    masked: MemoryVersion
    nameless: tuple[int, ...]
    starts_at: int


def damaged_demo(now: datetime) -> Gaps:
    """The demo with its store of customer service damaged; a long history is written to one memory before."""
    load(now)
    store = MemoryStore.objects.get(name="Customer service")
    agent = Agent.objects.get(name=story.SUPPORT)
    secret = keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **(BY | {"at": now}))[1]
    caller = Caller(store, secret, now, session="ticket-4600")
    memory = Memory.objects.at("/refund_policies.xml").get(store=store)
    for number in range(HISTORY):
        caller.call("insert", path=f"/memories{memory.path}", insert_line=3, insert_text=f"line {number} {MARK}\n")
        caller.call("view", path=f"/memories{memory.path}")
    return make_gaps(store, Memory.objects.get(pk=memory.pk))


def damaged_store(store: MemoryStore, key: str) -> Gaps:
    """A small store, damaged in the same ways."""
    caller = Caller(store, key, session="run-1")
    memory = caller.create("/notes/todo.md", "one\ntwo\nthree\n")
    for number in range(HISTORY + 2):
        caller.call("insert", path=f"/memories{memory.path}", insert_line=1, insert_text=f"line {number}\n")
        caller.call("view", path=f"/memories{memory.path}")
        caller.call("view", path="/memories/nowhere.md")
    for path in ("/a.md", "/b.md"):
        caller.create(path, "harmless\n")
        caller.delete(path)
    return make_gaps(store, Memory.objects.get(pk=memory.pk), start=6)


def make_gaps(store: MemoryStore, thinned: Memory, start: int | None = None) -> Gaps:
    """Damages a store; `thinned` is a live memory of at least seven versions, and something lies in the trash.

    Up to and with the entry `start` (null: a third of them) the audit's beginning goes too.
    """
    newest = AuditEntry.objects.of_chain(store.pk).newest()[0]
    last, at = newest.seq, newest.at + LATER
    versions = list(MemoryVersion.objects.of_memory(thinned).order_by("number"))
    gone = [*versions[:2], versions[3]]
    _remove(store, thinned, gone, at)
    purged = _purge(store, at)
    redacted = redaction.redact_version(store.pk, versions[4].pk, _act(at, Actor.system("tests")))
    masked = _mask_version(store, versions[5], at)
    nameless = _mask_entries(store, last, at)
    return Gaps(
        store=MemoryStore.objects.get(pk=store.pk), thinned=Memory.objects.get(pk=thinned.pk), gone_first=2,
        gone_between=versions[3].number, purged=purged, redacted=redacted, masked=masked, nameless=nameless,
        starts_at=_remove_entries(store, start or last // 3, at),
    )  # fmt: skip


def _act(at: datetime, actor: Actor = POLICY) -> Act:
    return Act(actor, Door.COMMAND, at)


def _remove(store: MemoryStore, memory: Memory, gone: list[MemoryVersion], at: datetime) -> None:
    with tree.locked(store.pk, _act(at)) as locked:
        removed = removal.remove_versions(locked, memory.pk, [version.pk for version in gone])
        told = audit.to_json({"numbers": [version.number for version in gone]})
        tree.commit(locked, Record("prune_versions", memory=memory.pk, input=told, redactions=removed.redactions))


def _purge(store: MemoryStore, at: datetime) -> str:
    """Of what lies in the trash the last one goes for good; pages show the first."""
    memory = Memory.objects.in_trash().filter(store=store).order_by("path").last()
    assert memory is not None
    with tree.locked(store.pk, _act(at)) as locked:
        removed = removal.purge(locked, memory.pk)
        tree.commit(locked, Record("purge", memory=memory.pk, redactions=removed.redactions))
    return memory.pk


def _mask_version(store: MemoryStore, version: MemoryVersion, at: datetime) -> MemoryVersion:
    """One word of its text is no longer there."""
    with tree.locked(store.pk, _act(at, Actor.system("tests"))) as locked:
        evidence = Evidence(locked)
        forget_answers(locked, [version], {version.pk: version.path})
        text = tree.add_text(locked, version.memory_id, f"first line\n{MASK} and more\n")
        row = MemoryText.objects.get(pk=text)
        encoded = row.content.encode()
        MemoryVersion.objects.filter(pk=version.pk).update(
            text=row, size=len(encoded), sha256=hashlib.sha256(encoded).hexdigest(), salt=None,
            redacted_seq=locked.seq,
        )  # fmt: skip
        MemoryText.objects.filter(pk=version.text_id).delete()
        found = MemoryVersion.objects.get(pk=version.pk)
        evidence.of_version(found)
        _commit(locked, evidence)
    return found


def _mask_entries(store: MemoryStore, last: int, at: datetime) -> tuple[int, ...]:
    """Entries with nothing left of what can be redacted, and ones with masked pieces; of each command one or two."""
    chosen: list[tuple[int, bool]] = []
    known: dict[tuple[str | None, bool], int] = {}
    for entry in AuditEntry.objects.of_chain(store.pk).between(last // 2, last).newest():
        kind = (entry.command, entry.ok)
        known[kind] = known.get(kind, 0) + 1
        if known[kind] in (3, 4):
            chosen.append((entry.seq, known[kind] == 3))
    for seq, wholly in chosen:
        _mask_entry(store, seq, at, wholly=wholly)
    return tuple(seq for seq, wholly in chosen if wholly)


def _mask_entry(store: MemoryStore, seq: int, at: datetime, *, wholly: bool) -> None:
    with tree.locked(store.pk, _act(at, Actor.system("tests"))) as locked:
        evidence = Evidence(locked)
        entry = AuditEntry.objects.get(chain=store.pk, seq=seq)
        for field in ("path", "new_path", "label", "note", "input", "message"):
            if getattr(entry, field) is None:
                continue
            mask = {"message": audit.to_json(MASK), "input": audit.to_json({"command": MASK})}.get(field, MASK)
            replace_field(evidence, entry, field, None if wholly and field != "message" else mask)
        _commit(locked, evidence)


def _commit(locked: Tree, evidence: Evidence) -> None:
    tree.commit(locked, Record("redact", redactions=evidence.write()))


def _remove_entries(store: MemoryStore, up_to: int, at: datetime) -> int:
    """The last entry that went."""
    gone = removal.remove_entries(store.pk, up_to, _act(at))
    assert gone
    return gone

"""The readers of a version: the sessions whose calls read it, and what each session wrote afterwards."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q

from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, Proposal, Session, User
from memoryhub.web.sessions.readers.query import Entry, Seen

LOOK = 300
"""The number of calls after a read, in the same session, that are scanned for writes."""

WRITTEN = 8
MOST_PROPOSALS = 1_000
"""The most proposals that are checked for all sessions of a page together. They are the newest ones."""
SHOWN = 12
OTHER_STORES = 5


class Write(NamedTuple):
    """A call that wrote. `version` and `number` are None if it made no version, or several."""

    store: MemoryStore
    seq: int
    at: datetime
    command: str
    path: str | None
    new_path: str | None
    memory: str | None
    version: str | None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The answers that one reader got, newest first. The reader is a session, or an agent or a person without a
    session."""

    seen: Sequence[Seen]  # the first SHOWN answers
    rest: int  # the number of further answers
    since: Entry  # the entry of the oldest answer
    session: Session | None
    written: Sequence[Write]  # writes after `since`
    more: bool  # there may be further writes
    proposed: Sequence[Proposal] = ()  # proposals after `since`

    @property
    def last(self) -> Entry:
        return self.seen[0].entry


class Who(NamedTuple):
    """A reader: a session, or else an agent or a person without a session."""

    session: str | None
    author: str | None


def by_reader(seen: Iterable[Seen]) -> dict[Who, list[Seen]]:
    """Return {reader: the answers that it got}, in the order of the answers."""
    found: dict[Who, list[Seen]] = {}
    for one in seen:
        entry = one.entry
        found.setdefault(Who(entry.session, None if entry.session else entry.author), []).append(one)
    return found


def groups(readers: Mapping[Who, Sequence[Seen]], store: MemoryStore, user: User, most: int = WRITTEN) -> list[Group]:
    """Return one group for each reader, in the order of `readers`. A group has at most `most` writes."""
    sessions = Session.objects.select_related("agent").in_bulk([who.session for who in readers if who.session])
    elsewhere = other_stores(sessions, store, user)
    found = [
        _group(seen, sessions.get(who.session or ""), store, elsewhere.get(who.session or "", ()), most)
        for who, seen in readers.items()
    ]
    numbered = iter(with_numbers([write for group in found for write in group.written]))
    proposed = _proposed(found, [store, *{other for others in elsewhere.values() for other in others}])
    return [
        replace(group, written=list(islice(numbered, len(group.written))), proposed=_since(group, proposed))
        for group in found
    ]


def _proposed(found: Sequence[Group], stores: Sequence[MemoryStore]) -> dict[str, list[Proposal]]:
    """Return {session id: its proposals in these stores}, sorted by store and number.

    Only proposals that changed after the oldest answer of all groups are returned, and of these the MOST_PROPOSALS
    newest.
    """
    sessions = [group.session for group in found if group.session is not None]
    if not sessions:
        return {}
    of_them = Proposal.objects.filter(
        store__in=stores,
        agent__in={one.agent_id for one in sessions},
        session__in=[one.pk for one in sessions],
        changed_at__gt=min(group.since.at for group in found),
    )
    newest = of_them.select_related("store").order_by("-changed_at", "-pk")[:MOST_PROPOSALS]
    by_session: dict[str, list[Proposal]] = {}
    for proposal in sorted(newest, key=lambda one: (one.store_id, one.number)):
        by_session.setdefault(str(proposal.session), []).append(proposal)
    return by_session


def _since(group: Group, proposed: Mapping[str, Sequence[Proposal]]) -> list[Proposal]:
    """Return at most WRITTEN proposals of the group's session that changed after the session got its oldest answer."""
    own = proposed.get(group.session.pk, ()) if group.session else ()
    return [proposal for proposal in own if proposal.changed_at > group.since.at][:WRITTEN]


def _group(
    seen: Sequence[Seen], session: Session | None, store: MemoryStore, others: Sequence[MemoryStore], most: int
) -> Group:
    since = seen[-1].entry
    written: list[Write] = []
    more = False
    if session is not None:
        for place in (store, *others):
            bound = since.seq if place is store else None
            found, cut = writes_after(place, session.pk, since.at, bound, most - len(written))
            written += found
            more = more or cut
    return Group(seen[:SHOWN], max(0, len(seen) - SHOWN), since, session, written, more)


def other_stores(sessions: Collection[str], store: MemoryStore, user: User) -> dict[str, list[MemoryStore]]:
    """Return {session id: other visible stores with entries of the session}. At most OTHER_STORES stores are found for
    all sessions together."""
    if not sessions:
        return {}
    acts = AuditEntry.objects.filter(chain=OuterRef("pk"))
    any_of_them = Q(pk__in=[])
    for session in sessions:
        any_of_them |= Q(Exists(acts.filter(session=session)))
    found = list(MemoryStore.objects.visible_to(user).exclude(pk=store.pk).filter(any_of_them).by_name()[:OTHER_STORES])
    acted: dict[str, list[MemoryStore]] = {}
    for other in found:
        here = AuditEntry.objects.of_chain(other.pk).filter(session=OuterRef("pk"))
        for session in Session.objects.filter(Exists(here), pk__in=sessions).values_list("pk", flat=True):
            acted.setdefault(session, []).append(other)
    return acted


def writes_after(
    store: MemoryStore, session: str, at: datetime, seq: int | None, most: int
) -> tuple[list[Write], bool]:
    """Return the writes of a session in a store, oldest first, and whether there may be more.

    The writes are later than the entry `seq`. If `seq` is None, they are later than the time `at`.
    """
    acts = AuditEntry.objects.of_chain(store.pk).of_session(session).oldest()
    acts = acts.filter(seq__gt=seq) if seq is not None else acts.filter(at__gt=at)
    columns = ("seq", "at", "command", "path", "new_path", "memory", "version", "ok", "digest")
    looked = list(acts.values_list(*columns)[:LOOK])
    found = [
        Write(store, seq, at, command or "", path, new_path, memory, version)
        for seq, at, command, path, new_path, memory, version, ok, digest in looked
        if command in WRITES and ok and digest is not None
    ]
    return found[:most], len(found) > most or len(looked) == LOOK


def with_numbers(written: Sequence[Write]) -> list[Write]:
    """Return the writes with their version numbers."""
    ids = [write.version for write in written if write.version]
    found = MemoryVersion.objects.filter(store_id__in={write.store for write in written}, pk__in=ids)
    numbers = dict(found.values_list("id", "number")) if ids else {}
    return [write._replace(number=numbers.get(write.version or "")) for write in written]

"""The calls of a session in order, each with what it read or wrote."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Exists, OuterRef
from django.urls import reverse

from memoryhub.actions.history.blame import line_counts
from memoryhub.models import AuditEntry, Key, MemoryStore, MemoryVersion, Session, User
from memoryhub.models.audit import ActorKind
from memoryhub.protocol.commands import WRITES
from memoryhub.text import blame
from memoryhub.web.audit.entry import before_each
from memoryhub.web.audit.masking import Entries
from memoryhub.web.audit.queries import Search, newer_page, older_page
from memoryhub.web.audit.rows import error_of, in_time, memories_there, memory_url
from memoryhub.web.common.versions import text_before, text_of

PAGE = 100
MOST_STORES = 50
COUNTED = 500
"""The most calls of a session that are counted in each store."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a row of the list.

    `version` is the version that the call read or made; None if it concerned no version, or several. For a version that
    was read, `lines` is the range of lines in the answer. For a version that was made, `added` and `removed` count
    lines against the version with the number `before`; they are None if a text is missing or counting takes too much
    work.
    """

    entry: AuditEntry
    store: MemoryStore
    version: MemoryVersion | None
    is_write: bool
    version_url: str
    lines: tuple[int, int] | None
    before: int | None
    added: int | None
    removed: int | None
    memory_url: str | None
    error: str
    duration: str
    is_whole: bool

    @property
    def is_read(self) -> bool:
        """Return whether the answer was the text of a version."""
        return self.entry.command == "view" and self.version is not None


@dataclass(frozen=True, slots=True)
class Calls:
    """A page of calls in order, and the places of the previous and next page (None if there is none)."""

    rows: Sequence[Call]
    earlier: str | None
    later: str | None


@dataclass(frozen=True, slots=True)
class Figures:
    """The totals of a session; `more` means that only its first COUNTED calls in a store were counted."""

    calls: int
    reads: int
    writes: int
    errors: int
    first: datetime | None
    last: datetime | None
    keys: Sequence[tuple[str, Key | None]]
    more: bool


def stores_of(session: Session, user: User) -> list[MemoryStore]:
    """Return the stores in which the session has entries and that the person may see, by name."""
    acts = AuditEntry.objects.filter(chain=OuterRef("pk"), session=session.pk)
    return list(MemoryStore.objects.visible_to(user).filter(Exists(acts)).by_name()[:MOST_STORES])


def calls_of(
    session: Session, stores: Sequence[MemoryStore], after: str | None = None, before: str | None = None
) -> Calls:
    """Return the first calls, or those after or before a place. Raise BadPlace if it is invalid."""
    chains, search = [store.pk for store in stores], Search(session=session.pk)
    if before:
        page = older_page(search, chains, before, PAGE)
    else:
        page = newer_page(search, chains, after or _beginning(session, chains), PAGE)
    entries = page.entries[::-1]
    earlier = page.older if before or after else None
    return Calls(_rows(entries, {store.pk: store for store in stores}), earlier, page.newer)


def _beginning(session: Session, chains: Sequence[str]) -> str:
    """Return the place before the session's first call."""
    acts = AuditEntry.objects.of_session(session.pk).oldest()
    firsts = [acts.of_chain(chain).values_list("at", "chain", "seq").first() for chain in chains]
    _at, chain, seq = min(first for first in firsts if first is not None)
    return f"{chain}:{seq}"


def _rows(entries: Sequence[AuditEntry], stores: Mapping[str, MemoryStore]) -> list[Call]:
    ids = [entry.version for entry in entries if entry.version]
    of_stores = MemoryVersion.objects.filter(store_id__in=list(stores))
    versions = of_stores.defer("commitment", "salt").in_bulk(ids)
    made = [versions[entry.version] for entry in entries if entry.version in versions and _wrote(entry)]
    with_text = of_stores.select_related("text").in_bulk([version.pk for version in made])
    before = before_each(list(with_text.values())) if with_text else {}
    totals = line_counts(stores, {entry.version for entry in entries if entry.version and entry.command == "view"})
    texts = _Texts(versions, with_text, before, totals, memories_there(entries))
    seen = Entries([entry for entry in entries if not entry.ok])
    return [_row(entry, stores[entry.chain], texts, seen) for entry in entries]


@dataclass(frozen=True, slots=True)
class _Texts:
    """The versions of a page's calls.

    `versions` are all of them. `made` are those that the calls made, with their texts, and `before` the versions before
    those. `totals` are the line counts of versions that were read. `there` are the memories that still exist, also in
    the trash. `work` limits the counting of changed lines.
    """

    versions: Mapping[str, MemoryVersion]
    made: Mapping[str, MemoryVersion]
    before: Mapping[str, MemoryVersion]
    totals: Mapping[str, int]
    there: Collection[str]
    work: blame.Work = field(default_factory=blame.Work)


def _row(entry: AuditEntry, store: MemoryStore, texts: _Texts, seen: Entries) -> Call:
    id = entry.version or ""
    version, made, before = texts.versions.get(id), texts.made.get(id), texts.before.get(id)
    lines = shown_lines(entry.first_line, entry.last_line, texts.totals.get(id))
    added, removed = _counts(before, made, texts.work) if made and _wrote(entry) else (None, None)
    return Call(
        entry,
        store,
        version,
        entry.command in WRITES,
        _version_url(entry, version, lines),
        lines,
        before.number if before else None,
        added,
        removed,
        memory_url(entry) if entry.memory in texts.there else None,
        error_of(entry, seen),
        in_time(entry.duration),
        is_whole=lines == (1, texts.totals.get(id)),
    )


def shown_lines(first: int | None, last: int | None, total: int | None) -> tuple[int, int] | None:
    """Return the range of lines that an answer showed, or None if it showed no lines.

    A full view also shows an empty line after the last one, which is not in the range.
    """
    if first is None or last is None:
        return None
    return first, last if total is None else max(first, min(last, total))


def _wrote(entry: AuditEntry) -> bool:
    return entry.ok and entry.command in WRITES and entry.replay_of is None


def _version_url(entry: AuditEntry, version: MemoryVersion | None, lines: tuple[int, int] | None) -> str:
    if version is None:
        return ""
    url = reverse("version", args=[entry.chain, version.pk])
    return url if lines is None else f"{url}#L{lines[0]}-L{lines[1]}"


def _counts(before: MemoryVersion | None, version: MemoryVersion, work: blame.Work) -> tuple[int | None, int | None]:
    """Return the number of added and removed lines; None for both if a text is missing or counting takes too much
    work."""
    if before is not None and before.text_id == version.text_id:
        return 0, 0
    old, new = text_before(before, version), text_of(version)
    if old is None or new is None:
        return None, None
    areas = [] if work.passed else blame.changes(blame.ended(old), blame.ended(new), work)
    if work.passed:
        return None, None
    return sum(area[3] - area[2] for area in areas), sum(area[1] - area[0] for area in areas)


def figures_of(session: Session, stores: Sequence[MemoryStore]) -> Figures:
    """Return the totals of a session over these stores, and the keys that it used there."""
    looked: list[tuple[datetime, str | None, bool, str | None, str, str | None]] = []
    last: list[datetime] = []
    more = False
    for store in stores:
        acts = AuditEntry.objects.of_chain(store.pk).of_session(session.pk)
        found = list(
            acts.oldest().values_list("at", "command", "ok", "version", "actor_kind", "actor_id")[: COUNTED + 1]
        )
        more = more or len(found) > COUNTED
        looked += found[:COUNTED]
        last += acts.newest().values_list("at", flat=True)[:1]
    keys = dict.fromkeys(key for *_rest, kind, key in looked if kind == ActorKind.KEY and key)
    known = Key.objects.in_bulk(list(keys))
    return Figures(
        len(looked),
        sum(command == "view" and ok and version is not None for _at, command, ok, version, *_ in looked),
        sum(command in WRITES and ok for _at, command, ok, *_ in looked),
        sum(not ok for _at, _command, ok, *_ in looked),
        min((row[0] for row in looked), default=None),
        max(last, default=None),
        [(key, known.get(key)) for key in keys],
        more,
    )

"""The calls of a session in order, each with its change or the passage that it read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Exists, OuterRef
from django.urls import reverse

from memoryhub.actions.history.blame import line_counts
from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import AuditEntry, Key, MemoryStore, MemoryVersion, Review, Session, User
from memoryhub.models.audit import ActorKind, beginning_of_message
from memoryhub.pure.protocol.kinds import proposal_in
from memoryhub.pure.protocol.results import PROPOSED
from memoryhub.pure.text.diffs import shortened
from memoryhub.web.audit.entry import Change, call_of, changes_of, in_input, of_changes
from memoryhub.web.audit.masking import Entries, memories_there
from memoryhub.web.audit.queries import Search, newer_page, older_page
from memoryhub.web.audit.rows import error_of, memory_url
from memoryhub.web.common.tool_errors import of_call
from memoryhub.web.common.versions import removed_history
from memoryhub.web.common.versions.decided import decided
from memoryhub.web.sessions.passages import Passage, passages

PAGE = 50
MOST_STORES = 50
COUNTED = 500
"""The most calls of a session that are counted in each store."""
MOST_ROWS = 24
"""The most rows of a diff that are shown in the list of calls."""
MOST_RAW = 2_000
"""The most characters of a raw call that are shown in the list of calls."""


BEGINNING = beginning_of_message(len(PROPOSED) + 1)
"""The beginning of an answer's JSON. It is long enough to determine whether the change became a part of a proposal."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a session."""

    entry: AuditEntry
    store: MemoryStore
    version: MemoryVersion | None  # the version that the call read or made; None for no version or several
    version_url: str
    memory_url: str | None
    error: str
    lines: tuple[int, int] | None  # the range of lines in the answer, if the call read the version
    is_whole: bool
    change: Change | None  # the change with its diff, if the call made the version
    hidden_rows: int  # rows that were cut from the diff
    passage: Passage | None = None  # the text of `lines`; None if it is not available or has no room
    decided: Review | None = None  # the last decision about the version that the call made
    raw: str = ""  # the input as it was sent, if requested
    is_raw_cut: bool = False  # `raw` is only the beginning

    @property
    def key(self) -> tuple[str, int]:
        return self.entry.chain, self.entry.seq

    @property
    def proposal(self) -> int | None:
        """Return the number of the proposal of which the change became a part, or None."""
        return proposal_in(self.error)

    @property
    def why(self) -> str:
        """Return why the call was refused, in words for people."""
        return self.error if self.proposal else of_call(self.error)

    @property
    def is_write(self) -> bool:
        return self.entry.command in WRITES

    @property
    def is_read(self) -> bool:
        """Return whether the answer was the text of a version, which may have been removed since."""
        return self.entry.command == "view" and self.entry.version is not None

    @property
    def added(self) -> int | None:
        """Return the number of lines that the call added, from its diff; None if the diff is not on the page."""
        return self.change.diff.added if self.change and self.change.diff else None

    @property
    def removed(self) -> int | None:
        return self.change.diff.removed if self.change and self.change.diff else None


@dataclass(frozen=True, slots=True)
class Calls:
    """A page of calls in order, with the places of the previous and the next page (or None)."""

    rows: Sequence[Call]
    earlier: str | None
    later: str | None


@dataclass(frozen=True, slots=True)
class Figures:
    """The totals of a session.

    `more` means that only its first COUNTED calls in a store were counted. `cut` means that entries of earlier calls
    may have been removed.
    """

    calls: int
    reads: int
    writes: int
    proposed: int
    errors: int
    first: datetime | None
    last: datetime | None
    keys: Sequence[tuple[str, Key | None]]
    more: bool
    cut: bool


def stores_of(session: Session, user: User) -> list[MemoryStore]:
    """Return the stores that have entries of the session and that the person may see, sorted by name."""
    acts = AuditEntry.objects.filter(chain=OuterRef("pk"), session=session.pk)
    return list(MemoryStore.objects.visible_to(user).filter(Exists(acts)).by_name()[:MOST_STORES])


def calls_of(
    session: Session,
    stores: Sequence[MemoryStore],
    after: str | None = None,
    before: str | None = None,
    *,
    raw: bool = False,
) -> Calls:
    """Return a page of calls: the first ones, or those after or before a place. Raise BadPlace if the place is invalid.

    With `raw`, each call has its input as it was sent.
    """
    chains, search = [store.pk for store in stores], Search(session=session.pk)
    if before:
        page = older_page(search, chains, before, PAGE)
    else:
        page = newer_page(search, chains, after or _beginning(session, chains), PAGE)
    entries = page.entries[::-1]
    earlier = page.older if before or after else None
    rows = _rows(entries, {store.pk: store for store in stores})
    return Calls(_with_raw(rows) if raw else rows, earlier, page.newer)


def _beginning(session: Session, chains: Sequence[str]) -> str:
    """Return the session's first entry as `CHAIN:SEQ`: the place in the address of the page that lists its calls from
    the beginning."""
    acts = AuditEntry.objects.of_session(session.pk).oldest()
    firsts = [acts.of_chain(chain).values_list("at", "chain", "seq").first() for chain in chains]
    _at, chain, seq = min(first for first in firsts if first is not None)
    return f"{chain}:{seq}"


def in_calls(calls: Iterable[Call]) -> Iterator[tuple[str, str, str | None]]:
    """Yield (store, memory, version) of the versions whose texts are shown by the calls."""
    for call in calls:
        if call.raw:
            yield from ((call.entry.chain, *place) for place in in_input(call.entry))
        shown = [call.version] if call.passage is not None else []
        shown += of_changes([call.change] if call.change else [])
        yield from ((one.store_id, one.memory_id, one.pk) for one in shown if one is not None and one.text_id)


def calls_with(entries: Sequence[AuditEntry], store: MemoryStore) -> list[Call]:
    """Return the calls that these entries of a store record, in the same order."""
    return _rows(entries, {store.pk: store}) if entries else []


def _rows(entries: Sequence[AuditEntry], stores: Mapping[str, MemoryStore]) -> list[Call]:
    of_stores = MemoryVersion.objects.filter(store_id__in=list(stores))
    versions = of_stores.defer("commitment", "salt").in_bulk([entry.version for entry in entries if entry.version])
    made = [entry.version for entry in entries if entry.version in versions and _wrote(entry)]
    with_text = of_stores.select_related("text").in_bulk(made) if made else {}
    changed = changes_of([with_text[id] for id in made if id in with_text], PAGE)
    changes = {change.version.pk: change for change in changed}
    reads = {entry.version for entry in entries if entry.version and entry.command == "view"}
    totals = line_counts(stores, reads)
    there, seen = memories_there(entries), Entries([entry for entry in entries if not entry.ok])
    decisions = _decisions([versions[id] for id in made])
    calls = []
    for entry in entries:
        version, total = versions.get(entry.version or ""), totals.get(entry.version or "")
        change, hidden = _shortened(changes.get(entry.version or "") if _wrote(entry) else None)
        lines = shown_lines(entry.first_line, entry.last_line, total)
        calls.append(
            Call(
                entry=entry,
                store=stores[entry.chain],
                version=version,
                version_url=_version_url(entry, version, lines),
                memory_url=memory_url(entry) if entry.memory in there else None,
                error=error_of(entry, seen),
                lines=lines,
                is_whole=lines == (1, total),
                change=change,
                hidden_rows=hidden,
                decided=decisions.get(version.pk) if version and change else None,
            )
        )
    return _with_passages(calls)


def _decisions(versions: Sequence[MemoryVersion]) -> dict[str, Review]:
    """Return {version id: the last decision about it}."""
    found: dict[str, Review] = {}
    for store in {version.store_id for version in versions}:
        found |= decided(store, [version for version in versions if version.store_id == store])
    return found


def _shortened(change: Change | None) -> tuple[Change | None, int]:
    if change is None or change.diff is None:
        return change, 0
    diff, hidden = shortened(change.diff, MOST_ROWS)
    return replace(change, diff=diff), hidden


def _with_passages(calls: Sequence[Call]) -> list[Call]:
    """Return the calls; each call that read a text has the passage that it read."""
    reads = [(call.key, call.version, call.lines) for call in calls if call.is_read and call.version and call.lines]
    shown = passages(reads)
    return [replace(call, passage=shown.get(call.key)) for call in calls]


def _with_raw(calls: Sequence[Call]) -> list[Call]:
    """Return the calls with their inputs (`raw`). Sensitive values in the inputs are masked."""
    by_place: dict[tuple[str, int], AuditEntry] = {}
    for chain in {call.entry.chain for call in calls}:
        seqs = [call.entry.seq for call in calls if call.entry.chain == chain]
        by_place |= {(chain, entry.seq): entry for entry in AuditEntry.objects.of_chain(chain).of_seqs(seqs)}
    masked = Entries(by_place.values())
    return [_one_with_raw(call, by_place.get(call.key), masked) for call in calls]


def _one_with_raw(call: Call, entry: AuditEntry | None, masked: Entries) -> Call:
    sent = call_of(entry, masked) if entry else None
    if sent is None:
        return call
    return replace(call, raw=sent.shown[:MOST_RAW], is_raw_cut=len(sent.shown) > MOST_RAW)


def shown_lines(first: int | None, last: int | None, total: int | None) -> tuple[int, int] | None:
    """Return the range of lines that an answer showed, or None if `first` or `last` is None.

    `total` is the number of lines of the version, if known. The range ends at `total` at the latest, because a full
    view also counts an empty line at the end.
    """
    if first is None or last is None:
        return None
    return first, last if total is None else max(first, min(last, total))


def _wrote(entry: AuditEntry) -> bool:
    """Return whether a call made versions."""
    return entry.ok and entry.command in WRITES and entry.digest is not None


def is_proposal(beginning: str | None) -> bool:
    """Return whether a change became a part of a proposal. `beginning` is the beginning of the answer to the call, as
    JSON."""
    return (beginning or "").removeprefix('"') == PROPOSED


def _version_url(entry: AuditEntry, version: MemoryVersion | None, lines: tuple[int, int] | None) -> str:
    if version is None:
        return ""
    url = reverse("version", args=[entry.chain, version.pk])
    return url if lines is None else f"{url}#L{lines[0]}-L{lines[1]}"


def figures_of(session: Session, stores: Sequence[MemoryStore]) -> Figures:
    """Return the totals of a session in these stores, and the keys that the session used there."""
    looked: list[tuple[datetime, str | None, bool, str | None, str, str | None, str | None]] = []
    last: list[datetime] = []
    more = False
    for store in stores:
        acts = AuditEntry.objects.of_chain(store.pk).of_session(session.pk)
        found = list(
            acts.oldest().values_list("at", "command", "ok", "version", "actor_kind", "actor_id", BEGINNING)[
                : COUNTED + 1
            ]
        )
        more = more or len(found) > COUNTED
        looked += found[:COUNTED]
        last += acts.newest().values_list("at", flat=True)[:1]
    keys = dict.fromkeys(key for *_rest, kind, key, _answer in looked if kind == ActorKind.KEY and key)
    known = Key.objects.in_bulk(list(keys))
    proposed = sum(is_proposal(answer) for *_rest, answer in looked)
    return Figures(
        len(looked),
        sum(command == "view" and ok and version is not None for _at, command, ok, version, *_ in looked),
        sum(command in WRITES and ok for _at, command, ok, *_ in looked),
        proposed,
        sum(not ok for _at, _command, ok, *_ in looked) - proposed,
        min((row[0] for row in looked), default=None),
        max(last, default=None),
        [(key, known.get(key)) for key in keys],
        more,
        any(removed_history.began_after(store.pk, session.first_seen_at) for store in stores),
    )

"""The knowledge of a session: the versions that it had read or written up to a moment."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db.models import Case, F, When
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime, parse_time
from django.utils.translation import gettext as _

from memoryhub.actions.history.blame import line_counts
from memoryhub.actions.search import search
from memoryhub.actions.verification.entries import WRITES
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, Session
from memoryhub.web.sessions.calls import shown_lines

LOOK = 500
"""The most calls that are scanned in each store. They are the last ones before the moment."""

MOST = 100
_PLACE = re.compile(r"(\w{1,64}):(\d{1,18})", re.ASCII)


_Call = tuple[int, datetime, int | None, int | None]
"""A call's seq and time, and the first and last line that its answer showed."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: just after the entry `seq` of `chain`, or the time `at`, or now if both are None."""

    at: datetime | None = None
    chain: str | None = None
    seq: int | None = None
    typed: str = ""  # the person's input
    problem: str = ""  # a sentence, if the input was invalid

    @property
    def is_set(self) -> bool:
        return self.at is not None


@dataclass(frozen=True, slots=True)
class Piece:
    """A version that a session knew, because the session read a part of it or wrote it."""

    store: MemoryStore
    version: MemoryVersion
    url: str
    own: bool  # the session wrote the version
    searched: bool  # the session found the version in a search
    spans: Sequence[tuple[int, int]]  # the ranges of lines that the session was shown, except by a search
    first: datetime
    last: datetime
    seq: int
    times: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Known:
    """The versions that a session knew, most recently seen first."""

    pieces: Sequence[Piece]
    more: bool  # there may be other versions
    gone: int = 0  # known versions that have been removed since

    @property
    def memories(self) -> int:
        return len({piece.version.memory_id for piece in self.pieces})


def moment_of(query: Mapping[str, str], session: Session, stores: Sequence[MemoryStore]) -> Moment:
    """Parse a moment in the query. `until` is an entry (`chain:seq`). `at` is a date with a time, or a time on the
    session's first day."""
    if until := query.get("until"):
        place = _PLACE.fullmatch(until)
        if place and place[1] in {store.pk for store in stores}:
            chain, seq = place[1], int(place[2])
            entry = AuditEntry.objects.of_chain(chain).of_session(session.pk).filter(seq=seq)
            at = entry.values_list("at", flat=True).first()
            if at is not None:
                return Moment(at, chain, seq)
        return Moment(problem=_("This session has no such entry. This page shows everything that the session knew."))
    typed = query.get("at", "").strip()
    if not typed:
        return Moment()
    try:
        return Moment(_moment(typed, session), typed=typed)
    except (ValueError, OverflowError):
        words = _("“%(typed)s” is not a time. Write it like 2026-01-31 14:02, or 14:02.") % {"typed": typed}
        return Moment(typed=typed, problem=words)


def _moment(typed: str, session: Session) -> datetime:
    """Parse a time in the current time zone. A time without seconds means the end of its minute. Raises ValueError if
    the text is invalid."""
    moment = parse_datetime(typed)
    if moment is None:
        time = parse_time(typed)
        if time is None:
            raise ValueError(typed)
        moment = datetime.combine(timezone.localtime(session.first_seen_at).date(), time)
    if typed.count(":") == 1:
        moment = moment.replace(second=59, microsecond=999_999)
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def known(session: Session, stores: Sequence[MemoryStore], moment: Moment) -> Known:
    """Return the versions that a session had read or written up to a moment, most recently seen first."""
    return _known([_seen(session, store, moment) for store in stores], lambda _chain, _seq, _at: True)


def known_before(
    session: Session, stores: Sequence[MemoryStore], entries: Sequence[AuditEntry]
) -> dict[tuple[str, int], Known]:
    """Return {(chain, seq): what the session knew just before the entry} for these entries of the session."""
    if not entries:
        return {}
    latest = Moment(max(entry.at for entry in entries))
    seen = [_seen(session, store, latest) for store in stores]
    return {(entry.chain, entry.seq): _known(seen, partial(_is_before, entry)) for entry in entries}


def _is_before(entry: AuditEntry, chain: str, seq: int, at: datetime) -> bool:
    return seq < entry.seq if chain == entry.chain else at < entry.at


@dataclass(frozen=True, slots=True)
class _Seen:
    """The calls of a session in a store that showed or made versions."""

    store: MemoryStore
    calls: Mapping[str, Sequence[_Call]]  # by version id, newest first
    looked: Sequence[str]  # the version ids to consider
    versions: Mapping[str, MemoryVersion]  # by version id; removed versions are left out
    totals: Mapping[str, int]  # the line counts of the versions
    cut: bool  # there may be more versions


def _seen(session: Session, store: MemoryStore, moment: Moment) -> _Seen:
    acts = AuditEntry.objects.of_chain(store.pk).of_session(session.pk).newest()
    if moment.chain == store.pk:
        acts = acts.filter(seq__lte=moment.seq)
    elif moment.at is not None:
        _low, high = AuditEntry.objects.of_chain(store.pk).seqs_near(None, moment.at)
        acts = acts.filter(seq__lte=high, at__lte=moment.at)
    acts = acts.annotate(found=Case(When(command=search.COMMAND, then=F("message"))))
    columns = ("seq", "at", "command", "ok", "version", "first_line", "last_line", "digest", "found")
    looked = list(acts.values_list(*columns)[: LOOK + 1])
    by_version: dict[str, list[_Call]] = {}
    for seq, at, command, ok, version, first, last, digest, found in looked[:LOOK]:
        if ok and version and (command == "view" or first is not None or (command in WRITES and digest is not None)):
            by_version.setdefault(version, []).append((seq, at, first, last))
        for id in search.found_versions(found) if ok and found else ():
            by_version.setdefault(id, []).append((seq, at, None, None))
    ids = list(by_version)[: MOST + 1]
    versions = MemoryVersion.objects.filter(store=store).defer("commitment", "salt").in_bulk(ids)
    cut = len(looked) > LOOK or len(by_version) > len(ids)
    return _Seen(store, by_version, ids, versions, line_counts([store.pk], ids), cut)


def _known(seen: Iterable[_Seen], counts: Callable[[str, int, datetime], bool]) -> Known:
    """Return the versions that a session knew from some of its calls.

    `counts(chain, seq, time)` returns whether a call is one of these calls.
    """
    pieces: list[Piece] = []
    more, gone = False, 0
    for of_store in seen:
        more = more or of_store.cut
        missing = [id for id in of_store.looked if id not in of_store.versions]
        gone += sum(any(counts(of_store.store.pk, *call[:2]) for call in of_store.calls[id]) for id in missing)
        for id, version in of_store.versions.items():
            calls = [call for call in of_store.calls[id] if counts(of_store.store.pk, call[0], call[1])]
            if calls:
                pieces.append(_piece(of_store.store, version, calls, of_store.totals.get(id)))
    pieces.sort(key=lambda piece: (piece.last, piece.seq), reverse=True)
    return Known(pieces[:MOST], more or len(pieces) > MOST, gone)


def _piece(store: MemoryStore, version: MemoryVersion, calls: Sequence[_Call], total: int | None) -> Piece:
    """Return the session's knowledge of a version. `calls` are newest first; `total` is the version's number of
    lines."""
    shown = (shown_lines(first, last, total) for *_rest, first, last in calls)
    spans = joined([lines for lines in shown if lines])
    url = reverse("version", args=[store.pk, version.pk])
    anchor = f"#L{spans[0][0]}-L{spans[0][1]}" if spans else ""
    own = any(seq == version.seq for seq, *_rest in calls)
    searched = any(first is None and seq != version.seq for seq, _at, first, _last in calls)
    (seq, last, *_), (_, first, *_) = calls[0], calls[-1]
    return Piece(store, version, url + anchor, own, searched, spans, first, last, seq, len(calls), total)


def joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of lines in order, with adjacent or overlapping ones merged."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found

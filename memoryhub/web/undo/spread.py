"""How far the versions that an undo removes have spread: their readers, and what each reader wrote afterwards."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Row, Texts
from memoryhub.actions.memories import viewing
from memoryhub.models import AuditEntry, Finding, FindingState, Memory, MemoryStore, MemoryVersion, ReviewState, User
from memoryhub.models.audit import ActorKind
from memoryhub.pure.sensitive import KINDS, Group as FindingGroup
from memoryhub.pure.text import blame as lines_of
from memoryhub.pure.text.carried import carried
from memoryhub.pure.text.changed_lines import Work
from memoryhub.pure.text.line_sets import LineSet
from memoryhub.web.common.versions import removed_history
from memoryhub.web.sessions.copied import was_copied
from memoryhub.web.sessions.readers.groups import Group, Write, by_reader, groups
from memoryhub.web.sessions.readers.query import Entry, Seen, Wanted, older_page

MOST_MEMORIES = 12
MOST_VERSIONS = 50
MOST_READS = 1_000
MOST_READERS = 12
MOST_DRAWN = 6
MOST_WRITES = 50
"""The most writes of all readers together. MOST_OF_ONE is the limit for one reader."""

MOST_OF_ONE = 12
_THEN = "then-"
POISON = [name for name, kind in KINDS.items() if kind.group == FindingGroup.POISON]


@dataclass(frozen=True, slots=True)
class Ticks:
    """The seqs of ticked entries: those to undo too (`too`), and those whose memories are to be flagged (`flag`)."""

    too: frozenset[int] = frozenset()
    flag: frozenset[int] = frozenset()
    is_chosen: bool = field(default=True, compare=False)
    """Whether the person has seen the ticks. If not, the writes by readers of poisoned lines are ticked to be
    flagged."""

    @classmethod
    def of(cls, given: QueryDict, *, is_chosen: bool) -> "Ticks":
        """Return the ticks in a form or a link.

        A form has a field `then-N` for the entry with the seq N, whose value is `too` or `flag`. A link has two lists
        of seqs, `too` and `flag`.
        """
        chosen = [(name.removeprefix(_THEN), given[name]) for name in given if name.startswith(_THEN)]
        too, flag = ([seq for seq, then in chosen if then == wanted] for wanted in ("too", "flag"))
        return cls(_seqs([*given.getlist("too"), *too]), _seqs([*given.getlist("flag"), *flag]), is_chosen)

    @property
    def entry_input(self) -> dict[str, object]:
        """Return the part of the undo's input that names the further entries to undo: {"too": seqs}, or {}."""
        return {"too": sorted(self.too)} if self.too else {}

    @property
    def shown(self) -> str:
        """Return the seqs of the entries that are undone too, as the value of a form field."""
        return " ".join(str(seq) for seq in sorted(self.too))


@dataclass(frozen=True, slots=True)
class Source:
    """A memory with lines that the undo removes. `path` is its current path."""

    memory: str
    path: str


@dataclass(frozen=True, slots=True)
class Read:
    """The first answer that showed removed lines of one memory to a reader: the lines `first` to `last`."""

    source: Source
    seen: Seen
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Written:
    """A reader's call that wrote something after the read."""

    write: Write
    is_elsewhere: bool  # the undo is in another store
    is_reverted: bool  # a person reverted the version
    is_flagged: bool
    too: bool  # ticked to be undone
    flag: bool  # the memory is ticked to be flagged

    @property
    def path(self) -> str:
        return self.write.new_path or self.write.path or "/"

    @property
    def may_tick(self) -> bool:
        return not (self.is_elsewhere or self.is_reverted)


@dataclass(frozen=True, slots=True)
class Reader:
    """A session, or an agent without one, that read removed lines: its first reads, and its later writes."""

    group: Group
    reads: Sequence[Read]
    written: Sequence[Written]
    more: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """The readers of the versions that an undo removes, the first reader first."""

    sources: Sequence[Source]
    readers: Sequence[Reader]
    rest: int  # readers that are not listed
    more: bool  # not everything was examined
    ticks: Ticks  # the ticks of the listed writes

    @property
    def count(self) -> int:
        return len(self.readers) + self.rest

    @property
    def first(self) -> Sequence[Reader]:
        """Return the readers that the page lists at once: the first MOST_DRAWN. The others are in `further`."""
        return self.readers[:MOST_DRAWN]

    @property
    def further(self) -> Sequence[Reader]:
        return self.readers[MOST_DRAWN:]

    @property
    def opens_further(self) -> bool:
        return any(written.too or written.flag for reader in self.further for written in reader.written)

    @property
    def writes(self) -> int:
        return sum(len(reader.written) for reader in self.readers)

    @property
    def more_written(self) -> bool:
        """Return whether there may be writes that are not listed."""
        return self.more or bool(self.rest) or any(reader.more for reader in self.readers)


@dataclass(frozen=True, slots=True)
class Carried:
    """The lines that an undo removes."""

    # {version: (its row, its memory, the numbers of these lines in it)}
    rows: Mapping[str, tuple[Row, Source, LineSet]]
    whole: bool  # no other version can have such lines
    poisoned: Collection[str] = ()  # the memories with signs of poisoning in these lines

    def lines(self, seen: Seen) -> LineSet:
        """Return the numbers of the removed lines that an answer showed."""
        return seen.shown(self.rows[seen.version.id][2])

    def is_poisoned(self, seen: Iterable[Seen]) -> bool:
        """Return whether one of these answers showed lines of a memory in `poisoned`."""
        return any(self.rows[one.version.id][1].memory in self.poisoned for one in seen)


def spread_of(
    store: MemoryStore, versions: Collection[str], user: User, ticks: Ticks, known: Carried | None = None
) -> Spread:
    """Return who has read the lines that `versions` added, and what they wrote afterwards.

    With `known`, only the lines in it are followed.
    """
    undone = _undone(store.pk, versions)
    known = known or _carried(store.pk, undone.numbers, versions)
    wanted = Wanted(store.pk, {id: (row, lines) for id, (row, _, lines) in known.rows.items()})
    page = older_page(
        wanted, None, MOST_READS, leaves_out=lambda entry: entry.command == viewing.COMMAND or undone.wrote(entry)
    )
    by_who = by_reader(page.seen)
    first = sorted(by_who, key=lambda who: by_who[who][-1].entry.seq)[:MOST_READERS]
    found = groups({who: by_who[who] for who in first}, store, user, MOST_OF_ONE)
    steered = {who for who in first if known.is_poisoned(by_who[who])} if not ticks.is_chosen else ()
    to_flag = {write.seq for who, group in zip(first, found, strict=True) if who in steered for write in group.written}
    written = _written(store, found, ticks, to_flag)
    readers = [_reader(group, known, written) for group in found]
    sources = {read.source.memory: read.source for reader in readers for read in reader.reads}
    listed = [each for reader in readers for each in reader.written if each.may_tick]
    more = page.older is not None or page.unsearched is not None
    more = more or not known.whole or len(undone.numbers) > MOST_MEMORIES
    carrying = [row for row, _, _ in known.rows.values()]
    more = more or was_copied(store.pk, carrying)
    oldest = removed_history.first_seq(store.pk)
    more = more or any(row.seq < oldest for row in carrying)
    shown = Ticks(
        frozenset(each.write.seq for each in listed if each.too),
        frozenset(each.write.seq for each in listed if each.flag),
    )
    return Spread(list(sources.values()), readers, len(by_who) - len(readers), more, shown)


@dataclass(frozen=True, slots=True)
class _Undone:
    """The undone versions: their numbers by memory, the seqs of the entries that made them, and the sessions that wrote
    them."""

    numbers: Mapping[str, set[int]]
    entries: frozenset[int]
    sessions: frozenset[str | None]

    def wrote(self, entry: Entry) -> bool:
        """Return whether an entry must not count as a read.

        It must not count if it made an undone version, if it repeats a call that made one, if its session wrote one, or
        if it is not a call with a key.
        """
        is_own = entry.seq in self.entries or entry.replay_of in self.entries
        return is_own or entry.kind != ActorKind.KEY or entry.session in self.sessions


def _undone(store_id: str, versions: Collection[str]) -> _Undone:
    """Return the undone versions. The memories in `numbers` are sorted by their first undone version, oldest first."""
    rows: list[tuple[int, str, int]] = []
    writers: set[str | None] = set()
    for part in in_parts(sorted(versions)):
        rows += MemoryVersion.objects.among(store_id, part).values_list("seq", "memory_id", "number")
    for seqs in in_parts(sorted({seq for seq, _, _ in rows})):
        entries = AuditEntry.objects.of_chain(store_id).of_seqs(seqs)
        writers.update(entries.exclude(session=None).values_list("session", flat=True))
    numbers: dict[str, set[int]] = {}
    for _, memory, number in sorted(rows):
        numbers.setdefault(memory, set()).add(number)
    return _Undone(numbers, frozenset(seq for seq, _, _ in rows), frozenset(writers))


def _carried(store_id: str, numbers: Mapping[str, set[int]], undone: Collection[str]) -> Carried:
    """Return the lines that the undone versions added, and where these lines are in later versions."""
    few = list(numbers)[:MOST_MEMORIES]
    memories, work, whole = Memory.objects.among(store_id, few).in_bulk(), Work(), True
    rows: dict[str, tuple[Row, Source, LineSet]] = {}
    for memory in (memories[pk] for pk in few if pk in memories):
        ahead = blame.onward(memory, max(1, min(numbers[memory.pk]) - 1), most=MOST_VERSIONS)
        versions = ahead.versions()
        texts = Texts(store_id, list(lines_of.first_places(versions)))
        lines = carried(versions, numbers[memory.pk], texts, work)
        source = Source(memory.pk, memory.path)
        rows |= {row.id: (row, source, lines[row.number]) for row in ahead.rows if row.number in lines}
        redacted = any(row.text is None and not row.is_deletion for row in ahead.rows)
        numbered = [row.number for row in ahead.rows if row.number >= min(numbers[memory.pk])]
        whole = whole and ahead.whole and not redacted and _is_without_gaps(numbered)
    return Carried(rows, whole and not work.passed, _poisoned(store_id, few, undone))


def _is_without_gaps(numbers: Sequence[int]) -> bool:
    """Return whether no version between these numbers was removed."""
    return not numbers or len(numbers) == max(numbers) - min(numbers) + 1


def _poisoned(store_id: str, memories: Collection[str], versions: Collection[str]) -> Collection[str]:
    """Return the memories in which one of these versions added a line with a sign of poisoning."""
    of_memories = Finding.objects.of_store(store_id).filter(memory_id__in=memories, in_path=False)
    found = of_memories.filter(kind__in=POISON).exclude(state=FindingState.DISMISSED)
    return {memory for memory, version in found.values_list("memory_id", "version_id") if version in versions}


def _written(
    store: MemoryStore, found: Iterable[Group], ticks: Ticks, to_flag: Collection[int]
) -> dict[tuple[str, int], Written]:
    """Return {(store, seq): the write} for the first MOST_WRITES writes; those in `to_flag` are ticked for a flag."""
    writes = [write for group in found for write in group.written][:MOST_WRITES]
    here = [write for write in writes if write.store == store]
    among = MemoryVersion.objects.among(store.pk, {write.version for write in here if write.version})
    reverted = set(among.filter(review_state=ReviewState.REVERTED).values_list("pk", flat=True))
    memories = Memory.objects.among(store.pk, {write.memory for write in here if write.memory})
    flagged = set(memories.filter(flagged=True).values_list("pk", flat=True))
    safe = (write.seq for write in here if write.memory not in flagged and write.version not in reverted)
    flag = ticks.flag.union(seq for seq in safe if seq in to_flag) - ticks.too
    return {
        (write.store.pk, write.seq): Written(
            write, write.store != store, write.version in reverted, write.memory in flagged,
            write.store == store and write.seq in ticks.too, write.store == store and write.seq in flag,
        )
        for write in writes
    }  # fmt: skip


def _reader(group: Group, known: Carried, written: Mapping[tuple[str, int], Written]) -> Reader:
    """Return a reader with its first read of each memory, and with those of its writes that are in `written`."""
    reads: dict[str, Read] = {}
    for seen in reversed(group.seen):
        lines, source = known.lines(seen), known.rows[seen.version.id][1]
        reads.setdefault(source.memory, Read(source, seen, lines.first, lines.last))
    own = [written[key] for write in group.written if (key := (write.store.pk, write.seq)) in written]
    return Reader(group, list(reads.values()), own, group.more or len(own) < len(group.written))


def _seqs(values: Iterable[str]) -> frozenset[int]:
    return frozenset(int(value) for value in values if value.isascii() and value.isdigit() and len(value) < 19)

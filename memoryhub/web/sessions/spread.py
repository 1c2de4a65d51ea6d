"""How the text of a finding has spread: which sessions have read it, and what they wrote afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import History, Texts
from memoryhub.models import AuditEntry, Finding, Memory, MemoryStore, MemoryVersion, Proposal, User
from memoryhub.models.audit import ActorKind
from memoryhub.pure.text import blame as lines_of
from memoryhub.pure.text.line_sets import LineSet
from memoryhub.web.sessions.copied import was_copied
from memoryhub.web.sessions.readers.groups import Write, by_reader, groups
from memoryhub.web.sessions.readers.query import Entry, Wanted, older_page

MOST_VERSIONS = 50
MOST_READS = 50
MOST_SESSIONS = 3
"""The most sessions whose writes are loaded: those that read the text last. There is a limit because the home page
needs the spread of each finding."""
NAMED = 2


@dataclass(frozen=True, slots=True)
class Spread:
    """Who has read a text, and what they wrote afterwards."""

    sessions: int  # the sessions that have read the text, without the one that wrote it
    agents: int  # the agents that have read the text without a session
    written: Sequence[Write]  # by these sessions, one write for each path, oldest first
    more: bool  # there may be further readers
    more_written: bool  # there may be further writes
    proposed: Sequence[Proposal] = ()  # proposals to which these sessions added
    writers: int = 0  # the sessions that wrote
    proposers: int = 0  # the sessions that proposed
    more_did: bool = False  # further sessions may have written or proposed

    @property
    def all_did(self) -> bool:
        """Return whether all sessions did the same: each wrote, each proposed, or each did both."""
        return {self.writers, self.proposers} - {0} == {self.sessions}

    @property
    def named(self) -> Sequence[Write]:
        return self.written[:NAMED]

    @property
    def rest(self) -> int:
        return len(self.written) - len(self.named)

    @property
    def plus(self) -> str:
        """Return what follows the number of other writes: `+` if there may be more of them, else ""."""
        return "+" if self.more_written else ""

    @property
    def named_proposals(self) -> Sequence[Proposal]:
        return self.proposed[:NAMED]

    @property
    def other_proposals(self) -> int:
        return len(self.proposed) - len(self.named_proposals)


@dataclass(frozen=True, slots=True)
class Carriers:
    """A version and the later ones, and the lines in them that contain a value."""

    ahead: History
    # {version number: lines with the value (None: unknown, because of a redaction)}
    lines: Mapping[int, LineSet | None]

    def wanted(self, store: MemoryStore) -> Wanted:
        return Wanted.of(store.pk, self.ahead.rows, self.lines)


def carriers(finding: Finding, memory: Memory, version: MemoryVersion | None) -> Carriers | None:
    """Return which versions contain the value of a finding, from the finding's own `version` on.

    Return None if the finding is in a path, or if its version, its text or its value no longer exists.
    """
    if version is None or not version.text_id or finding.in_path or finding.fingerprint is None:
        return None
    ahead = blame.onward(memory, version.number, most=MOST_VERSIONS)
    versions = ahead.versions()
    texts = Texts(memory.store_id, list(lines_of.first_places(versions)))
    value = texts(version.text_id)[finding.start : finding.end]
    if not value:
        return None
    by_text: dict[str, LineSet] = {}
    lines: dict[int, LineSet | None] = {}
    for number, text in ((one.number, one.text) for one in versions):
        if text is None:
            lines[number] = None
            continue
        if text not in by_text:
            by_text[text] = LineSet.of(lines_with(texts(text), value))
        if by_text[text]:
            lines[number] = by_text[text]
    return Carriers(ahead, lines)


def lines_with(text: str, value: str) -> list[int]:
    """Return the numbers (from 1) of the lines that contain a value. If the value spans several lines, all of them
    count."""
    found: list[int] = []
    line, counted, at = 1, 0, text.find(value)
    while at >= 0:
        line, counted = line + text.count("\n", counted, at), at
        found += range(max(line, found[-1] + 1 if found else 1), line + value.count("\n") + 1)
        at = text.find(value, at + len(value))
    return found


def spread(of_value: Carriers, store: MemoryStore, writer: AuditEntry | None, user: User) -> Spread:
    """Return who has read a value since it was written. `writer` is the entry that wrote it (None if it was
    removed)."""
    has_session = writer is not None and writer.session is not None
    page = older_page(
        of_value.wanted(store), None, MOST_READS, leaves_out=lambda entry: has_session and _is_writers(entry, writer)
    )
    reads = [seen for seen in page.seen if seen.entry.kind == ActorKind.KEY]
    others = [seen for seen in reads if not _is_writers(seen.entry, writer)]
    readers = by_reader(others)
    sessions = [who for who in readers if who.session]
    examined = sessions[:MOST_SESSIONS]
    found = groups({who: readers[who] for who in examined}, store, user)
    by_path: dict[str, Write] = {}
    for group in found:
        for write in group.written:
            by_path.setdefault(write.new_path or write.path or "", write)
    more = (
        page.older is not None
        or page.unsearched is not None
        or not of_value.ahead.whole
        or None in of_value.lines.values()
        or writer is None  # later entries may have been removed too
        or (writer.session is None and len(others) < len(reads))  # sessions without a name cannot be distinguished
        or was_copied(store.pk, [row for row in of_value.ahead.rows if row.number in of_value.lines])
    )
    return Spread(
        sessions=len(sessions),
        agents=len(readers) - len(sessions),
        written=sorted(by_path.values(), key=lambda write: write.at),
        more=more,
        more_written=len(examined) < len(sessions) or any(group.more for group in found),
        proposed=list(dict.fromkeys(proposal for group in found for proposal in group.proposed)),
        writers=sum(bool(group.written) for group in found),
        proposers=sum(bool(group.proposed) for group in found),
        more_did=more or len(examined) < len(sessions) or any(group.more and not group.written for group in found),
    )


def _is_writers(entry: Entry, writer: AuditEntry | None) -> bool:
    """Return whether an entry belongs to the session that wrote the entry `writer`. If neither entry has a session,
    return whether both have the same agent."""
    if writer is None or entry.session != writer.session:
        return False
    return entry.session is not None or entry.author == writer.author_id

"""The texts that an agent had read in its session just before it wrote or proposed something."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memoryhub.actions.history.blame import line_counts
from memoryhub.models import AuditEntry, MemoryVersion
from memoryhub.web.sessions.calls import shown_lines

LOOKED_AT = 12
MOST_READS = 4
"""The most reads that are shown, from the session's last LOOKED_AT entries before the write."""


@dataclass(frozen=True, slots=True)
class Read:
    """A read by the agent: the version, and the range of lines in the answer (None for an empty text)."""

    version: MemoryVersion
    lines: tuple[int, int] | None


@dataclass(slots=True)
class Reads:
    """Finds what a session had read in one store before one of its entries. Each version is loaded only once."""

    store: str
    versions: dict[str, MemoryVersion] = field(default_factory=dict)

    def before(self, entry: AuditEntry | None) -> tuple[Read, ...]:
        """Return the versions that an entry's session had read before the entry: each once, the most recent read first.

        Only the last LOOKED_AT calls are examined, and at most MOST_READS versions are returned.
        """
        return () if entry is None else self.before_call(entry.session, entry.seq)

    def before_call(self, session: str | None, seq: int) -> tuple[Read, ...]:
        """Return the reads of the session `session` before the entry `seq`, as `before` does for an entry."""
        if session is None:
            return ()
        of_session = AuditEntry.objects.of_chain(self.store).of_session(session).filter(seq__lt=seq)
        columns = ("chain", "seq", "at", "command", "ok", "memory", "version", "first_line", "last_line", "cut")
        latest = of_session.newest().only(*columns)[:LOOKED_AT]
        reads: dict[str, AuditEntry] = {}
        for other in latest:
            if other.command == "view" and other.ok and other.memory and other.version:
                reads.setdefault(other.version, other)
        self._fetch(reads)
        known = [(reads[pk], self.versions[pk]) for pk in reads if pk in self.versions][:MOST_READS]
        totals = line_counts([self.store], [version.pk for _, version in known])
        return tuple(
            Read(version, shown_lines(other.first_line, other.last_line, totals.get(version.pk)))
            for other, version in known
        )

    def _fetch(self, ids: Mapping[str, AuditEntry]) -> None:
        missing = [pk for pk in ids if pk not in self.versions]
        if missing:
            found = MemoryVersion.objects.among(self.store, missing)
            self.versions |= found.only("store_id", "memory_id", "number", "path").in_bulk()

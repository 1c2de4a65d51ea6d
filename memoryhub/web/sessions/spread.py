"""How a line has spread since it was written: which other sessions have read it, and what they wrote afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Texts
from memoryhub.models import AuditEntry, Memory, MemoryStore, User
from memoryhub.models.audit import ActorKind
from memoryhub.text import blame as lines_of
from memoryhub.web.sessions.readers_groups import Group, Write, groups
from memoryhub.web.sessions.readers_query import Wanted, older_page

MOST_VERSIONS = 50
MOST_READS = 50
NAMED = 2


@dataclass(frozen=True, slots=True)
class Spread:
    """The other sessions that have read a line, without the one that wrote it.

    `written` has one write for each path, oldest first. `more` means that not everything was examined, so there may be
    other sessions and writes.
    """

    sessions: int
    written: Sequence[Write]
    more: bool

    @property
    def named(self) -> Sequence[Write]:
        return self.written[:NAMED]

    @property
    def rest(self) -> int:
        return len(self.written) - len(self.named)


def spread(store: MemoryStore, memory: Memory, number: int, line: int, writer: AuditEntry | None, user: User) -> Spread:
    """Return who has read a line since it was written, wherever it was in later versions.

    `line` is its number in version `number`, and `writer` the entry that wrote it.
    """
    ahead = blame.onward(memory, number, most=MOST_VERSIONS)
    versions = ahead.versions()
    texts = Texts(memory.store_id, list(lines_of.first_places(versions)))
    lines = lines_of.follow(versions, line, texts, lines_of.Work())
    page = older_page(Wanted.of(store.pk, list(ahead.rows), dict(lines)), None, size=MOST_READS)
    readers = [group for group in groups(page.seen, store, user) if _is_other(group, writer)]
    by_path: dict[str, Write] = {}
    for group in readers:
        for write in group.written:
            by_path.setdefault(write.new_path or write.path or "", write)
    more = page.older is not None or not ahead.whole or any(group.more for group in readers)
    return Spread(len(readers), sorted(by_path.values(), key=lambda write: write.at), more)


def _is_other(group: Group, writer: AuditEntry | None) -> bool:
    """Return whether the group is a session of an agent, and not the session that wrote the line."""
    is_agents = group.session is not None and group.last.kind == ActorKind.KEY
    return is_agents and (writer is None or group.last.session != writer.session)

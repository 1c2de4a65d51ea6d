"""Finds, for a replay, which conditions of path rules were met by past changes of agents."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from django.db.models import F, OuterRef, Subquery

from memoryhub.actions.core.rules import path_rules
from memoryhub.actions.core.rules.path_rules import MOST_AT_ONCE
from memoryhub.actions.core.rules.protected_lines import ProtectedLines
from memoryhub.models import Memory, MemoryVersion, Operation
from memoryhub.pure.path_rules import NONE_MET, Condition, Lines, Met, Verb
from memoryhub.pure.text.line_removal import removes_lines

MOST_COMPARED = 2_000
"""The most versions whose texts are compared with the texts before them: the newest ones."""
MOST_CHARACTERS = 20_000_000
"""The most characters of texts that are compared."""


class Entry(NamedTuple):
    """The columns of an audit entry that a replay needs."""

    seq: int
    author_id: str
    actor_id: str
    command: str
    path: str | None
    new_path: str | None
    ok: bool
    message_start: str | None
    session: str | None
    at: datetime


class Made(NamedTuple):
    """A version that a call made, with the id of its memory."""

    operation: str
    path: str
    id: str
    memory: str


class Past:
    """Knows which conditions past changes meet.

    If there are too many texts to compare, those of versions with a seq up to `cut_at` are not compared; otherwise,
    `cut_at` is 0. Authors, approvals, findings and the age of an agent are taken as they are now. A refused change,
    except an `insert`, counts as one that removed lines and changed protected lines.
    """

    def __init__(
        self, store_id: str, conditions: Met, entries: Sequence[Entry], versions: Mapping[int, Sequence[Made]]
    ) -> None:
        self._store, self._conditions, self.cut_at = store_id, conditions, 0
        self._lines: dict[Lines, tuple[str, set[str]]] = {}
        self._agents: dict[str, Met] = {}
        self._at: dict[str, str] = {}
        self._removing: set[str] = set()
        if not conditions:
            return
        self._at = self._live(entry.path for entry in entries if not entry.ok and entry.path)
        made = {one.memory for one in chain.from_iterable(versions.values())}
        self._memories = path_rules.of_memories(store_id, sorted(made | set(self._at.values())), conditions)
        if Condition.REMOVES_LINES in conditions:
            self._removing = self._that_remove(versions)
        protected = ProtectedLines(store_id)
        self._lines = {lines: protected.past_of(lines) for lines in conditions if isinstance(lines, Lines)}

    def met(self, entry: Entry, verb: Verb, path: str, version: Made | None) -> Met:
        """Return the conditions that a change meets. `version` is the version that the change made, or None if the
        change was refused."""
        if not self._conditions:
            return NONE_MET
        if entry.author_id not in self._agents:
            self._agents[entry.author_id] = path_rules.of_agent(self._store, entry.author_id, self._conditions)
        memory = version.memory if version else self._at.get(path)
        is_new = verb is Verb.CREATE and entry.command == "create"
        met: set[Condition | Lines] = set()
        met |= {condition for condition, ids in self._memories.items() if memory in ids and not is_new}
        if verb is Verb.DELETE or (verb is Verb.EDIT and self._has_removed(entry, version)):
            met.add(Condition.REMOVES_LINES)
        met |= {lines for lines in self._lines if self._has_changed(lines, entry, verb, memory, version)}
        return self._agents[entry.author_id] | met

    def _has_removed(self, entry: Entry, version: Made | None) -> bool:
        return version.id in self._removing if version else entry.command != "insert"

    def _has_changed(self, lines: Lines, entry: Entry, verb: Verb, memory: str | None, version: Made | None) -> bool:
        whose, changing = self._lines[lines]
        if verb is Verb.EDIT and version is not None:
            return version.id in changing
        return memory == whose and verb is not Verb.CREATE and entry.command != "insert"

    def _live(self, paths: Iterable[str]) -> dict[str, str]:
        wanted = sorted(set(paths))
        live = Memory.objects.live().filter(store_id=self._store)
        parts = (wanted[at : at + MOST_AT_ONCE] for at in range(0, len(wanted), MOST_AT_ONCE))
        return {path: pk for part in parts for path, pk in live.filter(path__in=part).values_list("path", "pk")}

    def _that_remove(self, versions: Mapping[int, Sequence[Made]]) -> set[str]:
        """Return the ids of the versions that removed, or may have removed, lines of the previous version."""
        found: set[str] = set()
        edited = (
            (seq, one.id) for seq, made in versions.items() for one in made if one.operation == Operation.MODIFIED
        )
        newest = sorted(edited, reverse=True)
        self.cut_at = newest[MOST_COMPARED][0] if len(newest) > MOST_COMPARED else 0
        left, compared = MOST_CHARACTERS, newest[:MOST_COMPARED]
        for at in range(0, len(compared), MOST_AT_ONCE):
            part = compared[at : at + MOST_AT_ONCE]
            for seq, version, size, before, text in self._texts([pk for _seq, pk in part]):
                left -= 2 * (size or 0)
                if left < 0:
                    self.cut_at = seq
                    return found
                if before is None or text is None or removes_lines(before, text):
                    found.add(version)
        return found

    def _texts(self, ids: Sequence[str]) -> Iterable[tuple[int, str, int | None, str | None, str | None]]:
        before = MemoryVersion.objects.filter(
            store_id=self._store, memory=OuterRef("memory"), number=OuterRef("number") - 1
        )
        versions = MemoryVersion.objects.among(self._store, ids).order_by("-seq", "-id")
        versions = versions.annotate(before=Subquery(before.values("text__content")[:1]))
        rows = versions.annotate(own=F("text__content")).values_list("seq", "id", "size", "before", "own")
        return rows.iterator(chunk_size=20)

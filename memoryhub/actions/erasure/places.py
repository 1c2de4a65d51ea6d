"""The places of a store that may contain a text to erase, and how values in them are masked."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, count, takewhile
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from django.db import models
from django.db.models import Q
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from memoryhub.actions.core.audit import own_texts, to_json
from memoryhub.actions.retention import policies
from memoryhub.actions.transfer import importing
from memoryhub.models import (
    AuditEntry,
    ClaudeEvent,
    ClaudePreset,
    ClaudeRun,
    Comment,
    Finding,
    Hold,
    IdempotentCall,
    Import,
    ImportItem,
    Memory,
    MemoryStore,
    MemoryText,
    MemoryVersion,
    Proposal,
    ProposedChange,
    RetentionPolicy,
    Review,
    SavedView,
    Session,
)
from memoryhub.models.fields import PlainJSONField
from memoryhub.pure.path_rules import of_json
from memoryhub.pure.text import keeping

REDACTED = "[redacted]"


class Named(NamedTuple):
    """The parts of paths that path rules, policies, holds and pins name. A masked path keeps these parts.

    In the pattern `/users/*/notes/*.md`, these are the directory `/users`, the name `notes/` and the ending `.md`. A
    name that ends with a slash is the name of a directory.
    """

    directories: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()


class Terms:
    """The exact texts to erase, longest first, because one may be a part of another."""

    def __init__(
        self, texts: Iterable[str], named: Named | None = None, stand_ins: Mapping[str, str] | None = None
    ) -> None:
        """Take the texts, the parts of paths to keep (`named`), and the replacement of each text in paths
        (`stand_ins`).

        A part that contains one of the texts is not kept.
        """
        self.texts = sorted(set(texts), key=lambda text: (-len(text), text))
        self.escaped = [to_json(text)[1:-1] for text in self.texts]
        named, self.stand_ins = named or Named(), stand_ins or {}
        self.directories = frozenset(one for one in named.directories if not self.stand_in(f"{one}/"))
        self.names = frozenset(one for one in named.names if not self.stand_in(f"/{one}"))
        self.endings = sorted(named.endings, key=len, reverse=True)

    def stand_in(self, text: str) -> bool:
        return any(term in text for term in self.texts)

    def masked(self, text: str) -> str:
        """Return a text with `[redacted]` in place of each term. Line ends stay, so that line numbers do not change."""
        for term in self.texts:
            text = text.replace(term, REDACTED + "\n" * term.count("\n"))
        return text

    def masked_path(self, path: str) -> str:
        """Return a path or pattern with each name masked separately. The depth stays the same.

        The parts to keep (see `Named`) are not masked, unless the result would still contain one of the texts.
        """
        masked = path
        for term in sorted(self.texts, key=lambda text: "/" in text):  # so that a name is masked alike everywhere
            mark = self.stand_ins.get(term, REDACTED)
            masked = masked.replace(term, "/".join(mark if name else "" for name in term.split("/")))
        names, new = path.split("/"), masked.split("/")
        above = list(accumulate(names, lambda directory, name: f"{directory}/{name}"))
        for at in reversed(range(len(names) if masked != path else 0)):
            is_named = above[at] in self.directories or names[at] + "/" * (at < len(names) - 1) in self.names
            kept = [*new[:at], names[at] if is_named else self._with_ending(names[at], new[at]), *new[at + 1 :]]
            new = new if self.stand_in("/".join(kept)) else kept
        return "/".join(new)

    def _with_ending(self, name: str, masked: str) -> str:
        """Return a masked name with the ending of the original name, if a pattern names this ending."""
        ending = next((one for one in self.endings if name.endswith(one)), "")
        return masked if masked.endswith(ending) else masked + ending

    def masked_json(self, text: str) -> str:
        """Return an ASCII-escaped JSON text with the terms masked in every string."""
        value = json.loads(text)
        kept, size = keeping.parts(value)
        masked = self.masked_values(kept)
        return to_json(masked if size is None else keeping.of_parts(masked, size))

    def masked_values(self, value: Any) -> Any:
        """Return a JSON value with the terms masked in every string. Paths and patterns are masked as by
        `masked_path`."""
        if isinstance(value, str):
            return self.masked_path(value) if value.startswith("/") and "\n" not in value else self.masked(value)
        if isinstance(value, list):
            return [self.masked_values(item) for item in value]
        if isinstance(value, dict):
            return {self.masked(key): self.masked_values(item) for key, item in value.items()}
        return value


@dataclass(frozen=True, slots=True)
class Place:
    """Some columns of a table. `rows` returns the rows of a store.

    `escaped` says that the columns contain ASCII-escaped JSON. For a table that grows, `since` returns only the rows
    that entries after a seq wrote.
    """

    kind: str
    rows: Callable[[str], models.QuerySet[Any]]
    columns: tuple[str, ...]
    escaped: bool = False
    since: Callable[[models.QuerySet[Any], str, int], models.QuerySet[Any]] | None = None

    def having(self, store_id: str, terms: Terms, after: int = 0) -> Iterator[tuple[Any, str]]:
        """Yield (row, column) for each value that contains one of the `terms`.

        If `after` is a seq (not 0) and the place has `since`, only rows that entries after this seq wrote are searched.
        """
        texts = terms.escaped if self.escaped else terms.texts
        rows = self.rows(store_id)
        if after and self.since is not None:
            rows = self.since(rows, store_id, after)
        for column in self.columns:
            for row in _where(rows, column, texts):
                yield row, column


def _where(rows: models.QuerySet[Any], column: str, texts: Sequence[str]) -> Iterator[Any]:
    stands = Q()
    is_input = rows.model is AuditEntry and column == "input"
    for text in texts:
        stands |= own_texts.has_in_input(text) if is_input else Q(_position(column, text))
    return rows.filter(stands).iterator(200)


def _of_newer(column: str) -> Callable[[models.QuerySet[Any], str, int], models.QuerySet[Any]]:
    """Return a function for `Place.since`. It returns the rows whose id is in `column` of a newer version.

    A version is newer if its seq is above the seq that the function gets.
    """
    return lambda rows, store_id, after: rows.filter(
        pk__in=MemoryVersion.objects.filter(store_id=store_id, seq__gt=after).values(column)
    )


def _after(rows: models.QuerySet[Any], store_id: str, after: int) -> models.QuerySet[Any]:
    return rows.filter(seq__gt=after)


def _position(column: str, text: str) -> Any:
    """Return the condition that a column contains exactly this text, without wildcards."""
    field: models.Field[Any, Any] = models.TextField()
    where = StrIndex(models.F(column), models.Value(text, output_field=field))
    return GreaterThan(where, 0)


def _escaped(model: type[models.Model], column: str) -> bool:
    return isinstance(model._meta.get_field(column), PlainJSONField)


def named(store_id: str) -> Named:
    """Return the directories, names and endings that the path rules, policies, holds and pins of a store contain."""
    patterns = [pattern.split("/") for pattern in _patterns(store_id)]
    before = [list(takewhile(lambda name: "*" not in name, names)) for names in patterns]
    whole = (accumulate(names, lambda directory, name: f"{directory}/{name}") for names in before)
    rest = (names[len(first) :] for names, first in zip(patterns, before, strict=True))
    behind = (name + "/" * (at < len(names) - 1) for names in rest for at, name in enumerate(names))
    last = (names[-1].partition("*")[2].rpartition("*")[2] for names in patterns)
    return Named(
        frozenset(chain.from_iterable(whole)),
        frozenset(name for name in behind if name and "*" not in name),
        frozenset(ending for ending in last if ending.startswith(".")),
    )


def _patterns(store_id: str) -> Iterator[str]:
    """Yield the patterns of path rules and policies, and the paths of holds and pins as patterns."""
    for store in MemoryStore.objects.filter(pk=store_id):
        yield from (rule.pattern for rule in of_json(store.path_rules).rules)
    yield from (policy.pattern for policy in policies.concerning(store_id))
    for place in Hold.objects.of_store(store_id).exclude(path=None).values_list("path", flat=True):
        yield from (str(place), f"{place}/")


def stand_ins(store_id: str, texts: Sequence[str]) -> dict[str, str]:
    """Return {text: its replacement in paths}. The replacements are `[redacted]`, `[redacted-2]` and so on.

    No two texts have the same replacement. Replacements that paths of the store already contain are left out,
    and so are those that contain one of the texts.
    """
    there = set(_patterns(store_id))
    changes = ProposedChange.objects.all()
    for rows, column in ((Memory.objects.all(), "path"), (changes, "path"), (changes, "new_path")):
        found = _where(rows.only(column).filter(store_id=store_id), column, [*texts, REDACTED[:-1]])
        there.update(getattr(row, column) for row in found)
    taken = set(_STAND_IN.findall("\n".join(there)))
    marks = (f"[redacted{f'-{number}' if number > 1 else ''}]" for number in count(1))
    free = (mark for mark in marks if mark not in taken and not any(text in mark for text in texts))
    first = sorted(texts, key=lambda text: not any(text in path for path in there))
    # So no two paths become equal, and no path comes under a rule, policy or hold that names another path.
    return dict(zip(first, free, strict=False))


_STAND_IN = re.compile(r"\[redacted(?:-\d+)?\]")


ENTRY_TEXTS = ("path", "new_path", "label", "note", "token")
ENTRY_JSON = ("input", "message")

TEXTS = Place("text", lambda store: MemoryText.objects.filter(store_id=store), ("content",), since=_of_newer("text_id"))
PATHS = Place("path", lambda store: MemoryVersion.objects.filter(store_id=store), ("path",), since=_after)
MEMORIES = Place("path", lambda store: Memory.objects.filter(store_id=store), ("path",), since=_of_newer("memory_id"))
ENTRIES = Place("entry", AuditEntry.objects.of_chain, ENTRY_TEXTS, since=_after)
ENTRIES_JSON = Place("entry", AuditEntry.objects.of_chain, ENTRY_JSON, escaped=True, since=_after)
GROWING = (TEXTS, PATHS, MEMORIES, ENTRIES, ENTRIES_JSON)
COPY = "claude_copy"
"""The kind of hits in the throw-away copies of a store. An erasure deletes all these copies."""


def _copies(store_id: str) -> list[str]:
    return list(MemoryStore.present.filter(copy_of=store_id).values_list("pk", flat=True))


PLAIN = (
    Place("note", lambda store: Review.objects.filter(store_id=store), ("note",)),
    Place("note", lambda store: Hold.objects.filter(store_id=store), ("reason", "case_number", "path")),
    Place("comment", Comment.objects.of_store, ("text", "author_name")),
    Place("claude_run", ClaudeRun.objects.of_store, ("task", "system")),
    Place("claude_preset", ClaudePreset.objects.of_store, ("name",)),
    Place("finding", lambda store: Finding.objects.filter(store_id=store), ("note",)),
    Place("proposal", lambda store: Proposal.objects.filter(store_id=store), ("reason",)),
    Place("change", lambda store: ProposedChange.objects.filter(store_id=store), ("path", "new_path", "content")),
    Place("policy", lambda store: RetentionPolicy.objects.filter(store_id=store), ("name", "pattern")),
    Place("store", lambda store: MemoryStore.objects.filter(pk=store), ("name", "description")),
    Place("call", lambda store: IdempotentCall.objects.filter(store_id=store), ("token",)),
    Place("import", lambda store: Import.objects.filter(store_id=store), ("name", "place", "problem")),
    Place(
        "import", lambda store: ImportItem.objects.filter(job__store_id=store), ("path", "reason", "content", "memory")
    ),
)
PLAIN_JSON = (
    Place("proposal", lambda store: Proposal.objects.filter(store_id=store), ("origin",), escaped=True),
    Place("store", lambda store: MemoryStore.objects.filter(pk=store), ("metadata",), escaped=True),
    Place("claude_run", ClaudeRun.objects.of_store, ("options",), escaped=True),
    Place("claude_preset", ClaudePreset.objects.of_store, ("versions",), escaped=True),
    Place("claude_run", lambda store: ClaudeEvent.objects.filter(run__store_id=store), ("content",), escaped=True),
    Place("import", lambda store: Import.objects.filter(store_id=store), ("actors", "actor"), escaped=True),
    Place("import", lambda store: ImportItem.objects.filter(job__store_id=store), ("history",), escaped=True),
)
COPIES = (
    Place(COPY, lambda store: MemoryText.objects.filter(store_id__in=_copies(store)), ("content",)),
    Place(COPY, lambda store: MemoryVersion.objects.filter(store_id__in=_copies(store)), ("path",)),
    Place(COPY, lambda store: AuditEntry.objects.filter(chain__in=_copies(store)), ENTRY_JSON, escaped=True),
)

IMPORTS = tuple(place for place in (*PLAIN, *PLAIN_JSON) if place.kind == "import")


def open_imports(store_id: str, terms: Terms) -> tuple[str, ...]:
    """Return the ids of the imports that have not ended and contain one of the texts."""
    found = {
        row.job_id if isinstance(row, ImportItem) else row.pk
        for place in IMPORTS
        for row, _ in place.having(store_id, terms)
    }
    still = Import.objects.filter(store_id=store_id, pk__in=found, state__in=importing.OPEN) if found else ()
    return tuple(sorted(job.pk for job in still))


def path_rules(store_id: str, terms: Terms) -> list[MemoryStore]:
    """Return [the store] if one of its path rules contains one of the texts, else []."""
    stores = MemoryStore.objects.filter(pk=store_id)
    return [store for store in stores if any(map(terms.stand_in, texts_of_rules(store.path_rules)))]


def texts_of_rules(rules: Iterable[Any]) -> Iterator[str]:
    """Yield the texts that people typed into path rules (in the stored form): each pattern and each reason."""
    for rule in rules:
        yield from (rule["pattern"], rule["reason"])


_SESSIONS = Place("session", lambda _: Session.objects.all(), ("name",))


def sessions(store_id: str, terms: Terms, *, whole_hub: bool) -> list[Session]:
    """Return the sessions of a store that have one of the texts in their name, and may be renamed.

    A session of several stores is renamed only with `whole_hub`.
    """
    entries = AuditEntry.objects.of_chain(store_id)
    found = [row for row, _ in _SESSIONS.having(store_id, terms) if entries.of_session(row.pk).exists()]
    return [session for session in found if whole_hub or not is_shared(store_id, session.pk)]


def is_shared(store_id: str, session_id: str) -> bool:
    """Return whether a session also worked in another memory store."""
    others = MemoryStore.objects.exclude(pk=store_id).values("pk")
    return Session.objects.filter(pk=session_id).known_in(others).exists()


def saved_views(store_id: str, terms: Terms, *, whole_hub: bool) -> list[SavedView]:
    """Return the saved views that the act may change, with one of the texts in their name or decoded query."""
    views = views_within(store_id, whole_hub=whole_hub)
    return [view for view in views if terms.stand_in(view.name) or terms.stand_in(unquote_plus(view.query))]


def views_within(store_id: str, *, whole_hub: bool) -> models.QuerySet[SavedView]:
    """Return the views of a store; with `whole_hub`, also the views that belong to no store."""
    return SavedView.objects.filter(Q(store_id=store_id) | Q(store=None) if whole_hub else Q(store_id=store_id))

"""The preview of an erasure: each place that would change, with an excerpt of its text."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.erasure.erasure import Found, Hit
from memoryhub.models import (
    AuditEntry,
    Comment,
    Finding,
    Hold,
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
    User,
)
from memoryhub.models.rows import RowOfStore

FEW, MANY = 20, 2_000
"""The most places of a kind that are listed at first, and the most after the person asks for all."""
AROUND = 48

Words = str | Promise


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An occurrence of one of the texts, with the text around it on its line."""

    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class Row:
    """A place that contains one of the texts to erase: its kind, path and version."""

    hit: Hit
    what: Words
    path: str | None
    version: MemoryVersion | None
    excerpt: Excerpt | None  # None if the place no longer contains the text


@dataclass(frozen=True, slots=True)
class Group:
    """The places of one kind: their title, what happens to them, and their number."""

    name: str
    title: Words
    becomes: Words
    count: int
    rows: tuple[Row, ...]

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


HEAD = "head"
TITLES: dict[str, tuple[Words, Words]] = {
    HEAD: (_("Memories as they are now"), _("Each memory gets a new version with [redacted] in place of the text.")),
    "text": (_("Old versions, and memories in the trash"), _("The text is replaced by [redacted].")),
    "path": (
        _("Paths"),
        _("The text in the path is replaced by [redacted]. A memory that is not in the trash moves to the new path."),
    ),
    "entry": (
        _("Audit entries"),
        _("The text is replaced by [redacted]. The audit can still be verified, and records the erasure."),
    ),
    "change": (
        _("Changes that agents proposed"),
        _("The text is replaced by [redacted], including in refused changes."),
    ),
    "proposal": (_("Reasons of decisions about proposals"), _("The text is replaced by [redacted].")),
    "note": (_("Notes of reviews and reasons of holds"), _("The text is replaced by [redacted].")),
    "comment": (_("Comments"), _("The text is replaced by [redacted].")),
    "claude_run": (
        _("Claude runs"),
        _(
            "The text is replaced by [redacted] in tasks and in what Claude wrote. Runs that go on are stopped, and"
            " throw-away copies of the memory store are deleted."
        ),
    ),
    "claude_copy": (_("Throw-away copies on which Claude worked"), _("All of them are deleted.")),
    "claude_preset": (_("Presets of Claude runs"), _("The text is replaced by [redacted] in all versions.")),
    "finding": (_("Notes of findings"), _("The text is replaced by [redacted].")),
    "policy": (
        _("Retention policies"),
        _("The name or pattern is replaced by [redacted]. Check the policy afterwards."),
    ),
    "path_rules": (
        _("Path rules"),
        _("The text is replaced by [redacted] in patterns, as in paths, and in reasons. Check the rules afterwards."),
    ),
    "call": (
        _("Tokens of calls"),
        _("The token is replaced by [redacted], so the hub no longer recognizes a repeated call."),
    ),
    "session": (
        _("Names of sessions"),
        _("The text is replaced by [redacted], also in the other stores of the session."),
    ),
    "view": (_("Saved views"), _("The name becomes [redacted] if it contains the text, and the filter becomes empty.")),
    "import": (
        _("Imports"),
        _("An unfinished import is cancelled, and its texts are deleted. Names and paths become [redacted]."),
    ),
    "store": (
        _("The memory store itself"),
        _("The name, the description and the metadata are replaced by [redacted]."),
    ),
}
WHAT: dict[str, Words] = {
    "content": _("text"), "path": _("path"), "new_path": _("new path"), "label": _("name of who did it"),
    "note": _("note"), "token": _("token"), "input": _("call"), "message": _("answer"), "reason": _("reason"),
    "name": _("name"), "pattern": _("pattern"), "description": _("description"), "metadata": _("metadata"),
    "query": _("filter"), "place": _("directory"), "task": _("task"), "system": _("system prompt"),
    "options": _("options"), "path_rules": _("rules"),
}  # fmt: skip
JSON = frozenset({"input", "message", "metadata", "path_rules"})


def groups(store_id: str, found: Found, terms: Sequence[str], user: User, *, most: int = FEW) -> list[Group]:
    """Return the places by kind in the order of TITLES, with rows for at most `most` of each kind.

    A place in a saved view gets no excerpt if the view belongs to another person than `user` and is not shared.
    """
    heads = _heads(store_id, found)
    sorted_out: dict[str, list[Hit]] = {name: [] for name in TITLES}
    for hit in found.hits:
        name = HEAD if hit.kind == "text" and hit.id in heads else hit.kind
        sorted_out.setdefault(name, []).append(hit)
    return [
        Group(
            name,
            *TITLES.get(name, (name, "")),
            len(hits),
            tuple(_rows(store_id, sorted(hits, key=_order)[:most], terms, user)),
        )
        for name, hits in sorted_out.items()
        if hits
    ]


def in_excerpts(found: Iterable[Group]) -> Iterator[tuple[str, str | None]]:
    """Yield (memory, version) of the texts that the excerpts of the groups show."""
    for row in (row for group in found for row in group.rows):
        if row.hit.kind == "text" and row.hit.memory and row.excerpt:
            yield row.hit.memory, row.version.pk if row.version else None


def _order(hit: Hit) -> tuple[str, int, str]:
    """Return the sort key of a place: its path and id, or for an audit entry its seq."""
    return ("", int(hit.id), hit.what) if hit.kind == "entry" else (hit.path or "", 0, hit.id)


def _heads(store_id: str, found: Found) -> set[str]:
    """Return the ids of the current texts of those memories in `found` that are live."""
    heads: set[str] = set()
    for part in in_parts(list(found.memories)):
        heads.update(Memory.objects.among(store_id, part).live().values_list("text_id", flat=True))
    return heads


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A text that a person must change by hand, and the URL of the page for it (may be empty)."""

    title: Words
    text: str
    url: str


THERE: dict[str, tuple[Words, str]] = {
    "webhook": (_("A webhook of this memory store"), "store_webhooks"), "agent": (_("An agent"), "store_keys"),
    "key": (_("A key"), "store_keys"), "person": (_("A member"), "members"),
    "invitation": (_("An invitation"), "members"), "hub_policy": (_("A retention policy of the hub"), ""),
    "session": (
        _("The name of a session that also worked in other memory stores: administrators of the hub erase it"), "",
    ),
    "origin": (_("The origin of an imported version, which the audit proves"), ""),
}  # fmt: skip


def elsewhere(store_id: str, found: Found) -> list[Elsewhere]:
    """Return rows for at most MANY of the texts that people must change by hand."""
    shown = []
    for there in found.elsewhere[:MANY]:
        title, name = THERE[there.kind]
        shown.append(Elsewhere(title, there.text, reverse(name, args=[store_id]) if name else ""))
    return shown


# ------------------------------------------------------------------------------------------------ the places


def _rows(store_id: str, hits: Sequence[Hit], terms: Sequence[str], user: User) -> Iterator[Row]:
    read = _read(store_id, hits)
    versions = _versions(store_id, hits)
    for hit in hits:
        row = read.get((hit.kind, hit.id))
        value = getattr(row, hit.what, None) if row is not None else None
        version = row if isinstance(row, MemoryVersion) else versions.get(hit.id)
        if isinstance(row, SavedView) and not row.is_shared and row.owner_id != user.pk:
            yield Row(hit, _("a filter that only its owner sees"), hit.path, version, None)
            continue
        texts = _strings(value) if hit.what in JSON else [value]
        yield Row(hit, WHAT.get(hit.what, hit.what), hit.path, version, _excerpt(texts, terms))


def _read(store_id: str, hits: Sequence[Hit]) -> dict[tuple[str, str], Any]:
    """Return {(kind, id): database row} for the places in `hits`."""
    found: dict[tuple[str, str], Any] = {}
    for kind, model in _models(hits):
        ids = [hit.id for hit in hits if _model(hit) is model]
        for row in _rows_of(store_id, model, ids):
            found[(kind, str(row.seq if isinstance(row, AuditEntry) else row.pk))] = row
    return found


def _models(hits: Iterable[Hit]) -> list[tuple[str, type[models.Model]]]:
    pairs = {(hit.kind, _model(hit)) for hit in hits}
    return [(kind, model) for kind, model in pairs if model is not None]


def _model(hit: Hit) -> type[models.Model] | None:
    return next((model for kind, prefix, model in _MODELS if hit.kind == kind and hit.id.startswith(prefix)), None)


_MODELS: tuple[tuple[str, str, type[models.Model]], ...] = (
    ("text", "", MemoryText), ("path", "memver_", MemoryVersion), ("path", "", Memory), ("entry", "", AuditEntry),
    ("note", "hold_", Hold), ("note", "", Review), ("comment", "", Comment), ("finding", "", Finding),
    ("policy", "", RetentionPolicy),
    ("session", "", Session), ("view", "", SavedView), ("store", "", MemoryStore),
    ("path_rules", "", MemoryStore),
    ("change", "", ProposedChange), ("proposal", "", Proposal),
)  # fmt: skip


def _rows_of(store_id: str, model: type[models.Model], ids: Sequence[str]) -> Iterator[Any]:
    if model is AuditEntry:
        yield from AuditEntry.objects.of_chain(store_id).of_seqs(map(int, ids))
        return
    of_store = {model.STORE: store_id} if issubclass(model, RowOfStore) else {}
    rows: models.QuerySet[Any] = model._default_manager.filter(**of_store)
    for part in in_parts(ids):
        yield from rows.filter(pk__in=part)


def _versions(store_id: str, hits: Sequence[Hit]) -> dict[str, MemoryVersion]:
    """Return {text id: the first version with this text} for the texts in `hits`."""
    texts = {hit.id for hit in hits if hit.kind == "text"}
    found: dict[str, MemoryVersion] = {}
    for part in in_parts(sorted({hit.memory for hit in hits if hit.memory and hit.kind == "text"})):
        rows = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=part, text_id__in=texts)
        for version in rows.order_by("-number"):
            found[str(version.text_id)] = version
    return found


# ------------------------------------------------------------------------------------------------ excerpts


def _strings(value: object) -> list[str]:
    """Return all strings in a JSON value, which may be given as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return [str(value)]
    return list(_inside(value))


def _inside(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (str(key), *_inside(item))
    elif isinstance(value, list):
        for item in value:
            yield from _inside(item)


def _excerpt(texts: Iterable[object], terms: Sequence[str]) -> Excerpt | None:
    """Return an excerpt of the first text in `texts` that contains one of the `terms`, or None if no text does."""
    longest: Callable[[str], int] = len
    for text in texts:
        if not isinstance(text, str):
            continue
        places = [(at, term) for term in sorted(terms, key=longest, reverse=True) if (at := text.find(term)) >= 0]
        if places:
            at, term = min(places, key=lambda place: place[0])
            return _around(text, at, at + len(term))
    return None


def _around(text: str, start: int, end: int) -> Excerpt:
    first = max(text.rfind("\n", 0, start) + 1, start - AROUND)
    last = text.find("\n", end, end + AROUND)
    last = min(len(text), end + AROUND) if last < 0 else last
    before = ("…" if first and text[first - 1] != "\n" else "") + text[first:start]
    after = text[end:last] + ("…" if last < len(text) and text[last] != "\n" else "")
    return Excerpt(before, text[start:end], after)

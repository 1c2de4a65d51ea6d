"""The archive for a person who asks what is stored about them: a report, and every place as JSON Lines.

The archive has every place that an erasure of the ticked spellings would find, and who read the versions with these
spellings. Before the person gets the archive, an administrator checks it, because a memory can also be about other
people.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.erasure import collecting
from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Row
from memoryhub.actions.transfer.exporting.entries import handed_out
from memoryhub.models import Memory, MemoryStore, User
from memoryhub.pure import chain
from memoryhub.pure.transfer.archive import write
from memoryhub.pure.transfer.names import Names
from memoryhub.pure.transfer.written import JsonRow, line
from memoryhub.web.common.tables import attachment
from memoryhub.web.common.versions.removed_history import first_seq
from memoryhub.web.erasure import apart, preview
from memoryhub.web.erasure.asked import Asked
from memoryhub.web.sessions.copied import was_copied
from memoryhub.web.sessions.readers.query import Seen, Wanted, older_page

MOST = 500
"""The most places, and the most reads, that the report lists for a store. The other files have all of them."""

MOST_LINES, AROUND = 20, 200
"""The most lines of a place in the report, and how many characters of a long line it shows before and after a text."""
TITLES = preview.TITLES | {"text": (_("Text of a memory"), "")}
VERSIONS = 100
"""The most versions of a memory whose reads are searched together."""


@dataclass(slots=True)
class Part:
    """The contents of the archive for one store: its directory, and the rows of the report.

    Some reads may be unknown: `is_cut` and the fields after it say why.
    """

    store: MemoryStore
    terms: Sequence[str]
    directory: str
    seq: int
    places: int = 0
    reads: int = 0
    memories: dict[str, set[int]] = field(default_factory=dict)
    listed: list[Mapping[str, Any]] = field(default_factory=list)
    read: list[Mapping[str, Any]] = field(default_factory=list)
    elsewhere: list[JsonRow] = field(default_factory=list)
    is_cut: bool = False  # entries or versions were removed
    was_copied: bool = False  # Claude read a copy of the store
    was_exported: bool = False  # the texts were in a download
    unsearched: bool = False  # not every search was examined

    @property
    def may_lack_reads(self) -> bool:
        return self.is_cut or self.was_copied or self.was_exported or self.unsearched


def chosen(asked: Asked) -> list[str]:
    """Return the stores in which a text was found, without the unticked stores."""
    found = (id for id, result in asked.searched.items() if result.places or result.elsewhere)
    return [id for id in found if id not in asked.left_out]


def answer(asked: Asked, stores: Mapping[str, MemoryStore], user: User, act: Callable[[], Act]) -> HttpResponse:
    """Return the archive, and write an audit entry in each ticked store that contains one of the texts. `act` returns a
    new act for each entry."""
    at, names, parts = timezone.now(), Names(), []
    for id in chosen(asked):
        found, name = asked.searched[id], stores[id].name.replace("/", " ").strip() or id
        seq = collecting.begin(id, found.terms, found.places, act())
        parts.append(Part(stores[id], found.terms, names.of(f"/stores/{name}"), seq))
    unsearched = [stores[id] for id in asked.large if id in stores]
    body = write.files(_files(parts, asked, user, at, unsearched), at)
    return attachment(body, "stored-about-a-person.zip", "application/zip")


def _files(
    parts: Sequence[Part], asked: Asked, user: User, at: datetime, unsearched: Sequence[MemoryStore]
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the files of the archive: those of each store, then the report."""
    for part in parts:
        yield f"{part.directory}/places.jsonl", _places(part, user)
        yield f"{part.directory}/elsewhere.jsonl", _elsewhere(part, asked, user)
        yield f"{part.directory}/reads.jsonl", _reads(part)
        yield from _texts(part)
    terms = [term for part in parts for term in part.terms]
    rest = apart.memories(asked.subject, {part.store.pk: part.store for part in parts}, terms)
    report = {"parts": parts, "asked": asked, "user": user, "at": at, "most": MOST, "unsearched": unsearched}
    report["apart"] = rest
    yield "report.html", [render_to_string("erasure/collected.html", report).encode("utf-8", "backslashreplace")]


def _places(part: Part, user: User) -> Iterator[bytes]:
    for told in collecting.collect(part.store.pk, part.terms, user.pk, whole_hub=user.is_superuser):
        part.places += 1
        _remember(part, told)
        yield line(told)


def _remember(part: Part, told: JsonRow) -> None:
    """Add to `part` the place that the row `told` describes."""
    versions: Any = told.get("versions", ())
    if versions and isinstance(memory := told["memory"], str):
        part.memories.setdefault(memory, set()).update(version["number"] for version in versions)
    if len(part.listed) < MOST:
        title = TITLES.get(str(told["kind"]), (str(told["kind"]), ""))[0]
        lines = [_cut(text, part.terms) for text in str(told["text"]).split("\n") if _has(text, part.terms)]
        kept = {name: told.get(name) for name in ("path", "at", "by", "versions")}
        shown = {"title": title, "lines": lines[:MOST_LINES], "more": len(lines) - MOST_LINES}
        part.listed.append({**kept, **shown, "is_private": told["text"] is None})


def _has(text: str, terms: Sequence[str]) -> bool:
    return any(term in text for term in terms)


def _cut(text: str, terms: Sequence[str]) -> str:
    """Return the line `text`. If it is long, return only the part around the first place with one of the `terms`."""
    at = max(0, min(place for term in terms if (place := text.find(term)) >= 0) - AROUND)
    return ("…" if at else "") + text[at : at + 2 * AROUND] + ("…" if at + 2 * AROUND < len(text) else "")


def _elsewhere(part: Part, asked: Asked, user: User) -> Iterator[bytes]:
    for told in collecting.collect_elsewhere(part.store.pk, asked.subject, whole_hub=user.is_superuser):
        part.elsewhere.append(told)
        yield line(told)


def _reads(part: Part) -> Iterator[bytes]:
    """Yield a JSON line for each answer that showed a version with one of the texts: who read it, and when."""
    for ids in in_parts(sorted(part.memories)):
        for memory in Memory.objects.among(part.store.pk, ids).order_by("path"):
            for numbers in in_parts(sorted(part.memories[memory.pk]), VERSIONS):
                for seen in _seen(part, memory, numbers):
                    told = _read(memory, seen)
                    part.reads += 1
                    if len(part.read) < MOST:
                        part.read.append(told)
                    yield line(told)


def _seen(part: Part, memory: Memory, numbers: Sequence[int]) -> Iterator[Seen]:
    """Yield each answer that showed one of the versions with these `numbers`, newest first. If some answers may not be
    found, note the reason in `part`."""
    rows = blame.between(memory, numbers[0], numbers[-1], numbers[-1] - numbers[0] + 1).rows
    wanted, before = Wanted.of(memory.store_id, rows, dict.fromkeys(numbers)), None
    _note_unknown(part, memory, [row for row in rows if row.number in numbers])
    while True:
        page = older_page(wanted, before)
        yield from page.seen
        part.unsearched = part.unsearched or page.unsearched is not None
        if page.older is None:
            return
        before = page.older


def _note_unknown(part: Part, memory: Memory, rows: Sequence[Row]) -> None:
    chain_id, first = memory.store_id, min(row.seq for row in rows)
    part.is_cut = part.is_cut or memory.removed_versions > 0 or first < first_seq(chain_id)
    part.was_copied = part.was_copied or was_copied(chain_id, rows)
    part.was_exported = part.was_exported or bool(handed_out(chain_id, first, [row.id for row in rows], part.seq - 1))


def _read(memory: Memory, seen: Seen) -> JsonRow:
    entry = seen.entry
    lines = None if seen.first is None else [seen.first, seen.last]
    place = {"memory": memory.pk, "path": seen.version.path, "version": seen.version.id, "number": seen.version.number}
    who = {"at": chain.moment(entry.at), "by": entry.label, "session": entry.session}
    return {**place, **who, "command": entry.command, "lines": lines, "entry": entry.seq}


def _texts(part: Part) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield (path in the archive, whole text) of each live memory with one of the terms of `part`."""
    names = Names()
    for ids in in_parts(sorted(part.memories)):
        for memory in Memory.objects.among(part.store.pk, ids).live().select_related("text").order_by("path"):
            text = memory.text.content if memory.text else None
            if text is not None and (_has(text, part.terms) or _has(memory.path, part.terms)):
                yield f"{part.directory}/memories/{names.of(memory.path)}", [text.encode("utf-8", "surrogatepass")]

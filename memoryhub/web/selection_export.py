"""Memories as an archive or as lines of JSON: exactly what they were when the export was audited, a few at a time."""

import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.db.models import F, Q
from django.http import HttpResponse

from memoryhub.actions.plans import in_parts
from memoryhub.actions.selection import Exported
from memoryhub.chain import moment
from memoryhub.models import MemoryVersion, Operation
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.web import masking
from memoryhub.web.selection_names import Names
from memoryhub.web.tables import attachment

FORMATS = ("zip", "jsonl")
_PART = 100
_FIRST_YEAR = 1980
"""A ZIP archive knows no earlier one."""


def answer(exported: Exported, form: str, *, masked: bool) -> HttpResponse:
    """The download, in one of FORMATS. What is written meanwhile does not change it: it is as of the export's entry.

    `masked`: without the values that pages mask, for a person who may not reveal them.
    """
    if form == "zip":
        return attachment(as_zip(exported, masked), "memories.zip", "application/zip")
    return attachment(as_lines(exported, masked), "memories.jsonl", "application/jsonl")


def _seen(exported: Exported, masked: bool) -> Iterator[MemoryVersion]:
    """The versions with their texts, as the person may see them."""
    found = _versions(exported, with_text=True)
    while versions := list(islice(found, _PART)):
        if masked:
            masking.cover(versions)
        yield from versions


def as_lines(exported: Exported, masked: bool = False) -> Iterator[bytes]:
    """One memory a line, ASCII-escaped; `text` is null where it was redacted."""
    for version in _seen(exported, masked):
        told = _told(version) | {"text": version.content}
        yield json.dumps(told, ensure_ascii=True).encode() + b"\n"


def as_zip(exported: Exported, masked: bool = False) -> Iterator[bytes]:
    """The texts at their paths beneath `memories/`, then `manifest.json`, which tells what is what."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        names = Names()
        for version in _seen(exported, masked):
            if version.content is not None:
                archive.writestr(_member(version, names), version.content.encode("utf-8", "surrogatepass"))
                yield from pipe.taken()
        with archive.open(zipfile.ZipInfo("manifest.json", _date(exported)), "w", force_zip64=True) as manifest:
            for piece in _manifest(exported):
                manifest.write(piece)
                yield from pipe.taken()
    yield from pipe.taken()


class _Pipe:
    """What `zipfile` writes to, which cannot go back: `taken` gives what has been written since."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """There is nothing to wait for."""

    def close(self) -> None:
        """Nor to close."""

    def taken(self) -> Iterator[bytes]:
        pieces, self._pieces = self._pieces, []
        if pieces:
            yield b"".join(pieces)


def _member(version: MemoryVersion, names: Names) -> zipfile.ZipInfo:
    """What the archive says of a memory: readable by everybody whom the person lets."""
    date = version.created_at.timetuple()[:6]
    member = zipfile.ZipInfo("memories/" + names.of(version.path or ""), max(date, (_FIRST_YEAR, 1, 1, 0, 0, 0)))
    member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return member


def _date(exported: Exported) -> Any:
    return max(exported.at.timetuple()[:6], (_FIRST_YEAR, 1, 1, 0, 0, 0))


def _manifest(exported: Exported) -> Iterator[bytes]:
    """Streamed too: the names are found again in the same order."""
    names, separator = Names(), b"\n"
    about = {"store": exported.store.pk, "name": exported.store.name, "entry": exported.seq, "at": moment(exported.at)}
    yield json.dumps(about, ensure_ascii=True)[:-1].encode() + b', "memories": ['
    for version in _versions(exported, with_text=False):
        kept = None if version.text_id is None else "memories/" + names.of(version.path or "")
        yield separator + json.dumps(_told(version) | {"file": kept}, ensure_ascii=True).encode()
        separator = b",\n"
    yield b"\n]}\n"


def _told(version: MemoryVersion) -> dict[str, Any]:
    return {
        "path": version.path, "memory": version.memory_id, "version": version.pk, "number": version.number,
        "size": version.size, "sha256": version.sha256, "written_at": moment(version.created_at),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ what is exported


def _versions(exported: Exported, *, with_text: bool) -> Iterator[MemoryVersion]:
    """The versions that were current then, those of a directory in the order of their paths."""
    then = MemoryVersion.objects.filter(store=exported.store).as_of(exported.seq)
    if with_text:
        then = then.select_related("text")
    for path in exported.directories:
        yield from _by_path(then.under(path))
    for part in in_parts(exported.memories, _PART):
        yield from sorted(_of_memories(exported, part, with_text=with_text), key=lambda version: version.path or "")


def _of_memories(exported: Exported, ids: list[str], *, with_text: bool) -> MemoryVersionQuerySet:
    """As `as_of` finds them; `+ 0` keeps SQLite from looking through all versions of the store by their seq."""
    found = MemoryVersion.objects.filter(store=exported.store, memory_id__in=ids).exclude(operation=Operation.DELETED)
    found = found.annotate(made=F("seq") + 0).filter(made__lte=exported.seq)
    found = found.filter(Q(superseded_seq=None) | Q(superseded_seq__gt=exported.seq))
    return found.select_related("text") if with_text else found


def _by_path(then: MemoryVersionQuerySet) -> Iterator[MemoryVersion]:
    """Page by page, so that no question stays open while somebody downloads slowly."""
    after = ""
    while part := _following(then, after):
        yield from part
        after = part[-1].path or ""


def _following(then: MemoryVersionQuerySet, after: str) -> list[MemoryVersion]:
    found: Iterable[MemoryVersion] = then.filter(path__gt=after).order_by("path", "seq")[:_PART]
    return list(found)

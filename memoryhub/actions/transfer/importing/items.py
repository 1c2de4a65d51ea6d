"""Makes the items of an import from the memories, proposals and path rules of a source."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from memoryhub.actions.transfer.importing import (
    comments as import_comments,
    notes,
    proposals as import_proposals,
    rules as import_rules,
)
from memoryhub.actions.transfer.importing.places import Named, kept_text
from memoryhub.actions.transfer.importing.preview import ABOUT, REFUSED, RULES, SKIP
from memoryhub.models import ImportItem
from memoryhub.pure import chain
from memoryhub.pure.transfer.bundle import Author, Bundle, BundledMemory, BundledProposal, BundledVersion
from memoryhub.pure.transfer.reading import Read

MOST_GAPS, MOST_GAPS_IN_ALL = 2_000, 100_000
"""The most removed versions of the source whose numbers stay reserved: of one memory, and of an import.

A row is written for each of them. The versions of a memory that lacks more are numbered again.
"""
MOST_HISTORY = 256 * 1024 * 1024
"""The most bytes of one memory's texts as they are kept for the preview. No database keeps a much longer value."""


def items_of(read: Read, place: str) -> Iterable[ImportItem]:
    """Yield an item for each memory that was read, and for each memory or file that was left out.

    Then yield an item for each proposal, and one item for all path rules.
    """
    memories = read.bundle.memories
    for number, memory in enumerate(_without_gaps(memories)):
        if _is_too_long(memory.versions):
            why = f"Its versions have more than {MOST_HISTORY // 1024**2} MB in all."
            path = kept_text(place + memory.path) if memory.path else ""
            yield ImportItem(number=number, path=path, found=REFUSED, choice=SKIP, reason=why, version_count=0)
        else:
            yield _item(number, memory, place)
    for number, left in enumerate(read.left, len(memories)):
        path = kept_text(place + left.path) if left.path else ""
        yield ImportItem(number=number, path=path, found=REFUSED, choice=SKIP, reason=left.why, version_count=0)
    number = len(memories) + len(read.left)
    if read.bundle.proposals or read.bundle.rules:
        yield from _governing(read.bundle, number, place)


def _governing(bundle: Bundle, number: int, place: str) -> Iterable[ImportItem]:
    """Yield the items of the proposals and of the path rules.

    They come after the items of the memories, to which they refer.
    """
    named = Named(_without_gaps(bundle.memories))
    for proposal in bundle.proposals:
        yield _proposal(number, proposal, place, named)
        number += 1
    if bundle.rules:
        yield ImportItem(  # type: ignore[misc]
            number=number, path="", found=RULES, choice=SKIP, version_count=0,
            history=import_rules.history_of(bundle.rules, named),
        )  # fmt: skip


def _without_gaps(memories: Iterable[BundledMemory]) -> Iterable[BundledMemory]:
    """Yield the memories. If a memory has too many gaps, its versions get new numbers without gaps.

    A gap is the number of a missing version. A memory may have at most MOST_GAPS gaps, and all memories together may
    have at most MOST_GAPS_IN_ALL.
    """
    gaps = 0
    for memory in memories:
        missing = memory.versions[-1].number - len(memory.versions)
        if missing > MOST_GAPS or gaps + missing > MOST_GAPS_IN_ALL:
            yield _renumbered(memory)
        else:
            gaps += missing
            yield memory


def _renumbered(memory: BundledMemory) -> BundledMemory:
    """Return a memory with its versions numbered from 1, and with these numbers in its conversations.

    A conversation about a removed version becomes one about the memory as a whole.
    """
    numbers = {version.number: number for number, version in enumerate(memory.versions, 1)}
    versions = tuple(replace(version, number=numbers[version.number]) for version in memory.versions)
    threads = (
        replace(one, number=numbers[one.number])
        if one.number in numbers
        else replace(one, number=len(versions), first=None, last=None)
        for one in memory.threads
    )
    return replace(memory, versions=versions, threads=tuple(threads))


def _is_too_long(versions: Sequence[BundledVersion]) -> bool:
    """Return whether a memory's texts take more than MOST_HISTORY bytes as JSON."""
    total, sizes = 0, {}
    for version in versions:
        content = version.content or ""
        if id(content) not in sizes:
            sizes[id(content)] = len(json.dumps(content))
        total += sizes[id(content)]
        if total > MOST_HISTORY:
            return True
    return False


def _item(number: int, memory: BundledMemory, place: str) -> ImportItem:
    """Return the item of a memory, with its newest text.

    `history` is empty if the source has only the path and the text.
    """
    last = next((one for one in reversed(memory.versions) if one.content is not None), None)
    content = last.content if last else None
    encoded = (content or "").encode()
    first = memory.versions[0]
    is_plain = len(memory.versions) == 1 and first.at is None and first.id is None and first.author is None
    history = [] if is_plain else [_history_of(version, place) for version in memory.versions]
    if history and memory.threads:
        history[-1][import_comments.KEY] = import_comments.history_of(memory.threads)
    if history and memory.versions[-1].note:
        history[-1][notes.KEY] = memory.versions[-1].note
    return ImportItem(  # type: ignore[misc]
        number=number,
        path=kept_text(place + memory.path) if memory.path else "",
        found="",
        choice="",
        content=content,
        size=len(encoded),
        memory=kept_text(memory.id) if memory.id else None,
        history=history,
        version_count=memory.versions[-1].number,
        comment_count=sum(len(thread.comments) for thread in memory.threads) if history else 0,
    )


def _proposal(number: int, proposal: BundledProposal, place: str, named: Named) -> ImportItem:
    changes = import_proposals.history_of(proposal, place, named)
    size = sum(len((change[name] or "").encode()) for change in changes for name in ("base", "content"))
    return ImportItem(  # type: ignore[misc]
        number=number,
        path=kept_text(changes[0]["path"]),
        found="",
        choice="",
        is_proposal=True,
        memory=author_id(proposal.agent),
        history=changes,
        size=size,
        version_count=len(changes),
        comment_count=sum(len(talk.comments) for talk in proposal.talks),
    )


def weight(item: ImportItem) -> int:
    """Return an estimate of an item's bytes. The estimate is too high if versions share texts."""
    if item.is_proposal:
        return item.size + import_comments.weight(item.history[0][ABOUT]["talks"])
    threads = item.history[-1].get(import_comments.KEY, ()) if item.history else ()
    return item.size * item.version_count + import_comments.weight(threads)


def _history_of(version: BundledVersion, place: str) -> dict[str, Any]:
    """Return a version in the form in which `ImportItem.history` stores it."""
    author = version.author
    return {
        "id": version.id,
        "number": version.number,
        "operation": version.operation,
        "path": place + version.path if version.path else None,
        "content": version.content,
        "at": chain.moment(version.at) if version.at else None,
        "redacted": version.redacted,
        "author": [author.type, author_id(author)] if author else None,
    }


def author_id(author: Author) -> str:
    """Return an author's id if it has the form of an id; otherwise a digest of id and label.

    So no e-mail address is stored.
    """
    if author.id and all(c.isalnum() or c in "_-.:" for c in author.id):
        # So no e-mail address is stored.
        return author.id
    named = f"{author.id}\0{author.label}".encode("utf-8", "surrogatepass")
    return "author_" + hashlib.sha256(named).hexdigest()[:20]


def labels(memories: Iterable[BundledMemory]) -> dict[str, str]:
    """Return {author id: name} of the authors of all versions."""
    authors = {version.author for memory in memories for version in memory.versions if version.author}
    return {author_id(author): author.label for author in sorted(authors, key=lambda one: (one.id, one.label))}

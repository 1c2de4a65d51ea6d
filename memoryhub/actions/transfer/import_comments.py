"""Writes the comments that an import brings with a memory, as those of people of another hub."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from memoryhub import chain, ids
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Comment
from memoryhub.protocol.text import count_lines
from memoryhub.transfer.bundle import BundledThread

Clamped = Callable[[str | None], datetime]

KEY = "threads"
"""The name under which the newest version in the `history` of an item has the conversations about the memory."""


def told(threads: Sequence[BundledThread]) -> list[dict[str, Any]]:
    """Return conversations as the `history` of an item has them."""
    return [
        {
            "number": thread.number,
            "lines": [thread.first, thread.last],
            "resolved_at": _moment(thread.resolved_at),
            "comments": [
                [one.author, one.text, *map(_moment, (one.at, one.edited_at, one.removed_at))]
                for one in thread.comments
            ],
        }
        for thread in threads
    ]


def weight(threads: Sequence[dict[str, Any]]) -> int:
    """Return about how many bytes these conversations have."""
    return sum(len(one[1]) + 200 for thread in threads for one in thread["comments"])


def write(
    store: Tree,
    memory: str,
    threads: Sequence[dict[str, Any]],
    texts: Callable[[int], str | None],
    clamped: Clamped,
) -> int:
    """Write the conversations about a new memory, in the transaction of its entry; return how many comments there are.

    `texts` returns the text of a version, by number, and `clamped` a moment that is not in the future. Nobody is told
    of these comments, and no agent reads them. None belongs to a person of this hub, whoever is named as its author.
    """
    rows = [row for thread in threads for row in _rows(store, thread, texts(thread["number"]), clamped)]
    for row in rows:
        row.memory_id = memory
    Comment.objects.bulk_create(rows, batch_size=50)
    return len(rows)


def _rows(store: Tree, thread: dict[str, Any], text: str | None, clamped: Clamped) -> Iterator[Comment]:
    """Yield the comments of a conversation. If the text does not have its lines, it is about the memory as a whole."""
    first, last = thread["lines"]
    if text is not None and last is not None and last > count_lines(text):
        first = last = None
    place = {"first": first, "last": last, "resolved_at": thread["resolved_at"] and clamped(thread["resolved_at"])}
    began, latest = "", None
    for number, (name, said, at, edited, removed) in enumerate(thread["comments"]):
        written = clamped(at)
        latest = max(written, latest or written)
        id = ids.derived_id(ids.COMMENT, latest, number.to_bytes(2) + os.urandom(8))
        began = began or id
        yield Comment(
            id=id,
            store_id=store.store,
            thread=began,
            number=thread["number"],
            text=store.ruling.masked(said),
            author_name=store.ruling.masked(name),
            at=written,
            seq=store.seq,
            edited_at=clamped(edited) if edited else None,
            removed_at=clamped(removed) if removed else None,
            **place if began == id else {},
        )


def _moment(at: datetime | None) -> str | None:
    return chain.moment(at) if at else None

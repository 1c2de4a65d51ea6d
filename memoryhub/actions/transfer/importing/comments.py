"""Writes the comments that an import contains. Their authors are people of another hub."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from memoryhub.actions.core.tree import Tree
from memoryhub.actions.proposals.plan import by_memory
from memoryhub.actions.transfer.importing.places import Here, Named, clamped
from memoryhub.models import Comment, Proposal, ProposedChange
from memoryhub.pure import chain, ids
from memoryhub.pure.protocol.text import count_lines
from memoryhub.pure.transfer.bundle import BundledComment, BundledTalk, BundledThread

KEY = "threads"
"""In the `history` of an item, the newest version has the conversations about the memory under this name."""


def history_of(threads: Sequence[BundledThread]) -> list[dict[str, Any]]:
    """Return conversations in the form in which `ImportItem.history` stores them."""
    return [
        {
            "number": thread.number,
            "lines": [thread.first, thread.last],
            "resolved_at": _moment(thread.resolved_at),
            "comments": _comment_rows(thread.comments),
        }
        for thread in threads
    ]


def told_of_proposal(talks: Sequence[BundledTalk], named: Named) -> list[dict[str, Any]]:
    """Return conversations about a proposal in the form in which `ImportItem.history` stores them."""
    return [
        {
            "change": talk.change,
            "base": talk.base is not None,
            "base_at": named.version(talk.base),
            "number": talk.number,
            "old": talk.old,
            "line": talk.line,
            "resolved_at": _moment(talk.resolved_at),
            "comments": _comment_rows(talk.comments),
        }
        for talk in talks
    ]


def _comment_rows(comments: Sequence[BundledComment]) -> list[list[str | None]]:
    return [[one.author, one.text, *map(_moment, (one.at, one.edited_at, one.removed_at))] for one in comments]


def weight(threads: Sequence[dict[str, Any]]) -> int:
    """Return about how many bytes these conversations have."""
    return sum(len(one[1]) + 200 for thread in threads for one in thread["comments"])


def write(store: Tree, memory: str, threads: Sequence[dict[str, Any]], texts: Callable[[int], str | None]) -> int:
    """Write the conversations about a new memory, in the transaction of its entry; return the number of comments.

    `texts` returns the text of a version, by number. No one is notified, and no agent reads these comments. They belong
    to no person of this hub. If the text lacks the lines of a conversation, the conversation is about the whole memory.
    """
    rows: list[Comment] = []
    for thread in threads:
        text, (first, last) = texts(thread["number"]), thread["lines"]
        if text is not None and last is not None and last > count_lines(text):
            first = last = None
        place, about = {"first": first, "last": last}, {"memory_id": memory, "number": thread["number"]}
        rows += _rows(store, thread, place, about, len(rows))
    Comment.objects.bulk_create(rows, batch_size=50)
    return len(rows)


def write_of_proposal(
    store: Tree, proposal: Proposal, talks: Sequence[dict[str, Any]], changes: Sequence[ProposedChange], here: Here
) -> int:
    """Write the conversations about an imported proposal, as `write` does.

    `changes` are the rows of the proposal's changes.
    """
    names = {one.number: name for name, steps in by_memory(changes).items() for one in steps}
    rows: list[Comment] = []
    for talk in talks:
        place = {}
        if talk["change"] is not None:
            base = here.version(talk["base_at"]) or ids.new_id(ids.MEMORY_VERSION, store.at) if talk["base"] else ""
            place = {"change": names[talk["change"]], "base": base, "is_old": talk["old"]}
            place |= dict.fromkeys(("first", "last"), talk["line"])
        about = {"proposal": proposal.pk, "number": talk["number"] or 0}
        rows += _rows(store, talk, place, about, len(rows))
    Comment.objects.bulk_create(rows, batch_size=50)
    return len(rows)


def _rows(
    store: Tree, thread: dict[str, Any], place: dict[str, Any], about: dict[str, Any], first: int
) -> Iterator[Comment]:
    """Yield the comments of a conversation. Only the first comment gets the columns `place`.

    `first` is how many comments come before this conversation.
    """
    resolved_at = clamped(store, thread["resolved_at"]) if thread["resolved_at"] else None
    began, latest = "", None
    for number, (name, said, at, edited, removed) in enumerate(thread["comments"], first):
        written = clamped(store, at)
        latest = max(written, latest or written)
        id = ids.derived_id(ids.COMMENT, latest, number.to_bytes(2) + os.urandom(8))
        began = began or id
        yield Comment(
            id=id,
            store_id=store.store,
            thread=began,
            text=store.ruling.masked(said),
            author_name=store.ruling.masked(name),
            at=written,
            seq=store.seq,
            edited_at=clamped(store, edited) if edited else None,
            removed_at=clamped(store, removed) if removed else None,
            **about,
            **({**place, "resolved_at": resolved_at} if began == id else {}),
        )


def _moment(at: datetime | None) -> str | None:
    return chain.moment(at) if at else None

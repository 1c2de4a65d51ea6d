"""The conversations in an export, about its memories and its proposals."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from memoryhub.models import Comment, ProposedChange
from memoryhub.pure.transfer.bundle import BundledComment, BundledTalk, BundledThread


class Threads:
    """The conversations about the memories of a store, with the comments up to an entry (`seq`)."""

    def __init__(self, store_id: str, seq: int) -> None:
        self.store = store_id
        written = Comment.objects.of_store(store_id).filter(memory__isnull=False, seq__lte=seq)
        self._found = written.select_related("by").order_by("thread", "pk")
        self._with = set(written.order_by().values_list("memory_id", flat=True).distinct())

    def of(self, memory: str) -> Iterator[BundledThread]:
        """Yield the conversations about a memory, oldest first."""
        if memory not in self._with:
            return
        for told in _threads(self._found.filter(memory_id=memory)):
            first = told[0]
            yield BundledThread(first.number, first.first, first.last, first.resolved_at, tuple(map(_bundled, told)))


def talks(store_id: str, proposal: str, changes: Iterable[ProposedChange], seq: int) -> Iterator[BundledTalk]:
    """Yield the conversations about a proposal, with the comments up to an entry, oldest first."""
    numbers = {change.memory or change.pk: change.number for change in reversed([*changes])}
    written = Comment.objects.of_proposals(store_id, [proposal]).filter(seq__lte=seq)
    for told in _threads(written.select_related("by").order_by("thread", "pk")):
        first, comments = told[0], tuple(map(_bundled, told))
        change = numbers.get(first.change or "")
        if change is None:
            yield BundledTalk(None, None, None, False, None, first.resolved_at, comments)
        else:
            place = (first.base or None, first.number, first.is_old, first.first)
            yield BundledTalk(change, *place, first.resolved_at, comments)


def _threads(found: Iterable[Comment]) -> Iterator[list[Comment]]:
    """Yield the comments of each conversation as a list that begins with the first comment."""
    for _thread, rows in groupby(found, key=lambda one: one.thread):
        yield sorted(rows, key=lambda one: (one.pk != one.thread, one.pk))


def _bundled(one: Comment) -> BundledComment:
    """Return a comment with its author's name or, without a name, the part of the e-mail address before the `@`."""
    name = one.by.name or one.by.email.partition("@")[0] if one.by else one.author_name
    return BundledComment(name, one.text, one.at, one.edited_at, one.removed_at)

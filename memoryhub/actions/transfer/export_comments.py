"""The conversations of an export about its memories."""

from collections.abc import Iterator
from itertools import groupby

from memoryhub.models import Comment
from memoryhub.transfer.bundle import BundledComment, BundledThread


class Threads:
    """The conversations about the memories of a store, with the comments written up to an entry (`seq`)."""

    def __init__(self, store_id: str, seq: int) -> None:
        self.store = store_id
        written = Comment.objects.of_store(store_id).filter(memory__isnull=False, seq__lte=seq)
        self._found = written.select_related("by").order_by("thread", "pk")
        self._with = set(written.order_by().values_list("memory_id", flat=True).distinct())

    def of(self, memory: str) -> Iterator[BundledThread]:
        """Yield the conversations about a memory, oldest first."""
        if memory not in self._with:
            return
        for _thread, rows in groupby(self._found.filter(memory_id=memory), key=lambda one: one.thread):
            told = sorted(rows, key=lambda one: (one.pk != one.thread, one.pk))
            first = told[0]
            yield BundledThread(first.number, first.first, first.last, first.resolved_at, tuple(map(_bundled, told)))


def _bundled(one: Comment) -> BundledComment:
    """Return a comment with the name of its author. A person with only an e-mail address is named by the part before
    the `@`."""
    name = one.by.name or one.by.email.partition("@")[0] if one.by else one.author_name
    return BundledComment(name, one.text, one.at, one.edited_at, one.removed_at)

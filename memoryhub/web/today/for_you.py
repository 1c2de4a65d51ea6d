"""What colleagues told a person: comments that name them, and answers in conversations in which they take part."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memoryhub.actions.comments import notices
from memoryhub.actions.review import assignments
from memoryhub.models import Comment, Memory, MemoryStore, Proposal, User

SIZE = 8
LONGEST = 280
"""How many comments are shown, and how many characters of each."""


@dataclass(frozen=True, slots=True)
class Told:
    """A comment of which a person was told, on a memory or a proposal. `is_mention`: a comment of its conversation
    names them.

    `first` is the first comment of the conversation, which has its lines.
    """

    comment: Comment
    memory: Memory | None
    proposal: Proposal | None
    store: MemoryStore
    is_mention: bool
    text: str
    first: Comment | None = None


@dataclass(frozen=True, slots=True)
class ForYou:
    """The newest comments of which a person was told, and how many there are in all. `assigned` is how many memories a
    person is to review."""

    rows: Sequence[Told]
    total: int
    assigned: int = 0

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


def for_you(stores: Sequence[str], user: User) -> ForYou:
    """Return what a person was told of in these stores and has not put away."""
    waiting = notices.waiting_for(user, stores)
    shown = list(waiting.select_related("store", "memory")[:SIZE])
    ids = {pk for one in shown for pk in (one.comment, one.thread)}
    found = Comment.objects.filter(store_id__in={one.store_id for one in shown}, pk__in=ids)
    comments = {comment.pk: comment for comment in found.select_related("by")}
    proposals = _proposals(comments.values())
    rows = [
        Told(
            comments[one.comment],
            one.memory,
            proposals.get(comments[one.comment].proposal or ""),
            one.store,
            one.is_mention,
            _beginning(comments[one.comment].text),
            first=comments.get(one.thread),
        )
        for one in shown
        if one.comment in comments
    ]
    assigned = assignments.standing(*stores).filter(to=user).count()
    return ForYou(rows, len(rows) if len(shown) < SIZE else waiting.count(), assigned)


def _proposals(comments: Collection[Comment]) -> dict[str, Proposal]:
    ids = {comment.proposal for comment in comments if comment.proposal}
    found = Proposal.objects.filter(store_id__in={comment.store_id for comment in comments}, pk__in=ids)
    return {proposal.pk: proposal for proposal in found} if ids else {}


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

"""Notices to a person: comments and decisions.

The comments name the person, or answer in a conversation in which the person takes part. The decisions are about
memories that the person flagged.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from memoryhub.actions.comments import notices
from memoryhub.actions.review import assignments
from memoryhub.models import Comment, Memory, MemoryStore, Notice, Proposal, Review, User
from memoryhub.pure import ids

SIZE = 8
LONGEST = 280
"""SIZE is the most comments and decisions that are shown; LONGEST is the most characters of each."""


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A comment of which a person was notified, on a memory or a proposal."""

    comment: Comment
    memory: Memory | None
    proposal: Proposal | None
    store: MemoryStore
    is_mention: bool  # the conversation names the person
    text: str
    first: Comment | None = None  # the first comment of the conversation

    @property
    def at(self) -> datetime:
        return self.comment.at


@dataclass(frozen=True, slots=True)
class AboutFlag:
    """The newest decision about a memory that a person flagged. `flag` is the id of the `Review` with which the person
    flagged it."""

    decision: Review
    flag: str
    memory: Memory
    store: MemoryStore
    text: str

    @property
    def at(self) -> datetime:
        return self.decision.at

    @property
    def by(self) -> str:
        """Return the name of the person who made the decision."""
        return str(self.decision.by) if self.decision.by else str(_("unknown"))


@dataclass(frozen=True, slots=True)
class ForYou:
    """The newest notices of a person, and their number in total."""

    rows: Sequence[NoticeRow | AboutFlag]
    total: int
    assigned: int = 0  # memories whose review is assigned to the person

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


def for_you(stores: Sequence[str], user: User) -> ForYou:
    """Return at most SIZE notices about memories and proposals of these stores that the person has not dismissed."""
    waiting = notices.waiting_for(user, stores).select_related("store", "memory")
    of_comments = list(waiting.filter(comment__lt=ids.REVIEW)[:SIZE])
    of_flags = list(waiting.filter(comment__gte=ids.REVIEW)[:SIZE])
    rows: list[NoticeRow | AboutFlag] = [*_notice_rows(of_comments), *_about_flags(of_flags)]
    rows.sort(key=lambda row: row.at, reverse=True)
    assigned = assignments.standing(*stores).filter(to=user).count()
    is_all = max(len(of_comments), len(of_flags)) < SIZE
    return ForYou(rows[:SIZE], len(rows) if is_all else waiting.count(), assigned)


def _notice_rows(shown: Sequence[Notice]) -> list[NoticeRow]:
    pks = {pk for one in shown for pk in (one.comment, one.thread)}
    found = Comment.objects.filter(store_id__in={one.store_id for one in shown}, pk__in=pks)
    comments = {comment.pk: comment for comment in found.select_related("by")}
    proposals = _proposals(comments.values())
    return [
        NoticeRow(
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


def _about_flags(shown: Sequence[Notice]) -> list[AboutFlag]:
    stores = {one.store_id for one in shown}
    found = Review.objects.filter(store_id__in=stores, pk__in={one.comment for one in shown}).select_related("by")
    reviews = {review.pk: review for review in found} if shown else {}
    return [
        AboutFlag(reviews[one.comment], one.thread, one.memory, one.store, _beginning(reviews[one.comment].note))
        for one in shown
        if one.comment in reviews and one.memory
    ]


def _proposals(comments: Collection[Comment]) -> dict[str, Proposal]:
    ids = {comment.proposal for comment in comments if comment.proposal}
    found = Proposal.objects.filter(store_id__in={comment.store_id for comment in comments}, pk__in=ids)
    return {proposal.pk: proposal for proposal in found} if ids else {}


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

"""People's comments on memories and on their lines, and on proposals."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from memoryhub.models.access import User
from memoryhub.models.fields import IdField
from memoryhub.models.rows import RowOfStore, within_store
from memoryhub.models.sealed import Sealed, SealedQuerySet
from memoryhub.models.stores import MemoryStore


class CommentQuerySet(SealedQuerySet["Comment"]):
    def of_store(self, store_id: str) -> CommentQuerySet:
        return self.filter(store_id=store_id)

    def of_memory(self, store_id: str, memory_id: str) -> CommentQuerySet:
        return self.filter(store_id=store_id, memory_id=memory_id)

    def of_proposals(self, store_id: str, proposals: Collection[str]) -> CommentQuerySet:
        return self.filter(store_id=store_id, proposal__in=proposals)

    def of_thread(self, store_id: str, thread: str) -> CommentQuerySet:
        """Return the comments of a thread, oldest first."""
        return self.filter(store_id=store_id, thread=thread).order_by("pk")

    def waiting(self) -> CommentQuerySet:
        """Return the undelivered notes to agents about memories. A view of the memory delivers a note."""
        return self.filter(tells=True, told_at=None, memory__isnull=False)

    def first_ones(self) -> CommentQuerySet:
        """Return the comments that began a thread."""
        return self.filter(thread=F("pk"))


class Comment(Sealed, RowOfStore):
    """One comment. `thread` is the id of the comment that began the thread, which can be this one.

    Only the first comment of a thread has a place and can be resolved. Its place is the lines `first` to `last`,
    counted from 1, of version `number` of the memory; `first` and `last` are null if the thread is about the memory as
    a whole. `seq` is the seq of the entry that added the comment. A deleted comment has no text. `author_name` is the
    name of the author of an imported comment, who is no person of this hub.

    `agent` is the id of the agent that wrote the text at the place (null: no agent is known). With `tells`, the comment
    is a note to this agent. The agent's next view of the memory delivers the note; `told_seq` is the seq of that view's
    entry.

    In a comment on a proposal, `memory` is null, and `agent` is the agent that made the proposal. Its place is a line
    of the text of one memory, before (`is_old`) or after the proposed changes. `change` is the id of this memory or, if
    the proposal creates the memory, the id of the change that does so. The text before the changes is that of the
    memory's version `base` ("": a new memory). The text after them has the changes to this memory up to the proposal's
    change `number`.
    """

    HOME: ClassVar = "store_id"

    id = IdField(primary_key=True)
    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory", null=True)
    proposal = IdField(null=True)
    thread = IdField()
    number = models.BigIntegerField()
    first = models.BigIntegerField(null=True)
    last = models.BigIntegerField(null=True)
    text = models.TextField()
    by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    at = models.DateTimeField()
    seq = models.BigIntegerField()
    edited_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(User, models.SET_NULL, null=True, db_index=False, related_name="+")
    agent = IdField(null=True)
    tells = models.BooleanField(default=False)
    told_at = models.DateTimeField(null=True)
    told_seq = models.BigIntegerField(null=True)
    change = IdField(null=True)
    base = IdField(null=True)
    is_old = models.BooleanField(default=False)
    author_name = models.TextField(default="", blank=True)

    objects = CommentQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["store", "memory", "id"], name="comment_of_memory"),
            models.Index(fields=["store", "thread", "id"], name="comment_of_thread"),
            models.Index(
                fields=["store", "proposal", "id"], condition=Q(proposal__isnull=False), name="comment_of_proposal"
            ),
        ]

    def __str__(self) -> str:
        return f"comment on {self.memory_id or self.proposal}"

    @property
    def waits(self) -> bool:
        """Return whether the comment is a note to an agent, and no view of the memory has delivered the note yet."""
        return self.tells and self.told_at is None

    @property
    def label(self) -> str:
        """Return the name of the author."""
        if self.author_name:
            return str(_("%(name)s (imported)") % {"name": self.author_name})
        return str(self.by) if self.by else str(_("unknown"))


class Notice(RowOfStore):
    """A notice for a person about a conversation in which a comment named or answered the person. It stays until the
    person dismisses it.

    `comment` is the id of the newest such comment. If the conversation is about a proposal, the notice has no memory.
    Notices are not audited.

    A person who flagged a memory also gets a notice of decisions about it: `thread` is then the id of the review that
    set the flag, and `comment` the id of the newest decision's review.
    """

    store = models.ForeignKey(MemoryStore, models.CASCADE, db_index=False, related_name="+")
    memory = within_store("memoryhub.Memory", null=True)
    thread = IdField()
    comment = IdField()
    to = models.ForeignKey(User, models.CASCADE, db_index=False, related_name="+")
    is_mention = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "thread", "to"], name="noticed_once")]
        indexes = [models.Index(fields=["to", "store", "comment"], name="notice_to")]

    def __str__(self) -> str:
        return f"{self.comment} to {self.to_id}"

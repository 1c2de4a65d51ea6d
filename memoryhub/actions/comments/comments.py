"""People's comments on memories, and conversations about memories and proposals.

Each act makes one audit entry, without the text. Sensitive values are masked by the store's rules. Agents see only
comments that are notes to them (see `core.notes_to_agents`).
"""

import unicodedata
from dataclasses import dataclass
from typing import Any

from memoryhub.actions.comments import addressee, notices
from memoryhub.actions.comments.anchors import Lines
from memoryhub.actions.core import audit, notes_to_agents, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Comment, Memory, MemoryVersion, Notice, Proposal
from memoryhub.models.comments import CommentQuerySet
from memoryhub.pure import ids
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.text import count_lines

LONGEST = 4_000
"""The most characters of a comment."""

MOST = 500
"""The most comments on one memory or proposal."""

Subject = Memory | Proposal
"""The memory or the proposal that a comment is about."""

LONGEST_NOTE, MOST_NOTES = 500, 10
"""The most characters of a note to an agent, and the most notes that wait at one memory."""


class NoSuchComment(Exception):
    """The comment was deleted, or the comment, its memory or its proposal was removed."""


class NotTheAuthor(Exception):
    """A person tried to change the comment of another author."""


class TooMany(Exception):
    """The memory or the proposal already has as many comments as it may have (MOST)."""


class NotANote(Exception):
    """The text cannot be a note (it has several lines or invisible characters, or is too long), or the chosen agent is
    not the one to which the comment can be addressed."""


class TooManyNotes(Exception):
    """The memory has MOST_NOTES notes that no agent has received yet."""


class NoSuchLines(Exception):
    """The version does not have the lines to which the comment should belong."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an act on a comment: the comment's id, and the seq of the audit entry (None: nothing changed)."""

    comment: str
    seq: int | None


def write(
    store_id: str, memory_id: str, version_id: str, lines: Lines | None, text: str, act: Act, *, tell: str = ""
) -> Done:
    """Begin a thread on a version of a memory: on its lines `lines`, or on the memory as a whole (None).

    `tell` is the id of the agent that gets the comment as a note ("": none); see `addressee.agent_of`. Raises ToolError
    if the memory store is archived. Also raises NoSuchComment, NoSuchLines, TooMany, NotANote and TooManyNotes.
    """
    version = _version(store_id, memory_id, version_id, lines)
    agent = addressee.agent_of(version.memory, version.number, lines)
    with tree.locked(store_id, act) as store:
        memory = _memory(store, memory_id)
        about = {"number": version.number, "first": lines and lines[0], "last": lines and lines[1]}
        comment = added(store, memory, text, agent=agent.pk if agent else None, tell=tell, **about)
        return Done(comment.pk, tree.commit(store, _record("comment", memory, comment, version.pk)))


def reply(store_id: str, thread: str, text: str, act: Act, *, tell: str = "") -> Done:
    """Add a comment to a thread.

    Raises ToolError if the memory store is archived. Also raises NoSuchComment, TooMany, NotANote and TooManyNotes.
    """
    with tree.locked(store_id, act) as store:
        first = _comment(store, thread)
        subject, own = _subject(store, first), {"number": first.number, "thread": first.thread}
        comment = added(store, subject, text, agent=first.agent, tell=tell, **own)
        return Done(comment.pk, tree.commit(store, _record("reply", subject, comment)))


def edit(store_id: str, comment_id: str, text: str, act: Act) -> Done:
    """Replace the text of one's own comment.

    Raises ToolError if the memory store is archived; NotANote if the comment is an undelivered note, and the new text
    cannot be a note. Also raises NoSuchComment and NotTheAuthor.
    """
    with tree.locked(store_id, act) as store:
        comment = _own(store, comment_id)
        subject = _subject(store, comment)
        if comment.waits:
            _require_note(text)
        masked = _masked(store, text)
        if masked == comment.text:
            return Done(comment_id, None)
        Comment.objects.of_store(store_id).filter(pk=comment_id).update(text=masked, edited_at=act.at)
        notices.add(comment, text, before=comment.text)
        return Done(comment_id, tree.commit(store, _record("edit_comment", subject, comment)))


def delete(store_id: str, comment_id: str, act: Act, *, of_others: bool) -> Done:
    """Delete a comment's text; the thread stays. With `of_others`, the actor may also delete comments of other people.

    Raises ToolError if the memory store is archived. Also raises NoSuchComment and NotTheAuthor.
    """
    with tree.locked(store_id, act) as store:
        comment = _there(store, comment_id) if of_others else _own(store, comment_id)
        subject = _subject(store, comment)
        _withdraw(comment)
        Comment.objects.of_store(store_id).filter(pk=comment_id).update(text="", removed_at=act.at)
        Notice.objects.filter(store_id=store_id, comment=comment_id).delete()
        return Done(comment_id, tree.commit(store, _record("delete_comment", subject, comment)))


def withdraw(store_id: str, comment_id: str, act: Act, *, of_others: bool) -> Done:
    """If a comment is a note that no agent has received yet, make it a plain comment, which no agent receives.

    With `of_others`, the actor may also do this to comments of other people. Raises NoSuchComment, NotTheAuthor and
    ToolError.
    """
    with tree.locked(store_id, act) as store:
        comment = _there(store, comment_id) if of_others else _own(store, comment_id)
        subject = _subject(store, comment)
        if not _withdraw(comment):
            return Done(comment_id, None)
        return Done(comment_id, tree.commit(store, _record("withdraw_note", subject, comment)))


def resolve(store_id: str, thread: str, act: Act, *, resolved: bool = True) -> Done:
    """Resolve a thread, or reopen it. Raises NoSuchComment and ToolError."""
    with tree.locked(store_id, act) as store:
        first = Comment.objects.of_store(store_id).first_ones().filter(pk=thread).first()
        if first is None:
            raise NoSuchComment
        subject = _subject(store, first)
        if (first.resolved_at is not None) == resolved:
            return Done(thread, None)
        at, by = (act.at, act.actor.id) if resolved else (None, None)
        Comment.objects.of_store(store_id).filter(pk=thread).update(resolved_at=at, resolved_by_id=by)
        Notice.objects.filter(store_id=store_id, thread=thread, to_id=act.actor.id).delete()
        command = "resolve_comments" if resolved else "reopen_comments"
        return Done(thread, tree.commit(store, _record(command, subject, first)))


def _withdraw(comment: Comment) -> bool:
    """Take back a comment's note to an agent, if no agent has received it yet. Return whether there was such a note."""
    if comment.waits:
        Comment.objects.of_store(comment.store_id).filter(pk=comment.pk).update(tells=False)
        if comment.memory_id:
            notes_to_agents.count(comment.store_id, comment.memory_id, -1)
    return comment.waits


def _version(store_id: str, memory_id: str, version_id: str, lines: Lines | None) -> MemoryVersion:
    """Return the version that a comment is about. Raises NoSuchComment and NoSuchLines."""
    versions = MemoryVersion.objects.among(store_id, [version_id]).select_related("text", "memory")
    version = versions.filter(memory_id=memory_id).first()
    if version is None:
        raise NoSuchComment
    if lines is not None:
        content = version.text.content if version.text else ""
        if not 1 <= lines[0] <= lines[1] <= count_lines(content):
            raise NoSuchLines
    return version


def can_be_note(text: str) -> bool:
    """Return whether a text can be a note: one line, not too long, and without invisible characters."""
    return len(text) <= LONGEST_NOTE and not any(unicodedata.category(one) in results.UNSEEN_CATEGORIES for one in text)


def _require_note(text: str) -> None:
    """Raise NotANote if a text cannot be a note."""
    if not can_be_note(text):
        raise NotANote


def _memory(store: Tree, memory_id: str) -> Memory:
    tree.require_active(store)
    memory = Memory.objects.filter(store_id=store.store, pk=memory_id).first()
    if memory is None:
        raise NoSuchComment
    return memory


def _subject(store: Tree, comment: Comment) -> Subject:
    """Return the memory or the proposal that a comment is about.

    Raises ToolError if the memory store is archived. Also raises NoSuchComment.
    """
    if comment.memory_id:
        return _memory(store, comment.memory_id)
    tree.require_active(store)
    proposal = Proposal.objects.of_store(store.store).filter(pk=comment.proposal).first()
    if proposal is None:
        raise NoSuchComment
    return proposal


def _comment(store: Tree, comment_id: str) -> Comment:
    comment = Comment.objects.of_store(store.store).filter(pk=comment_id).first()
    if comment is None:
        raise NoSuchComment
    return comment


def _there(store: Tree, comment_id: str) -> Comment:
    """Return a comment that is not deleted. Raises NoSuchComment."""
    comment = _comment(store, comment_id)
    if comment.removed_at is not None:
        raise NoSuchComment
    return comment


def _own(store: Tree, comment_id: str) -> Comment:
    comment = _there(store, comment_id)
    if comment.by_id != store.act.actor.id:
        raise NotTheAuthor
    return comment


def added(store: Tree, subject: Subject, text: str, *, agent: str | None, tell: str, **columns: Any) -> Comment:
    """Add a comment in a transaction whose entry must follow.

    `agent` is the id of the agent to which the comment can be addressed. If `tell` is the same id, the comment becomes
    a note. Raises TooMany, NotANote and TooManyNotes.
    """
    if _comments_on(subject).count() >= MOST:
        raise TooMany
    if tell:
        if tell != agent:
            raise NotANote
        _require_note(text)
        _count_note(subject)
    id = ids.new_id(ids.COMMENT, store.at)
    about = {"memory": subject} if isinstance(subject, Memory) else {"proposal": subject.pk}
    comment = Comment.objects.create(
        id=id,
        store_id=store.store,
        text=_masked(store, text),
        by_id=store.act.actor.id,
        at=store.at,
        seq=store.seq,
        agent=agent,
        tells=bool(tell),
        **about | {"thread": id} | columns,
    )
    notices.add(comment, text)
    return comment


def _comments_on(subject: Subject) -> CommentQuerySet:
    if isinstance(subject, Memory):
        return Comment.objects.of_memory(subject.store_id, subject.pk)
    return Comment.objects.of_proposals(subject.store_id, [subject.pk])


def _count_note(subject: Subject) -> None:
    """Add one to a memory's count of undelivered notes. Raises TooManyNotes if the memory has MOST_NOTES.

    Notes on a proposal are not counted.
    """
    if isinstance(subject, Memory):
        if subject.waiting_notes >= MOST_NOTES:
            raise TooManyNotes
        notes_to_agents.count(subject.store_id, subject.pk, 1)


def _masked(store: Tree, text: str) -> str:
    """Return a text as it is stored: masked by the rules of the memory store, and without NUL characters."""
    # PostgreSQL cannot store NUL.
    return store.ruling.masked(text.replace("\0", "\ufffd"))


def _record(command: str, subject: Subject, comment: Comment, version: str | None = None) -> Record:
    details: dict[str, object] = {"comment": comment.pk}
    details |= {} if comment.thread == comment.pk else {"thread": comment.thread}
    details |= {} if version is None else {"version": version}
    details |= {"tells": comment.agent} if comment.tells else {}
    details |= {} if comment.first is None else {"first": comment.first, "last": comment.last}
    if isinstance(subject, Proposal):
        details |= {"proposal": subject.pk, "number": subject.number}
        return Record(command, input=audit.to_json(details))
    return Record(command, path=subject.path, memory=subject.pk, input=audit.to_json(details))

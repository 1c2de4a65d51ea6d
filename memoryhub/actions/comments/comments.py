"""People's comments on memories. Agents never see them. Each act is one audit entry, which does not contain the text.

A comment is sealed by the audit like other governing rows. Values that the rules of the memory store keep out of it are
masked in comments as they are in notes.
"""

from dataclasses import dataclass

from memoryhub import ids
from memoryhub.actions.comments import notices
from memoryhub.actions.comments.anchors import Lines
from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.tree import Tree
from memoryhub.models import Comment, Memory, MemoryVersion, Notice
from memoryhub.protocol.text import count_lines

LONGEST = 4_000
"""The most characters of a comment."""

MOST = 500
"""The most comments on one memory."""


class NoSuchComment(Exception):
    """The comment or the memory has been removed, or the comment is deleted."""


class NotTheAuthor(Exception):
    """Only its author changes a comment."""


class TooMany(Exception):
    """The memory has MOST comments."""


class NoSuchLines(Exception):
    """The version does not have these lines."""


@dataclass(frozen=True, slots=True)
class Done:
    """The id of the comment, and the number of the audit entry; None if nothing changed."""

    comment: str
    seq: int | None


def write(store_id: str, memory_id: str, version_id: str, lines: Lines | None, text: str, act: Act) -> Done:
    """Begin a thread on a version of a memory: on some of its lines, or on the memory as a whole.

    Raises NoSuchComment, NoSuchLines, TooMany, and ToolError if the memory store is archived.
    """
    with tree.locked(store_id, act) as store:
        memory = _memory(store, memory_id)
        versions = MemoryVersion.objects.among(store_id, [version_id]).select_related("text")
        version = versions.filter(memory_id=memory_id).first()
        if version is None:
            raise NoSuchComment
        if lines is not None:
            content = version.text.content if version.text else ""
            if not 1 <= lines[0] <= lines[1] <= count_lines(content):
                raise NoSuchLines
        comment = _new(store, memory, text, number=version.number, lines=lines)
        return Done(comment.pk, tree.commit(store, _record("comment", memory, comment, version.pk)))


def reply(store_id: str, thread: str, text: str, act: Act) -> Done:
    """Add a comment to a thread. Raises NoSuchComment, TooMany, and ToolError if the memory store is archived."""
    with tree.locked(store_id, act) as store:
        first = _comment(store, thread)
        memory = _memory(store, first.memory_id)
        comment = _new(store, memory, text, number=first.number, thread=first.thread)
        return Done(comment.pk, tree.commit(store, _record("reply", memory, comment)))


def edit(store_id: str, comment_id: str, text: str, act: Act) -> Done:
    """Replace the text of one's own comment. Raises NoSuchComment, NotTheAuthor and ToolError."""
    with tree.locked(store_id, act) as store:
        comment = _own(store, comment_id)
        masked = _masked(store, text)
        if masked == comment.text:
            return Done(comment_id, None)
        Comment.objects.of_store(store_id).filter(pk=comment_id).update(text=masked, edited_at=act.at)
        notices.tell(comment, text, before=comment.text)
        return Done(comment_id, tree.commit(store, _record("edit_comment", _memory(store, comment.memory_id), comment)))


def delete(store_id: str, comment_id: str, act: Act, *, of_others: bool) -> Done:
    """Delete a comment: its text is gone, and the thread stays. With `of_others` it may be by somebody else.

    Raises NoSuchComment, NotTheAuthor and ToolError.
    """
    with tree.locked(store_id, act) as store:
        comment = _there(store, comment_id) if of_others else _own(store, comment_id)
        memory = _memory(store, comment.memory_id)
        Comment.objects.of_store(store_id).filter(pk=comment_id).update(text="", removed_at=act.at)
        Notice.objects.filter(store_id=store_id, comment=comment_id).delete()
        return Done(comment_id, tree.commit(store, _record("delete_comment", memory, comment)))


def resolve(store_id: str, thread: str, act: Act, *, resolved: bool = True) -> Done:
    """Resolve a thread, or reopen it. Raises NoSuchComment and ToolError."""
    with tree.locked(store_id, act) as store:
        first = Comment.objects.of_store(store_id).first_ones().filter(pk=thread).first()
        if first is None:
            raise NoSuchComment
        memory = _memory(store, first.memory_id)
        if (first.resolved_at is not None) == resolved:
            return Done(thread, None)
        at, by = (act.at, act.actor.id) if resolved else (None, None)
        Comment.objects.of_store(store_id).filter(pk=thread).update(resolved_at=at, resolved_by_id=by)
        Notice.objects.filter(store_id=store_id, thread=thread, to_id=act.actor.id).delete()
        command = "resolve_comments" if resolved else "reopen_comments"
        return Done(thread, tree.commit(store, _record(command, memory, first)))


def _memory(store: Tree, memory_id: str) -> Memory:
    tree.require_active(store)
    memory = Memory.objects.filter(store_id=store.store, pk=memory_id).first()
    if memory is None:
        raise NoSuchComment
    return memory


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


def _new(
    store: Tree, memory: Memory, text: str, *, number: int, lines: Lines | None = None, thread: str = ""
) -> Comment:
    if Comment.objects.of_memory(store.store, memory.pk).count() >= MOST:
        raise TooMany
    id = ids.new_id(ids.COMMENT, store.at)
    first, last = lines or (None, None)
    comment = Comment.objects.create(
        id=id,
        store_id=store.store,
        memory=memory,
        thread=thread or id,
        number=number,
        first=first,
        last=last,
        text=_masked(store, text),
        by_id=store.act.actor.id,
        at=store.at,
        seq=store.seq,
    )
    notices.tell(comment, text)
    return comment


def _masked(store: Tree, text: str) -> str:
    """Return a text as it is kept. PostgreSQL cannot store NUL."""
    return store.ruling.masked(text.replace("\0", "\ufffd"))


def _record(command: str, memory: Memory, comment: Comment, version: str | None = None) -> Record:
    details: dict[str, object] = {"comment": comment.pk}
    details |= {} if comment.thread == comment.pk else {"thread": comment.thread}
    details |= {} if version is None else {"version": version}
    details |= {} if comment.first is None else {"first": comment.first, "last": comment.last}
    return Record(command, path=memory.path, memory=memory.pk, input=audit.to_json(details))

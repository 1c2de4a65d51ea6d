"""Tells people of comments that name them, and of answers in conversations in which they take part."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from memoryhub.actions.core.transactions import writing
from memoryhub.models import Comment, MemoryStore, Notice, User


def readers_of(store_id: str) -> Sequence[User]:
    """Return the active people who may read the comments of a memory store, by name."""
    with_role = Q(is_superuser=True) | Q(memberships__store_id=store_id)
    found = User.objects.filter(with_role, is_active=True).distinct()
    return sorted(found, key=lambda user: str(user).casefold())


def named_in(text: str, people: Iterable[User]) -> set[str]:
    """Return the ids of the people whose name or e-mail address stands in a text after an `@`.

    Case does not matter. Of two names of which one begins the other, the longer one counts.
    """
    ids: dict[str, set[str]] = {}
    for user in people:
        for name in (str(user), user.email):
            ids.setdefault(name.casefold(), set()).add(user.pk)
    if "@" not in text or not ids:
        return set()
    names = "|".join(re.escape(name) for name in sorted(ids, key=len, reverse=True))
    found = re.findall(rf"(?<!\w)@({names})(?!\w)", text.casefold())
    return {pk for name in found for pk in ids[name]}


def tell(comment: Comment, text: str, before: str = "") -> None:
    """Note whom a comment with this text concerns, in its transaction: the people whom it names, and those who wrote in
    its thread before.

    With `before`, the comment had that text: only the people are told whom the new text names in addition, and those
    are no longer told whom it no longer names. Whoever was named and has not put that away stays told of that comment.
    What the author had not put away in the thread is put away.
    """
    people = readers_of(comment.store_id)
    names, names_before = named_in(text, people), named_in(before, people)
    named = names - names_before - {comment.by_id}
    here = Notice.objects.filter(store_id=comment.store_id, thread=comment.thread)
    here.filter(comment=comment.pk, to_id__in=names_before - names).delete()
    told = set(named)
    if not before:
        writers = Comment.objects.of_thread(comment.store_id, comment.thread).values_list("by_id", flat=True)
        told |= ({user.pk for user in people} & set(writers)) - {comment.by_id}
    told -= set(here.filter(to_id__in=told - named, is_mention=True).values_list("to_id", flat=True))
    here.filter(to_id__in=[*told, *([comment.by_id] if comment.by_id else [])]).delete()
    row: dict[str, Any] = {
        "store_id": comment.store_id, "memory_id": comment.memory_id, "thread": comment.thread
    }  # fmt: skip
    Notice.objects.bulk_create(
        Notice(**row, comment=comment.pk, to_id=id, is_mention=id in named) for id in sorted(told)
    )


def waiting_for(user: User, stores: Collection[str] | QuerySet[Any, Any]) -> QuerySet[Notice]:
    """Return what a person was told of in these stores and has not put away, newest first."""
    return Notice.objects.filter(store_id__in=stores, to=user).order_by("-comment")


def put_away(store: MemoryStore, thread: str, user: User) -> None:
    """Forget that a person was told of a thread."""
    with writing():
        Notice.objects.filter(store_id=store.pk, thread=thread, to=user).delete()

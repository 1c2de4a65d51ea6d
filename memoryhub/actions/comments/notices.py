"""Notifies people of comments that name them, and of answers in conversations in which they take part."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from memoryhub.actions.core.hub import outbox
from memoryhub.actions.core.transactions import writing
from memoryhub.models import Comment, MailKind, MemoryStore, Notice, Role, User

LONGEST_NAME = 400
"""The most characters after an `@` that can be a name."""

_WORD = re.compile(r"[\w.-]*\w|\S")


def readers_of(store_id: str) -> Sequence[User]:
    """Return the active people who may read the comments of a memory store, sorted by name."""
    with_role = Q(is_superuser=True) | Q(memberships__store_id=store_id)
    found = User.objects.filter(with_role, is_active=True).distinct()
    return sorted(found, key=lambda user: str(user).casefold())


def who_only_read(store_id: str) -> set[str]:
    """Return the ids of the viewers of a memory store. They get notices of comments, but cannot answer."""
    viewers = User.objects.filter(memberships__store_id=store_id, memberships__role=Role.VIEWER, is_superuser=False)
    return set(viewers.values_list("pk", flat=True))


def named_in(text: str, people: Sequence[User]) -> set[str]:
    """Return the ids of the people whom a text names after an `@`."""
    return {pk for _, ids in mentions(text, people) for pk in ids}


def mentions(text: str, people: Sequence[User]) -> list[tuple[str, set[str]]]:
    """Return (word, ids of the people) for each `@` that begins a word. The ids are empty if the word names no one.

    After the `@` comes a person's name or e-mail address, or a first name that only one member has. Upper and lower
    case do not matter. The longest fitting name counts.
    """
    if "@" not in text:
        return []
    ids: dict[str, set[str]] = {}
    for user in people:
        for name in (str(user), user.email):
            ids.setdefault(name.casefold(), set()).add(user.pk)
    first = {name: {pk} for name, pk in _first_names(people).items() if name not in ids}
    ends = ((ids, r"(?!\w)"), (first, r"(?![.@-]?\w)"))
    named = re.compile("|".join(f"({_one_of(names)}){end}" for names, end in ends if names) or r"(?!)")
    found: list[tuple[str, set[str]]] = []
    for at in re.finditer(r"(?<!\w)@(?=\S)", text):
        rest = text[at.end() : at.end() + LONGEST_NAME]
        match, word = named.match(rest.casefold()), _WORD.match(rest)
        found.append((word[0] if word else "", (first | ids)[match[0]] if match else set()))
    return found


def _first_names(people: Iterable[User]) -> dict[str, str]:
    """Return {first name: person's id} of the first names that only one member has."""
    ids: dict[str, list[str]] = {}
    for user in people:
        first, _space, rest = user.name.casefold().partition(" ")
        if rest and first.replace("-", "").isalnum() and not user.is_superuser:
            ids.setdefault(first, []).append(user.pk)
    return {first: pks[0] for first, pks in ids.items() if len(pks) == 1}


def _one_of(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def add(comment: Comment, text: str, before: str = "") -> None:
    """Store notices of a comment for the people whom `text` names, and for earlier writers in the comment's thread.

    Call this function in the transaction that writes the comment. After an edit, `before` is the earlier text. Then
    only people whom the earlier text did not name get notices, and people whom `text` no longer names lose theirs. The
    author's own notices of the thread are dismissed.
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
    at = comment.edited_at or comment.at
    outbox.put(MailKind.MENTION, sorted(named), at, store=comment.store_id, about=comment.pk)


def waiting_for(user: User, stores: Collection[str] | QuerySet[Any, Any]) -> QuerySet[Notice]:
    """Return the notices of a person in these stores that the person has not dismissed, newest first."""
    return Notice.objects.filter(store_id__in=stores, to=user).order_by("-comment")


def gone_from(store_id: str, comments: Collection[Comment]) -> dict[str, list[User]]:
    """Return {comment: people whom it mentions, who have not answered, and who can no longer read it}."""
    mentioning = [comment.pk for comment in comments if "@" in comment.text]
    if not mentioning:
        return {}
    told = Notice.objects.filter(store_id=store_id, comment__in=mentioning, is_mention=True)
    gone: dict[str, list[User]] = {}
    for notice in told.exclude(to__in=[user.pk for user in readers_of(store_id)]).select_related("to").order_by("pk"):
        gone.setdefault(notice.comment, []).append(notice.to)
    return gone


def put_away(store: MemoryStore, thread: str, user: User) -> None:
    """Delete a person's notices of a thread."""
    with writing():
        Notice.objects.filter(store_id=store.pk, thread=thread, to=user).delete()

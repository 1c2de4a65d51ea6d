"""The page of a conversation: its comments, and the lines that it is about, in their former and their current text."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actions.comments import notices
from memoryhub.models import Comment, Memory, MemoryStore, MemoryVersion, Proposal, ProposedChange, Role
from memoryhub.web.comments import on_proposal, threads
from memoryhub.web.comments.threads import Thread
from memoryhub.web.common import addresses
from memoryhub.web.common.guards.access import in_store, person
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_versions
from memoryhub.web.common.texts import masking
from memoryhub.web.common.texts.lines import Lines, numbered_lines
from memoryhub.web.common.versions import memory_of

MOST_QUOTED = 20
"""The most lines that are quoted above a conversation."""


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore, comment_id: str) -> HttpResponse:
    """Show the conversation of a comment."""
    comment = Comment.objects.of_store(store.pk).filter(pk=comment_id).first()
    if comment is None:
        raise Http404
    return shown(request, store, comment)


def shown(request: Request, store: MemoryStore, comment: Comment, **more: Any) -> HttpResponse:
    """Return the page of the conversation of a comment. Raises Http404 if all its comments are deleted."""
    told = notices.waiting_for(person(request), [store.pk]).filter(thread=comment.thread).exists()
    if comment.memory_id is None:
        proposal = Proposal.objects.of_store(store.pk).filter(pk=comment.proposal).first()
        if proposal is None:
            raise Http404
        thread = _found(on_proposal.of_proposal(proposal), comment)
        forms = threads.for_forms(request, store)
        path = _path(proposal, thread.first)
        page = context(request, store, proposal=proposal, thread=thread, told=told, path=path, **forms, **more)
        return render(request, "comments/conversation.html", page)
    memory = memory_of(store, comment.memory_id)
    head = MemoryVersion.objects.among(store.pk, [memory.head_id]).values_list("number", flat=True).get()
    thread = _found(threads.of_memory(memory, head), comment)
    versions = MemoryVersion.objects.of_memory(memory).select_related("text")
    version = versions.filter(number=thread.first.number).first()
    quoted = _quoted(store, memory, version, thread.first)
    if quoted is not None:
        shows_versions(request, store, [version])
    of_page = {"thread": thread, "version": version, "quoted": quoted, "told": told, **more}
    return render(request, "comments/conversation.html", page_context(request, store, memory, **of_page))


def _path(proposal: Proposal, first: Comment) -> str | None:
    """Return the path of the memory in a proposal that a conversation is about, or None if it is about no memory."""
    changes = ProposedChange.objects.of_proposal(proposal).filter(Q(pk=first.change) | Q(memory=first.change))
    return changes.values_list("path", flat=True).last() if first.change else None


def _found(conversations: Iterable[Thread], comment: Comment) -> Thread:
    found = next((one for one in conversations if one.first.pk == comment.thread), None)
    if found is None:
        raise Http404
    return found


def page_context(request: Request, store: MemoryStore, memory: Memory, **more: Any) -> dict[str, Any]:
    """Return the template context of a page about comments on a memory."""
    crumbs = addresses.crumbs(store.pk, store.name, memory.path)
    of_memory = {"memory": memory, "crumbs": crumbs, "path": memory.path}
    return context(request, store, **of_memory, **threads.for_forms(request, store), **more)


def _quoted(store: MemoryStore, memory: Memory, version: MemoryVersion | None, first: Comment) -> Lines | None:
    """Return the lines on which a conversation began, at most MOST_QUOTED, with sensitive values masked. Return None if
    it began on no lines."""
    if version is None or version.content is None or first.first is None:
        return None
    seen = masking.shown(version.content, masking.cover_of(store.pk, memory.pk))
    last = min(first.last or first.first, first.first + MOST_QUOTED - 1)
    return numbered_lines(seen.text or "", first.first, seen.signs, last=last)

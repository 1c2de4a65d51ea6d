"""Writing, answering, changing, deleting and resolving comments."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memoryhub.actions.comments import addressee, comments, notices
from memoryhub.actions.comments.comments import LONGEST
from memoryhub.models import Comment, Memory, MemoryStore, Role
from memoryhub.web.comments import conversation, threads
from memoryhub.web.comments.conversation import page_context
from memoryhub.web.comments.refusals import REFUSALS, why
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import came_from, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import memory_of, version_of

ANSWERS = ("reply", "edit", "delete", "withdraw", "resolve", "reopen")


@require_POST
@in_store(Role.CURATOR)
def begin(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Begin a conversation about lines of a version, or about the memory as a whole."""
    memory = memory_of(store, memory_id)
    version = version_of(store, request.POST.get("version", ""))
    written = request.POST.get("lines", "")
    lines = threads.lines_of(written)
    text, problem = _text(request)
    if written and lines is None:
        problem = _("These are not numbers of lines. Write one number, or two with a hyphen between them: 5-8.")
    if not problem:
        try:
            tell = request.POST.get("tell", "")
            done = comments.write(store.pk, memory.pk, version.pk, lines, text, act(request), tell=tell)
            if request.htmx:
                return _answer_about_note(request, store, memory, version.number, comment=done.comment)
            return see_other(_place(request, reverse("memory", args=[store.pk, memory.pk]), done.comment))
        except comments.NoSuchLines:
            problem = _("The text does not have these lines.")
        except REFUSALS as error:
            problem = why(error)
    if request.htmx:
        return _answer_about_note(request, store, memory, version.number, problem=problem)
    shown = {"problem": problem, "text": text, "written": written, "version_id": version.pk, "next": came_from(request)}
    shown |= {"tell": request.POST.get("tell"), "agent": addressee.agent_of(memory, version.number, lines)}
    return render(request, "comments/begin.html", page_context(request, store, memory, **shown))


def _answer_about_note(request: Request, store: MemoryStore, memory: Memory, number: int, **more: str) -> HttpResponse:
    """Answer with a sentence that says whether the agent will read the note that the person sent to it."""
    agent = addressee.agent_of(memory, number, None)
    return render(
        request, "comments/_answer_about_note.html", {"store": store, "memory": memory, "agent": agent, **more}
    )


@require_POST
@in_store(Role.CURATOR)
def answer(request: Request, store: MemoryStore, comment_id: str) -> HttpResponse:
    """Do the act in the form field `do`.

    The acts are: reply to a conversation, resolve or reopen it, change or delete a comment, or stop a note to an agent.
    """
    do = request.POST.get("do", "")
    if do not in ANSWERS:
        return HttpResponseBadRequest(_("There is no such act."))
    comment = Comment.objects.of_store(store.pk).filter(pk=comment_id).first()
    if comment is None:
        raise Http404
    text, problem = _text(request) if do in ("reply", "edit") else ("", "")
    if not problem:
        try:
            done = _done(request, store, comment, do, text)
            return see_other(_place(request, _page_of(comment), done.comment))
        except REFUSALS as error:
            problem = why(error)
    if do not in ("reply", "edit"):
        messages.error(request, problem)
        return see_other(_place(request, _page_of(comment), comment.thread))
    editing, tell = comment.pk if do == "edit" else "", request.POST.get("tell")
    return conversation.shown(request, store, comment, problem=problem, text=text, editing=editing, tell=tell)


@require_POST
@in_store(Role.VIEWER)
def put_away(request: Request, store: MemoryStore, comment_id: str) -> HttpResponse:
    """Dismiss the person's notifications about a conversation; `comment_id` is its first comment."""
    notices.put_away(store, comment_id, person(request))
    return see_other(reverse("today"))


def _done(request: Request, store: MemoryStore, comment: Comment, do: str, text: str) -> comments.Done:
    if do == "reply":
        return comments.reply(store.pk, comment.thread, text, act(request), tell=request.POST.get("tell", ""))
    if do == "edit":
        return comments.edit(store.pk, comment.pk, text, act(request))
    if do in ("delete", "withdraw"):
        remove = comments.delete if do == "delete" else comments.withdraw
        return remove(store.pk, comment.pk, act(request), of_others=request.role.includes(Role.ADMIN))
    return comments.resolve(store.pk, comment.thread, act(request), resolved=do == "resolve")


def _text(request: Request) -> tuple[str, str]:
    """Return the typed text, and a sentence on what is wrong with it (or "")."""
    text = request.POST.get("text", "").replace("\r\n", "\n").strip()
    if not text:
        return text, _("Write something first.")
    if len(text) > LONGEST:
        return text, _("The comment is too long. Use at most %(most)s characters.") % {"most": f"{LONGEST:,}"}
    return text, ""


def _page_of(comment: Comment) -> str:
    """Return the URL of the page of the text or the proposal that a comment is about."""
    if comment.memory_id:
        return reverse("memory", args=[comment.store_id, comment.memory_id])
    return reverse("comment", args=[comment.store_id, comment.thread])


def _place(request: Request, page: str, comment_id: str) -> str:
    """Return the URL of the comment on the page that the form names in `next`, or else on `page`."""
    page = came_from(request).partition("#")[0] or page
    if "@" in request.POST.get("text", ""):
        page += f"{'&' if '?' in page else '?'}told={comment_id}"
    return f"{page}#{comment_id}"

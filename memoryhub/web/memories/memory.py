"""The pages of one memory: showing, creating, editing, renaming, deleting and downloading it."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryhub.actions.core.plans import NOWHERE
from memoryhub.actions.findings import findings
from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, MemoryVersion, Role
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text import visible
from memoryhub.templatetags.visible import isolated
from memoryhub.web.comments import threads
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.forms import NoteForm
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows, shows_versions
from memoryhub.web.common.texts import lines, markdown, masking
from memoryhub.web.common.tool_errors import for_people, for_writer, is_about_text
from memoryhub.web.common.versions import closing
from memoryhub.web.common.versions.undo_banner import tell_done
from memoryhub.web.memories import branches, conflict as memories_conflict, facts, life_line
from memoryhub.web.memories.forms import EditForm, NewMemoryForm, RenameForm
from memoryhub.web.memories.overrides import ask_reason, said_of_masked
from memoryhub.web.path_rules.about import limits_at

LINES, RENDERED = "lines", "rendered"


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Show a memory's text and facts; for a memory in the trash, its last text and a button to restore it."""
    memory = facts.find(store, memory_id, live=False)
    seen = masking.shown(facts.content(memory), masking.cover_of(store.id, memory.id))
    content = seen.text
    view = RENDERED if request.GET.get("view") == RENDERED else LINES
    shown: dict[str, Any] = {"view": view, "content": content, "seen": seen, "facts": facts.of(memory)}
    shown["life"] = life_line.of(memory)
    first = _number(request.GET.get("from", ""))
    numbers = lines.shown_lines(content if view == LINES else None, first)
    talks = threads.beside(request, store, memory, (memory.head_id, memory.head.number), numbers)
    shown |= {"talks": talks, **threads.for_forms(request, store)}
    if content is not None and view == RENDERED:
        shown["rendered"] = markdown.render(content)
    elif content is not None:
        shown["lines"] = lines.numbered_lines(content, first, seen.signs, below=talks.below)
    shown["has_hidden"] = content is not None and visible.has_hidden(content)
    shown["limits"] = limits_at(store, memory.path) if memory.is_live else []
    if not memory.is_live:
        shown["to_restore"] = facts.last_with_text(memory)
    if content is not None:
        shows_versions(request, store, [shown.get("to_restore", memory.head)])
    return render(request, "memories/page.html", _context(request, store, memory, **shown))


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def new(request: Request, store: MemoryStore) -> HttpResponse:
    """Create a memory at a path."""
    posted = request.POST if request.method == "POST" else None
    form = NewMemoryForm(store, posted, initial={"path": request.GET.get("path", "")})
    if posted is not None and form.is_valid():
        given = form.cleaned_data
        try:
            done = curation.create(
                store.id, given["path"], given["content"], act(request, given["note"]), override=given["override"]
            )
        except ToolError as error:
            form.add_error("text" if is_about_text(error) else "path", for_writer(error))
        except findings.NeedsReason as needed:
            ask_reason(form, needed)
        else:
            said = _("%(path)s was created.") % {"path": isolated(given["path"])}
            messages.success(request, said + said_of_masked(done.masked))
            return see_other("memory", store.id, str(done.memory))
    text = str(form["text"].value() or "")
    here = addresses.of_directory(store.id, paths.ROOT_DIRECTORY)
    shown = {"form": form, "has_hidden": _has_hidden(text), "name": store.name, "here": here}
    tree = branches.opened(store, "")
    return render(request, "memories/new.html", pages.context(request, store, tree=tree, **shown))


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def edit(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Save a new text. If someone else has saved a newer version since the editor was opened, show the conflict
    page."""
    memory = facts.find(store, memory_id, live=request.method != "POST")
    if request.method != "POST" or "reveal" in request.POST:
        return _opened(request, store, memory)
    form = EditForm(request.POST)
    if not form.is_valid():
        return _edit_page(request, store, memory, form)
    if merge := memories_conflict.unfinished(memory, form, request.POST.dict()):
        return _merge_page(request, store, memory, merge)
    given, merged = form.cleaned_data, form.merged
    try:
        done = curation.edit(
            store.id,
            memory.id,
            given["content"],
            given["sha256"],
            act(request, given["note"]),
            merged=merged,
            reviewed=given["review"] or None,
            override=given["override"],
        )
    except (findings.NeedsReason, ToolError) as error:
        if isinstance(error, ToolError):
            form.add_error("text", for_writer(error))
        else:
            ask_reason(form, error)
        return _edit_page(request, store, memory, form)
    except curation.Conflict as conflict:
        return _merge_page(request, store, memory, memories_conflict.merge_page(memory, form, conflict))
    _tell_saved(request, memory, form, done)
    return see_other("review") if given["review"] else see_other("memory", store.id, memory.id)


def _opened(request: Request, store: MemoryStore, memory: Memory) -> HttpResponse:
    """Show the editor, or ask first if this would reveal masked values."""
    content = facts.content(memory)
    if content is None:
        raise Http404
    review, revealed = (request.POST or request.GET).get("review", ""), "reveal" in request.POST
    seen = masking.shown(content, masking.cover_of(store.id, memory.id))
    if seen.count and not revealed:
        return render(request, "findings/before_edit.html", _context(request, store, memory, seen=seen, review=review))
    shows(request, store, [(memory.pk, memory.head_id)])
    page = _edit_page(request, store, memory, EditForm.of(memory, content, review))
    if seen.count:
        findings.reveal(store.id, memory.head_id, act(request))
        page.headers["Cache-Control"] = "no-store"
    return page


def _merge_page(
    request: Request, store: MemoryStore, memory: Memory, merge: memories_conflict.MergePage
) -> HttpResponse:
    """Show the conflict page, and audit the masked values that it reveals."""
    has_hidden = _has_hidden(str(merge.form["text"].value() or ""))
    cover = masking.cover_of(store.id, memory.id)
    if merge.opened is not None and masking.values_in(merge.opened.content or "", cover):
        findings.reveal(store.id, merge.opened.pk, act(request))
    if merge.theirs is not None and cover:
        findings.reveal(store.id, merge.theirs.pk, act(request))
    shows_versions(request, store, [merge.opened, merge.theirs])
    shown = {"merge": merge, "form": merge.form, "has_hidden": has_hidden}
    return render(request, "memories/conflict.html", _context(request, store, memory, **shown))


def _edit_page(request: Request, store: MemoryStore, memory: Memory, form: EditForm) -> HttpResponse:
    has_hidden = _has_hidden(str(form["text"].value() or ""))
    return render(request, "memories/edit.html", _context(request, store, memory, form=form, has_hidden=has_hidden))


def _tell_saved(request: Request, memory: Memory, form: EditForm, done: curation.Done) -> None:
    now = Memory.objects.among(memory.store_id, [memory.pk]).values("path").first() or {"path": memory.path}
    opened = form.cleaned_data["path"]
    masked = said_of_masked(done.masked)
    if done.version == form.cleaned_data["version"]:
        messages.info(request, _("Nothing was changed, because the text is the same.") + masked)
    elif opened and opened != now["path"]:
        said = _("Saved. While you were editing, the memory was renamed from %(old)s to %(path)s.")
        paths = {"old": isolated(opened), "path": isolated(now["path"])}
        tell_done(request, memory.store_id, said % paths + masked, done.seq)
    else:
        said = _("%(path)s was saved as a new version.") % {"path": isolated(now["path"])}
        made = MemoryVersion.objects.among(memory.store_id, [done.version or ""]).values_list("number", flat=True)
        url = reverse("compare", args=[memory.store_id, memory.pk], query={"to": made.first() or ""})
        link = format_html('<a href="{}">{}</a>', url, _("See the change"))
        tell_done(request, memory.store_id, format_html("{} {}", said + masked, link), done.seq)


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def rename(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Rename a memory; its id and its versions stay the same."""
    memory = facts.find(store, memory_id)
    form = RenameForm(store, request.POST if request.method == "POST" else None, initial={"new_path": memory.path})
    if request.method == "POST" and form.is_valid():
        new_path, note = form.cleaned_data["new_path"], form.cleaned_data["note"]
        try:
            override = form.cleaned_data["override"]
            done = curation.rename(
                store.id, memory.path, new_path, act(request, note), memory_id=memory.id, override=override
            )
        except findings.NeedsReason as needed:
            ask_reason(form, needed)
        except ToolError as error:
            form.add_error("new_path", for_people(error))
        except curation.Conflict:
            form.add_error(
                None,
                _("Nothing was done, because someone has just renamed or deleted this memory. Check it and try again."),
            )
        else:
            said = _("%(old)s is now %(new)s.") % {"old": isolated(memory.path), "new": isolated(new_path)}
            tell_done(request, store.id, said, done.seq)
            return see_other("memory", store.id, memory.id)
    return render(request, "memories/rename.html", _context(request, store, memory, form=form))


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def delete(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Move a memory to the trash. The next page has a button that restores it."""
    memory = facts.find(store, memory_id)
    form = NoteForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            note = form.cleaned_data["note"]
            curation.delete(store.id, memory.path, act(request, note), memory_id=memory.id)
        except curation.Conflict:
            form.add_error(
                None,
                _("Nothing was done, because someone has just renamed or deleted this memory. Check it and try again."),
            )
        except ToolError as error:
            form.add_error(None, for_people(error))
        else:
            place = branches.nearest(store, paths.parent(memory.path)).path
            return see_other(addresses.of_directory(store.id, place, deleted=memory.id))
    closes = closing.closed_by(store.id, {memory.id: NOWHERE})
    return render(request, "memories/delete.html", _context(request, store, memory, form=form, closes=closes))


@require_POST
@in_store(Role.VIEWER)
def download(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Send the text: unchanged to curators and admins, masked to viewers. The download is audited."""
    try:
        memory = curation.note_download(store.id, memory_id, act(request))
    except curation.Conflict as error:
        raise Http404 from error
    content = memory.content
    if not request.role.includes(Role.CURATOR):
        content = masking.masked(content, masking.cover_of(store.id, memory.id))
    response = HttpResponse(content.encode(), content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition_header(True, paths.name(memory.path))
    return response


def _context(request: Request, store: MemoryStore, memory: Memory, **more: Any) -> dict[str, Any]:
    directory = paths.parent(memory.path) if memory.is_live else ""
    return pages.context(
        request,
        store,
        memory=memory,
        crumbs=addresses.crumbs(store.id, store.name, memory.path),
        tree=branches.opened(store, directory, memory if memory.is_live else None),
        path=memory.path,
        name=paths.name(memory.path),
        **more,
    )


def _has_hidden(typed: str) -> bool:
    """Return whether a text has characters that a textarea does not show."""
    return visible.has_hidden(typed.replace("\r\n", "\n"))


def _number(value: str) -> int:
    """Parse a line number from the query; return 1 for anything else."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 1

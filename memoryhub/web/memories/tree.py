"""The pages of directories, and the branches of the tree, which load on demand. The root's page is the store's page."""

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from memoryhub.actions.findings.findings import NeedsReason
from memoryhub.actions.memories import curation
from memoryhub.actions.memories.selection import deletion
from memoryhub.models import Directory, Memory, MemoryStore, MemoryVersion, Role
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.agents import snippets
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.forms import NoteForm
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.versions.undo_banner import tell_done
from memoryhub.web.memories import branches, facts, listing as tree_pages, selection
from memoryhub.web.memories.forms import RenameForm
from memoryhub.web.memories.overrides import ask_reason


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore, path: str) -> HttpResponse:
    """Show the children of the directory at `path`. If a memory is at this path, redirect to the memory."""
    place = _place(path)
    directory = Directory.objects.filter(store=store).at(place).first()
    if directory is None:
        memory = Memory.objects.filter(store=store).at(place).first()
        if memory is None:
            return _gone(request, store, place)
        return redirect("memory", store.id, memory.id)
    listing = tree_pages.children(directory, _after(request))
    shown = pages.context(
        request,
        store,
        directory=directory,
        listing=listing,
        path=place,
        hidden=tree_pages.is_hidden(place),
        crumbs=addresses.crumbs(store.id, store.name, place),
        tree=branches.opened(store, place, listed=None if _after(request) else listing),
        deleted=_deleted(store, request.GET.get("deleted", "")),
        after=_after(request),
        acts=_acts(store.id, place),
        here=addresses.of_directory(store.id, place),
        name=_name(store, place),
    )
    if listing.next:
        shown["next_url"] = addresses.of_directory(store.id, place, after=listing.next)
    if not place and not listing.items:
        shown["snippets"] = snippets.snippets(settings.MEMORYHUB_URL, store.id, "YOUR-KEY")
    return render(request, "memories/tree/page.html" if place else "stores/page.html", shown)


@require_safe
@in_store(Role.VIEWER)
def children(request: Request, store: MemoryStore, path: str) -> HttpResponse:
    """Answer with one page of a directory's children, as HTML for the tree. Without htmx, redirect to the directory."""
    directory = _find(store, path)
    if not request.htmx:
        return redirect(addresses.of_directory(store.id, directory.path))
    return render(request, "memories/tree/_nodes.html", {"branch": branches.branch(directory, _after(request))})


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def rename(request: Request, store: MemoryStore, path: str) -> HttpResponse:
    """Rename a directory with everything in it."""
    directory = _find(store, path)
    form = RenameForm(store, request.POST if request.method == "POST" else None, initial={"new_path": directory.path})
    if request.method == "POST" and form.is_valid():
        given, new_path = form.cleaned_data, form.cleaned_data["new_path"]
        try:
            by = act(request, given["note"])
            done = curation.rename(store.id, directory.path, new_path, by, override=given["override"])
        except ToolError as error:
            form.add_error("new_path", for_people(error))
        except NeedsReason as needed:
            ask_reason(form, needed)
        else:
            said = _("%(old)s is now %(new)s.") % {"old": directory.path, "new": new_path}
            tell_done(request, store.id, said, done.seq)
            return see_other(addresses.of_directory(store.id, new_path))
    return render(request, "memories/tree/rename.html", _context(request, store, directory, form))


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def delete(request: Request, store: MemoryStore, path: str) -> HttpResponse:
    """Move everything in a directory to the trash."""
    directory = _find(store, path)
    form = NoteForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            done = curation.delete(store.id, directory.path, act(request, form.cleaned_data["note"]))
        except ToolError as error:
            form.add_error(None, for_people(error))
        else:
            _tell_deleted(request, store, directory, done)
            place = branches.nearest(store, paths.parent(directory.path)).path
            return see_other(addresses.of_directory(store.id, place))
    if directory.path and deletion.is_held(store.id, directory.path, timezone.now()):
        return selection.ask_to_delete_directory(request, store, directory)
    return render(request, "memories/tree/delete.html", _context(request, store, directory, form))


def _tell_deleted(request: Request, store: MemoryStore, directory: Directory, done: curation.Done) -> None:
    count = MemoryVersion.objects.of_entry(store.id, done.seq).count()
    message = ngettext(
        "%(path)s was deleted: %(count)s memory is now in the trash.",
        "%(path)s was deleted: %(count)s memories are now in the trash.",
        count,
    )
    tell_done(request, store.id, message % {"path": directory.path, "count": count}, done.seq)


def _context(request: Request, store: MemoryStore, directory: Directory, form: NoteForm) -> dict[str, object]:
    path = directory.path
    return pages.context(
        request,
        store,
        directory=directory,
        form=form,
        path=path,
        tree=branches.opened(store, path),
        crumbs=addresses.crumbs(store.id, store.name, path),
        here=addresses.of_directory(store.id, path),
        name=_name(store, path),
    )


def _find(store: MemoryStore, path: str) -> Directory:
    directory = Directory.objects.filter(store=store).at(_place(path)).first()
    if directory is None:
        raise Http404
    return directory


def _place(path: str) -> str:
    """Return the path in a URL with its leading slash; raise Http404 for a path that is not valid."""
    place = f"/{path}" if path else paths.ROOT_DIRECTORY
    try:
        possible = paths.from_tool(paths.ROOT + place) == place
    except ToolError as error:
        raise Http404 from error
    if not possible:
        raise Http404
    return place


def _name(store: MemoryStore, path: str) -> str:
    return paths.name(path) or store.name


def _after(request: Request) -> str:
    return request.GET.get("after", "")


def _acts(store_id: str, path: str) -> dict[str, str]:
    """Return {name: URL} for renaming and deleting a directory; an empty dictionary for the root."""
    names = {"rename": "rename_directory", "delete": "delete_directory"} if path else {}
    return {act_name: addresses.of_act(route, store_id, path) for act_name, route in names.items()}


def _deleted(store: MemoryStore, memory_id: str) -> dict[str, object] | None:
    """Return a deleted memory with the version that a restore would bring back. Return None if the memory cannot be
    restored."""
    memory = Memory.objects.in_trash().filter(store=store, pk=memory_id).first()
    version = facts.last_with_text(memory) if memory else None
    return {"memory": memory, "version": version} if version else None


def _gone(request: Request, store: MemoryStore, path: str) -> HttpResponse:
    """Answer 404 with links to the closest existing directory."""
    nearest = branches.nearest(store, paths.parent(path))
    shown = pages.context(
        request,
        store,
        path=path,
        tree=branches.opened(store, nearest.path),
        crumbs=addresses.crumbs(store.id, store.name, path),
        nearest=tree_pages.directory_item(nearest),
        name=paths.name(path),
    )
    return render(request, "memories/tree/gone.html", shown, status=404)

"""Removing whole memories permanently, with their history, after a preview."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.accounts.second_person import Words
from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import whole
from memoryhub.models import AuditEntry, Memory, MemoryStore, Role
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common import addresses, pages
from memoryhub.web.common.forms import NoteForm
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.guards.second import counted, guard, note_of
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.retention.holds.held import by_hold

MOST = 200
"""The most memories that are removed at once. A page of the trash lists fewer."""


class RemoveForm(NoteForm):
    """A confirmation with a note, for which the person types the name of the memory. For several memories, the name of
    the store is typed instead."""

    name = forms.CharField(
        label=gettext_lazy("Type it to confirm"), strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "input-mono"}),
    )  # fmt: skip

    field_order = ("name", "note")

    def __init__(self, name: str, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.typed = name

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.typed.strip():
            raise forms.ValidationError(_("This is not the name. Type it exactly as shown."))
        return name


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def remove(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the memories with the ids `id` (in the URL or the form), which will be removed permanently. On POST, remove
    them if the person has typed the name of the memory, or of the store for several memories.

    If none of the memories exists, redirect to the trash.
    """
    given = request.POST if request.method == "POST" else request.GET
    ids = [one for one in dict.fromkeys(given.getlist("id")) if "\0" not in one][:MOST]
    memories = list(Memory.objects.among(store.pk, ids).order_by("path", "pk"))
    if not memories:
        return redirect("trash", store.pk)
    kept = holds.holds_of(store.pk, timezone.now())
    held = {memory.pk: hold for memory in memories if (hold := kept.stops_removal(memory.pk, memory.path))}
    going = [memory for memory in memories if memory.pk not in held]
    name = memories[0].name if len(memories) == 1 else store.name
    is_confirmed = request.method == "POST" and "name" in request.POST
    form = RemoveForm(name, request.POST if is_confirmed else None)
    if is_confirmed and form.is_valid():
        if asked := guard(request, "remove_memories", lambda: _words(going, form.cleaned_data["note"])):
            return asked
        done = whole.remove_memories(store.pk, [memory.pk for memory in going], act(request, form.cleaned_data["note"]))
        _say(request, store, going, done)
        return see_other("store" if any(memory.is_live for memory in going) else "trash", store.pk)
    shown = {
        "going": going,
        "kept": by_hold((held[memory.pk], memory.path) for memory in memories if memory.pk in held),
        "form": form,
        "name": name,
        "versions": sum(memory.version_count - memory.removed_versions for memory in going),
        "crumbs": addresses.crumbs(store.pk, store.name, memories[0].path if len(memories) == 1 else "/x"),
        "only": memories[0] if len(memories) == 1 else None,
    }
    return render(request, "erasure/whole.html", pages.context(request, store, **shown))


def _words(going: list[Memory], note: str) -> Words:
    versions = sum(memory.version_count - memory.removed_versions for memory in going)
    paths = [(_("Memory"), memory.path, reverse("memory", args=[memory.store_id, memory.pk])) for memory in going]
    return [*paths, (_("Memories"), counted(len(going))), (_("Versions"), counted(versions)), *note_of(note)]


def _say(request: Request, store: MemoryStore, memories: list[Memory], done: int) -> None:
    if done == 1 == len(memories):
        said = _("%(path)s was removed permanently, with its history.") % {"path": isolated(memories[0].path)}
    else:
        said = ngettext(
            "%(count)s memory was removed permanently, with its history.",
            "%(count)s memories were removed permanently, with their history.",
            done,
        ) % {"count": done}
    if done:
        messages.success(request, format_html("{} {}", said, _proof(store, memories, done)))
    else:
        messages.warning(request, said)


def _proof(store: MemoryStore, memories: list[Memory], done: int) -> str:
    """Return a sentence on how the removal of `done` memories can be proved."""
    export = reverse("export_store", args=[store.pk]) + "?format=signed"
    if done > 1:
        sentence = _('The proof is <a href="{}">entries of the audit</a>: <a href="{}">export them for an auditor</a>.')
        return format_html(sentence, reverse("store_audit", args=[store.pk]) + "?command=purge", export)
    entries = AuditEntry.objects.of_chain(store.pk).filter(command="purge", memory__in=[one.pk for one in memories])
    seq = entries.newest().values_list("seq", flat=True)[0]
    sentence = _('The proof is <a href="{}">entry {} of the audit</a>: <a href="{}">export it for an auditor</a>.')
    return format_html(sentence, reverse("entry", args=[store.pk, seq]), seq, export)

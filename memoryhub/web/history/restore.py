"""Restoring the text of an earlier version as a new version, after a preview."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.rules import holds
from memoryhub.actions.findings import refusals
from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, MemoryText, MemoryVersion, Role
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.diffs import Diff
from memoryhub.templatetags.visible import visible
from memoryhub.web.common.forms import InStoreForm, NoteForm, PathField
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_diff
from memoryhub.web.common.texts import masking
from memoryhub.web.common.tool_errors import for_people, in_words
from memoryhub.web.common.versions import memory_of, text_of, version_of
from memoryhub.web.common.versions.comparisons import sides
from memoryhub.web.common.versions.undo_banner import tell_done
from memoryhub.web.history.versions import page_context
from memoryhub.web.memories.overrides import said_of_masked


class RestoreForm(NoteForm):
    """A note, and `head`: the version that was current when the person saw the preview."""

    head = forms.CharField(widget=forms.HiddenInput, max_length=64)


class RestoreDeletedForm(InStoreForm, RestoreForm):
    """The form for a memory in the trash, which also needs a path."""

    path = PathField(label=_("Path"), creates=True, help_text=_("Where the memory will be."))

    field_order = ("path", "note")


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def restore_version(request: Request, store: MemoryStore, version_id: str) -> HttpResponse:
    version = version_of(store, version_id)
    memory = memory_of(store, version.memory_id)
    form = _form(memory, version, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["head"] == memory.head_id:
            if _restored(request, store, memory, version, form):
                return see_other("memory", store.id, memory.id)
        else:
            form = _form(memory, version, {**request.POST.dict(), "head": memory.head_id})
            form.add_error(
                None,
                gettext(
                    "Nothing was done, because the memory has changed since you opened "
                    "this page. Check it and try again."
                ),
            )
    stopped, diff = _stopped(memory, version), difference(memory, version)
    shows_diff(request, store, diff, [memory.head, version])
    return render(
        request,
        "history/restore.html",
        page_context(
            request,
            store,
            memory,
            version=version,
            form=form,
            diff=diff,
            sides=sides(memory.head if memory.is_live else None, version),
            is_same=memory.is_live and memory.sha256 == version.sha256,
            stopped=stopped,
        ),
    )


def _stopped(memory: Memory, version: MemoryVersion) -> str:
    """Return a sentence on the legal hold or the rule for sensitive text that would refuse the restore; "" if none
    would."""
    if memory.is_live and memory.sha256 == version.sha256:
        return ""
    hold = holds.holds_of(memory.store_id, timezone.now()).stops_changes(memory.pk, memory.path)
    if hold is not None:
        return in_words(ToolError(results.frozen(memory.path, " ".join(hold.reason.split()))))
    rules = refusals.rules_of(memory.store_id)
    texts = MemoryText.objects.contents(memory.store_id, [one for one in (version.text_id, memory.text_id) if one])
    if rules is None or version.text_id not in texts:
        return ""
    old, path = (texts.get(memory.text_id), memory.path) if memory.is_live else (None, version.path or memory.path)
    error = refusals.of_text(rules, path, old, texts[version.text_id])
    return in_words(error) if error else ""


def _form(memory: Memory, version: MemoryVersion, data: Any) -> RestoreForm:
    initial = {"head": memory.head_id, "path": version.path}
    if memory.is_live:
        return RestoreForm(data, initial=initial)
    return RestoreDeletedForm(memory.store, data, initial=initial)


def _restored(request: Request, store: MemoryStore, memory: Memory, version: MemoryVersion, form: RestoreForm) -> bool:
    """Restore the version and return True. If the restore is refused, add the error to the form and return False."""
    given = form.cleaned_data
    try:
        done = curation.restore(store.id, version.id, act(request, given["note"]), path=given.get("path"))
    except ToolError as error:
        form.add_error("path" if "path" in form.fields else None, for_people(error))
        return False
    said = gettext("Restored the text of version %(number)s.") % {"number": version.number}
    if memory.is_live and memory.path != version.path:
        said += " " + gettext("The memory stays at %(path)s.") % {"path": memory.path}
    tell_done(request, store.id, visible(said + said_of_masked(done.masked)), done.seq)
    return True


def difference(memory: Memory, version: MemoryVersion) -> Diff | None:
    """Return the diff from the current text to the restored one; None if the version has no text."""
    if version.content is None:
        return None
    known = masking.cover([memory.head, version]).get(memory.pk, masking.NOTHING)
    return masking.compared(text_of(memory.head) or "", version.content or "", known)

"""Redacting one memory version, after a page that shows what will be deleted permanently."""

from dataclasses import dataclass

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.rules import holds
from memoryhub.actions.erasure import redacted_paths, redaction
from memoryhub.models import Hold, Memory, MemoryStore, MemoryVersion, Role
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common.forms import NoteForm
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.guards.second import guard, note_of
from memoryhub.web.common.pages import entries, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.texts.redaction_marks import Mark, mark_of
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.versions import memory_of, version_of
from memoryhub.web.history.versions import page_context

MOST_NAMED = 10


class RedactForm(NoteForm):
    """A confirmation, for which the person types the memory's name, and an optional note."""

    name = forms.CharField(
        label=_("Type the name of the memory"), strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "input-mono"}),
    )  # fmt: skip

    field_order = ("name", "note")

    def __init__(self, memory: Memory, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.memory = memory
        self.fields["note"].help_text = _("Why? The audit keeps this note, so do not repeat the text that you redact.")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.memory.name:
            raise forms.ValidationError(gettext("This is not the name of this memory. Type it exactly as shown."))
        return name


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a version cannot be redacted."""

    why: str  # `newest` (of a live memory), `held` (by a legal hold) or `redacted` (already)
    hold: Hold | None = None
    mark: Mark | None = None


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.ADMIN)
def redact_version(request: Request, store: MemoryStore, version_id: str) -> HttpResponse:
    """Show what will be deleted permanently. On POST, redact the version if the person has typed the memory's name."""
    version = version_of(store, version_id)
    memory = memory_of(store, version.memory_id)
    refusal = _refusal(store, memory, version)
    form = RedactForm(memory, request.POST if request.method == "POST" else None)
    if request.method == "POST" and refusal is None and form.is_valid():
        words = [
            (gettext("Memory"), memory.path, reverse("memory", args=[store.pk, memory.pk])),
            (gettext("Version"), str(version.number), reverse("version", args=[store.pk, version.pk])),
            *note_of(form.cleaned_data["note"]),
        ]  # fmt: skip
        if (asks := guard(request, "redact_version", lambda: words)) is not None:
            return asks
        try:
            redaction.redact_version(store.id, version.pk, act(request, form.cleaned_data["note"]))
            return see_other("version", store.id, version.pk)
        except ToolError as error:
            form.add_error(None, for_people(error))
    return render(
        request,
        "erasure/redact.html",
        page_context(
            request,
            store,
            memory,
            version=version,
            form=form,
            refusal=refusal,
            same=_same_text(memory, version),
            path_is_shared=redacted_paths.is_shared(store.id, version),
            most=MOST_NAMED,
        ),
    )


def _refusal(store: MemoryStore, memory: Memory, version: MemoryVersion) -> Refusal | None:
    if version.redacted_at is not None:
        return Refusal("redacted", mark=mark_of(version, entries(store, version.redacted_seq)))
    if memory.is_live and memory.head_id == version.pk:
        return Refusal("newest")
    hold = holds.holds_of(store.id, timezone.now()).stops_removal(memory.pk, memory.path)
    return Refusal("held", hold=hold) if hold else None


def _same_text(memory: Memory, version: MemoryVersion) -> list[int]:
    """Return the numbers of the other versions with the same text as `version`."""
    if version.text_id is None:
        return []
    same = MemoryVersion.objects.of_memory(memory).filter(text_id=version.text_id).exclude(pk=version.pk)
    return list(same.newest().values_list("number", flat=True)[: MOST_NAMED + 1])

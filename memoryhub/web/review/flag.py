"""Setting and removing the flag of a memory, with a list of all decisions about the memory."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.review import decisions
from memoryhub.actions.review.verbs import FLAG, UNFLAG, WHO
from memoryhub.models import MemoryStore, Review
from memoryhub.web.common.access import act, in_store
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import memory_of
from memoryhub.web.history.versions import page_context
from memoryhub.web.review.decide import with_links, words_of

MOST_SHOWN = 50


class FlagForm(forms.Form):
    """The reason for flagging a memory or for removing its flag."""

    note = forms.CharField(
        label=_("What is wrong?"), max_length=LONGEST_NOTE, help_text=_("Everybody who sees the memory can read it."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(WHO)
def flag(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Set the flag, which needs a note, or remove it."""
    memory = memory_of(store, memory_id)
    form = FlagForm(request.POST if request.method == "POST" else None)
    sets = request.POST.get("act") != "unflag"
    form.fields["note"].required = sets
    if request.method == "POST" and form.is_valid():
        note = form.cleaned_data["note"].strip()
        done = decisions.flag(store.pk, [memory.head_id], act(request, note), flagged=sets)
        said = words_of(FLAG if sets else UNFLAG, memory.head, done)
        messages.success(request, said if done is None else with_links(store.pk, said, done.seq, FLAG, ""))
        return see_other("memory", store.pk, memory.pk)
    reviews = Review.objects.of_memory(store.pk, memory.pk).newest().select_related("by", "version")[:MOST_SHOWN]
    return render(request, "review/flag.html", page_context(request, store, memory, form=form, reviews=reviews))

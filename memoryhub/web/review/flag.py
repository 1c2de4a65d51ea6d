"""Setting and removing the flag of a memory, on a page that lists all decisions about the memory."""

from typing import cast

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.review import assignments, decisions
from memoryhub.actions.review.verbs import FLAG, UNFLAG, WHO
from memoryhub.models import MemoryStore, MemoryVersion, Review
from memoryhub.pure import ids
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.versions import memory_of
from memoryhub.web.history.versions import page_context
from memoryhub.web.review.decide import with_links, words_of

MOST_SHOWN = 50


class FlagForm(forms.Form):
    """The reason for flagging a memory or for removing the flag."""

    note = forms.CharField(
        label=_("What is wrong?"), max_length=LONGEST_NOTE, help_text=_("Everybody who sees the memory can read the "
                                                                        "note."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    to = forms.ChoiceField(
        label=_("Assign the review to"), required=False, help_text=_("The review then appears in the inbox of "
        "that person, under “Mine”."),
    )  # fmt: skip

    def __init__(self, store_id: str, *, may_assign: bool, data: QueryDict | None) -> None:
        """Make the form. With `may_assign`, it offers to assign the review of the memory."""
        super().__init__(data)
        if may_assign:
            people = [(user.pk, isolated(str(user))) for user in assignments.reviewers(store_id)]
            cast(forms.ChoiceField, self.fields["to"]).choices = [("", _("no one in particular")), *people]
        else:
            del self.fields["to"]


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(WHO)
def flag(request: Request, store: MemoryStore, memory_id: str) -> HttpResponse:
    """Set or remove the flag of a memory. To set it, the person must write a note."""
    memory = memory_of(store, memory_id)
    waits = MemoryVersion.objects.filter(store_id=store.pk, memory_id=memory.pk).unreviewed().exists()
    form = FlagForm(store.pk, may_assign=waits, data=request.POST if request.method == "POST" else None)
    sets = request.POST.get("act") != "unflag"
    form.fields["note"].required = sets
    if request.method == "POST" and form.is_valid():
        note, to = form.cleaned_data["note"].strip(), form.cleaned_data.get("to") if sets else ""
        doing = act(request, note, group=ids.new_id(ids.GROUP, timezone.now()) if to else None)
        done = decisions.flag(store.pk, [memory.head_id], doing, flagged=sets)
        if to:
            try:
                assignments.assign(store.pk, memory.pk, to, doing)
            except assignments.NoReviewer:
                messages.warning(request, _("This person no longer reviews in this memory store."))
        verb = FLAG if sets else UNFLAG
        said = words_of(verb, memory.head, done)
        messages.success(request, said if done is None else with_links(store.pk, said, done.seq, verb, "", memory.pk))
        return see_other("memory", store.pk, memory.pk)
    reviews = Review.objects.of_memory(store.pk, memory.pk).newest().select_related("by", "version")[:MOST_SHOWN]
    return render(request, "review/flag/page.html", page_context(request, store, memory, form=form, reviews=reviews))

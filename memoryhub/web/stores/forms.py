"""The form of a memory store's settings."""

from django import forms
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.memories import viewing
from memoryhub.actions.stores.stores import ANSWERS, StoreSettings
from memoryhub.models import MemoryStore

GENERAL = ("name", "description", *ANSWERS)


class StoreForm(forms.Form):
    """The settings of a store, except its limits, which have their own page."""

    name = forms.CharField(label=_("Name"), max_length=255)
    description = forms.CharField(
        label=_("Description"), required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("What these memories are for, and which agents use them."),
    )  # fmt: skip
    overwrite_on_create = forms.BooleanField(
        label=_("Overwrite on create"), required=False,
        help_text=_("If an agent creates a memory at a path that is already taken, its text becomes a new version "
                    "of that memory. If this is off, the agent gets an error, as the memory tool specifies."),
    )  # fmt: skip
    proposes_without_error = forms.BooleanField(
        label=_("Answer proposals without an error"), required=False,
        help_text=_("If a path rule turns a change into a proposal, the answer of the memory tool says so and is no "
                    "error. Some agents stop at errors. Other agents believe that the change is done when the "
                    "answer is no error, so this is off by default."),
    )  # fmt: skip
    shows_proposed = forms.BooleanField(
        label=_("Show agents what they have proposed"), required=False,
        help_text=_("When an agent views something with the memory tool, the answer ends with the agent's own "
                    "changes that wait there, marked as proposed. If this is off, waiting changes have no effect on "
                    "what the agent views."),
    )  # fmt: skip

    mails_comments = forms.BooleanField(
        label=_("Quote comments in e-mail"), required=False,
        help_text=_("E-mails about a comment contain the beginning of the comment, which may quote a memory. If "
                    "this is off, these e-mails contain only names and paths."),
    )  # fmt: skip

    records_views = forms.BooleanField(
        label=_("Record who reads memories"), required=False,
        help_text=_("When a page shows a person the text of memories, the hub writes an audit entry, for the same "
                    "page at most one in five minutes. The page says so to the person. If this is off, only "
                    "exports, downloads and revealed values are recorded."),
    )  # fmt: skip

    @classmethod
    def of(cls, store: MemoryStore) -> "StoreForm":
        return cls(initial=StoreSettings.of(store).as_json())

    def lead_to_reads(self, store: MemoryStore) -> None:
        """Put a link to the recorded reads of people beside the checkbox `records_views`."""
        if store.records_views:
            field = self.fields["records_views"]
            url = reverse("store_audit", args=[store.pk], query={"command": viewing.COMMAND})
            link = '{} <a href="{}">{}</a>'
            field.help_text = format_html(link, field.help_text, url, gettext("What was read"))

    def settings(self) -> StoreSettings:
        """Return the settings of a valid form."""
        given = dict(self.cleaned_data)
        given["description"] = given["description"].replace("\r\n", "\n")
        return StoreSettings(**given)

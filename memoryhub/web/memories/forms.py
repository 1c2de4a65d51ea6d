"""The forms of memories and directories: paths as the browser shows them, texts to the byte."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.memories.curation import Merged
from memoryhub.models import Memory
from memoryhub.web.common import text_lines
from memoryhub.web.common.forms import LONGEST_NOTE, NoteForm, PathField


class ReasonForm(NoteForm):
    """An act that may be asked why it keeps what the rules flag: only then is the field to be seen."""

    override = forms.CharField(
        label=_("Why may it be stored?"), required=False, max_length=LONGEST_NOTE, widget=forms.HiddenInput,
        help_text=_("The findings are dismissed with this reason. The audit keeps it."),
    )  # fmt: skip


class TextForm(ReasonForm):
    """A text with the sign of how its lines end (see `text_lines.Editable`)."""

    text = forms.CharField(
        label=_("Text"), required=False, strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "data-editor": True, "spellcheck": "false"}),
    )  # fmt: skip
    newlines = forms.CharField(widget=forms.HiddenInput, initial=text_lines.LF, required=False)

    field_order = ("path", "text", "override", "note")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        try:
            given["content"] = text_lines.from_textarea(given.get("text", ""), given.get("newlines", ""))
        except ValueError:
            self.add_error("newlines", gettext("This form was not sent by a page of this hub."))
        return given

    @property
    def sign(self) -> str | None:
        """What stands for a CR in the text that is shown."""
        newlines = str(self["newlines"].value() or text_lines.LF)
        return text_lines.Editable("", newlines).sign


class NewMemoryForm(TextForm):
    """A memory to be made."""

    path = PathField(label=_("Path"), creates=True, help_text=_("For example /projects/plan.md"))


class EditForm(TextForm):
    """Another text for a memory: with what was opened, so that nobody's newer version is lost.

    From the page of a conflict `version` is theirs, `opened` the version that the person had opened before, and `mark`
    the length of the markers around what is not settled yet (0: there were none), and `open_ends` names the sides that
    end the text without a line feed, which the markers hide. `review` is the version that saving reviews.
    """

    sha256 = forms.CharField(widget=forms.HiddenInput, max_length=64)
    version = forms.CharField(widget=forms.HiddenInput, max_length=64)
    path = forms.CharField(widget=forms.HiddenInput, max_length=2000, required=False)
    opened = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    mark = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=5000, required=False)
    open_ends = forms.CharField(widget=forms.HiddenInput, max_length=20, required=False)
    review = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)

    @property
    def merged(self) -> Merged | None:
        """Of a valid form from the page of a conflict: what its text was made of."""
        given = self.cleaned_data
        return Merged(given["opened"], given["version"]) if given["opened"] else None

    @classmethod
    def of(cls, memory: Memory, content: str, review: str = "") -> "EditForm":
        editable = text_lines.to_textarea(content)
        return cls(
            initial={
                "text": editable.text,
                "newlines": editable.newlines,
                "sha256": memory.sha256,
                "version": memory.head_id,
                "path": memory.path,
                "review": review,
            }
        )


class RenameForm(ReasonForm):
    """Another path for a memory or a directory."""

    new_path = PathField(label=_("New path"), creates=False)

    field_order = ("new_path", "override", "note")

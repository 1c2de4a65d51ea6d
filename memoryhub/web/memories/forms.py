"""Forms for memories and directories. Texts are preserved to the byte."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from memoryhub.actions.memories.curation import Merged
from memoryhub.models import Memory
from memoryhub.web.common.forms import LONGEST_NOTE, InStoreForm, NoteForm, PathField
from memoryhub.web.common.texts import lines


class ReasonForm(NoteForm):
    """A form with a hidden field for a reason, which becomes visible when the rules flag the text or path."""

    override = forms.CharField(
        label=_("Why may this text be stored?"), required=False, max_length=LONGEST_NOTE, widget=forms.HiddenInput,
        help_text=_("The findings are dismissed with this reason. The audit keeps it."),
    )  # fmt: skip


class TextForm(ReasonForm):
    """A text and its kind of line endings (see `texts.lines.Editable`)."""

    text = forms.CharField(
        label=_("Text"), required=False, strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "data-editor": True, "spellcheck": "false"}),
    )  # fmt: skip
    newlines = forms.CharField(widget=forms.HiddenInput, initial=lines.LF, required=False)

    field_order = ("path", "text", "override", "note")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        try:
            given["content"] = lines.from_textarea(given.get("text", ""), given.get("newlines", ""))
        except ValueError:
            self.add_error(
                "newlines", gettext("This form does not come from a page of this hub. Reload the page and try again.")
            )
        return given

    @property
    def sign(self) -> str | None:
        """Return the sign that replaces each CR in the textarea, or None if no CR is replaced."""
        newlines = str(self["newlines"].value() or lines.LF)
        return lines.Editable("", newlines).sign


class NewMemoryForm(InStoreForm, TextForm):
    """The path and the text of a new memory."""

    path = PathField(label=_("Path"), creates=True, help_text=_("For example /projects/plan.md"))


class EditForm(TextForm):
    """A new text for a memory.

    `version` is the version that the person opened. On the conflict page, `version` is the other person's version,
    and `opened` the one that this person opened first. `mark` is the length of the conflict markers (0: no
    conflicts), and `open_ends` names the sides that end without a line feed. If saving also reviews a version,
    `review` is that version.
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
        """Return the two versions that were merged on the conflict page, or None if the form is from another page."""
        given = self.cleaned_data
        return Merged(given["opened"], given["version"]) if given["opened"] else None

    @classmethod
    def of(cls, memory: Memory, content: str, review: str = "") -> "EditForm":
        editable = lines.to_textarea(content)
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


class RenameForm(InStoreForm, ReasonForm):
    """A new path for a memory or a directory."""

    new_path = PathField(label=_("New path"), creates=False)

    field_order = ("new_path", "override", "note")

"""Forms for the source of an import: an uploaded file, or the address of another store."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.utils.translation import gettext_lazy as _

from memoryhub.actions.transfer.importing import Brought, api_source, bounds, sources
from memoryhub.pure.transfer.tree_read import DEFAULT, Exclude
from memoryhub.web.common.forms import InStoreForm, PathField

UPLOAD, STORE = "upload", "store"


class PlaceForm(InStoreForm):
    """The directory into which the memories are imported."""

    place = PathField(
        label=_("Into the directory"), required=False, creates=False,
        help_text=_("For example /projects/website. If you leave it empty, the paths stay as they are."),
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["place"].widget.attrs |= {"class": "input-mono", "placeholder": "/"}


class UploadForm(PlaceForm):
    """An uploaded file, with options for what to skip in it."""

    brought = forms.FileField(
        label=_("What to import"), allow_empty_file=True, max_length=None,
        error_messages={"required": _("Choose what to import.")},
        help_text=_("A ZIP archive, an export of a hub (ZIP, JSON Lines or git stream), the output of git fast-export,"
                    " or one Markdown text."),
    )  # fmt: skip
    only_memory_files = forms.BooleanField(
        label=_("Only what coding agents remember"), required=False,
        help_text=_("From the archive of a project, the hub then imports only CLAUDE.md, MEMORY.md and "
        "AGENTS.md in any directory, and the memories and rules under .claude."),
    )  # fmt: skip
    include_all = forms.BooleanField(
        label=_("Include the files of tools"), required=False,
        help_text=_("Otherwise .git, .obsidian, node_modules, editors’ settings and databases are skipped."),
    )  # fmt: skip
    field_order = ("brought", "place", "only_memory_files", "include_all")

    def __init__(self, *args: Any, too_large: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if too_large:
            size = bounds().packed // (1024 * 1024)
            sentence = _("The file is too large. The limit is %(size)s MB.") % {"size": size}
            self.fields["brought"].error_messages["required"] = sentence

    def read(self) -> Brought:
        """Return the parsed upload. Raise Refused if it cannot be imported."""
        upload: UploadedFile = self.cleaned_data["brought"]
        only = bool(self.cleaned_data["only_memory_files"])
        exclude = Exclude(()) if self.cleaned_data["include_all"] else DEFAULT
        how: dict[str, Any] = {"only_memory_files": only, "exclude": exclude}
        if isinstance(upload, TemporaryUploadedFile) and upload.file is not None:
            return sources.of_file(upload.file, upload.name or "", **how)
        return sources.of_bytes(upload.read(), upload.name or "", **how)


class StoreSourceForm(PlaceForm):
    """Another store, by its address and a key. The key is used once and not stored."""

    address = forms.CharField(
        label=_("Address"), max_length=2000, initial="https://api.anthropic.com",
        widget=forms.URLInput(attrs={"class": "input-mono", "spellcheck": "false"}),
        help_text=_("The address of Anthropic’s API, or of another hub."),
    )  # fmt: skip
    store = forms.CharField(
        label=_("Id of the memory store"), max_length=128,
        widget=forms.TextInput(attrs={"class": "input-mono", "placeholder": "memstore_…", "spellcheck": "false"}),
    )  # fmt: skip
    key = forms.CharField(
        label=_("Key"), max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}, render_value=False),
        help_text=_("The key is used only for this import, and is not stored."),
    )  # fmt: skip
    field_order = ("address", "store", "key", "place")

    def clean_key(self) -> str:
        return _visible(self.cleaned_data["key"])

    def clean_store(self) -> str:
        return _visible(self.cleaned_data["store"])

    def read(self) -> Brought:
        """Return the memories of the other store. Raises Refused."""
        given = self.cleaned_data
        return api_source.of_store(api_source.Source(given["address"].strip(), given["store"], given["key"]))


def _visible(value: str) -> str:
    """Return the value if it can be part of a header or a URL. Otherwise, raise ValidationError."""
    if not (value.isascii() and value.isprintable()) or " " in value or "/" in value:
        raise ValidationError(
            _("The key contains a space or another character that is not allowed. Copy the key again.")
        )
    return value

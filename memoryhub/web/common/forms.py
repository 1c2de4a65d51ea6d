"""Form fields and forms that several rooms share."""

import unicodedata
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from memoryhub.models import MemoryStore, Role
from memoryhub.models.access import has_other_letters
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.typed_paths import below_root

LONGEST_NOTE = 1000
LONGEST_PASSWORD = 1_000
ROLES = (
    (Role.VIEWER, _("Viewer: reads, compares and exports")),
    (Role.CURATOR, _("Curator: also reviews what agents write, edits, renames, deletes and restores")),
    (Role.ADMIN, _("Admin: also members, settings and keys")),
)


class StoreField(forms.ModelChoiceField):
    """A choice of one memory store."""

    def label_from_instance(self, store: MemoryStore) -> str:
        return isolated(without_hidden(store.name))


class StoresField(StoreField, forms.ModelMultipleChoiceField):
    """Checkboxes for memory stores."""


class PathField(forms.CharField):
    """A path typed by a person, validated as the memory tool does. The leading slash and `/memories` are optional.

    With `creates`, the path must be allowed for a new memory. `store` is the id of the memory store.
    """

    store: str

    def __init__(self, *, creates: bool, **kwargs: Any) -> None:
        attrs = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        super().__init__(max_length=5000, widget=forms.TextInput(attrs=attrs), **kwargs)
        self.creates = creates

    def clean(self, value: Any) -> str:
        typed = super().clean(value)
        below = below_root(typed if typed.startswith("/") else f"/{typed}", [self.store])
        try:
            return paths.from_tool(paths.ROOT + below, creates=self.creates)
        except ToolError as error:
            raise forms.ValidationError(for_people(error)) from error


class InStoreForm(forms.Form):
    """A form with paths in a memory store."""

    def __init__(self, store: MemoryStore, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, PathField):
                field.store = store.pk


class NoteForm(forms.Form):
    """An optional note on why a person does something, for the audit."""

    note = forms.CharField(
        label=pgettext_lazy("why something is done", "Note"), required=False, max_length=LONGEST_NOTE,
        help_text=_("Why? The audit keeps it."), widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip


class NameTypedForm(forms.Form):
    """A confirmation for which the person types the name of the memory store."""

    name = forms.CharField(
        label=_("Type the name of the memory store"), required=True, strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )  # fmt: skip

    def __init__(self, store: MemoryStore, data: Any = None) -> None:
        super().__init__(data)
        self.store = store

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.store.name.strip():
            raise forms.ValidationError(gettext("This is not the name of this memory store. Type it exactly as shown."))
        return name


LONGEST_EMAIL = 254


_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: str) -> None:
    """Raise ValidationError for line breaks, control characters and characters that change the text direction."""
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter in _TURNING for letter in text):
        raise ValidationError(_("Type it on one line, without control characters."), code="one_line")


def printable(text: str) -> None:
    """Raise ValidationError for invisible characters, because people distinguish agents by their names."""
    if not text.isprintable():
        raise ValidationError(_("Use printable characters only."), code="printable")


def own_letters(email: str) -> None:
    """Raise ValidationError for an e-mail address with letters such as ß.

    The hub would replace them, and the result could be another mailbox.
    """
    if has_other_letters(email):
        said = _(
            "The hub cannot distinguish some letters of this address, such as ß, from other letters. Type the "
            "domain as xn--…."
        )
        raise ValidationError(said, code="other_letters")


def email_field(**options: Any) -> forms.EmailField:
    widget = forms.EmailInput(attrs={"autocomplete": "username", "spellcheck": "false", "autocapitalize": "none"})
    field = forms.EmailField(label=_("E-mail address"), max_length=LONGEST_EMAIL, widget=widget, **options)
    field.validators.append(own_letters)
    return field


def password_field(label: Any, autocomplete: str, **options: Any) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, max_length=LONGEST_PASSWORD, strip=False, widget=widget, **options)


class PasswordForm(forms.Form):
    """The password of a signed-in person, which proves that the person is still the same."""

    proof = password_field(_("Your password"), "current-password")

"""The form that invites a person to the hub."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.models import MemoryStore, Role
from memoryhub.web.common.forms import ROLES, StoresField, email_field


class InviteForm(forms.Form):
    """A form that invites a person to memory stores, or to the hub as an administrator or without a role."""

    email = email_field(help_text=_("The link works only for this address."))
    stores = StoresField(
        label=_("Memory stores"),
        queryset=MemoryStore.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("With the link, the person joins these memory stores."),
    )
    role = forms.ChoiceField(label=_("Role there"), choices=ROLES, required=False, widget=forms.RadioSelect)
    is_superuser = forms.BooleanField(
        label=_("Administrator of the hub"),
        required=False,
        help_text=_("May see and do everything: all memory stores, people, agents and keys."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        stores = MemoryStore.objects.active().by_name()
        self.fields["stores"].queryset = stores  # type: ignore[attr-defined]
        if len(only := stores[:2]) == 1:
            self.fields["stores"].initial = [only[0].pk]

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("stores") and values.get("is_superuser"):
            self.add_error("stores", _("An administrator may do everything in every memory store. Choose none here."))
        elif values.get("stores") and not values.get("role") and "role" not in self.errors:
            self.add_error("role", _("Choose a role."))
        values["role"] = Role(values.get("role") or Role.VIEWER) if values.get("stores") else Role.VIEWER
        return values

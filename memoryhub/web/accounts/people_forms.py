"""The form that invites a person to the hub."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.models import MemoryStore, Role
from memoryhub.web.common.forms import ROLES, StoreField, email_field


class InviteForm(forms.Form):
    """An invitation to one memory store, or to the hub without a role or as its administrator."""

    email = email_field(help_text=_("The link works only for this address."))
    store = StoreField(
        label=_("Memory store"),
        queryset=MemoryStore.objects.none(),
        required=False,
        empty_label=_("None yet"),
        help_text=_("The person joins it with the link."),
    )
    role = forms.ChoiceField(
        label=_("Role there"), choices=ROLES, initial=Role.CURATOR, required=False, widget=forms.RadioSelect
    )
    is_superuser = forms.BooleanField(
        label=_("Administrator of the hub"),
        required=False,
        help_text=_("May see and do everything: all memory stores, people, agents and keys."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        stores = MemoryStore.objects.active().by_name()
        self.fields["store"].queryset = stores  # type: ignore[attr-defined]
        if len(only := stores[:2]) == 1:
            self.fields["store"].initial = only[0].pk

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("store") and values.get("is_superuser"):
            self.add_error("store", _("An administrator may do everything in every memory store. Choose none here."))
        values["role"] = Role(values.get("role") or Role.CURATOR) if values.get("store") else Role.VIEWER
        return values

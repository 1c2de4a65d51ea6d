"""The form that invites a person to the hub."""

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.web.common.forms import email_field


class InviteForm(forms.Form):
    email = email_field(help_text=_("The link works only for this address."))
    is_superuser = forms.BooleanField(
        label=_("Administrator of the hub"),
        required=False,
        help_text=_("May see and do everything: all memory stores, people, agents and keys."),
    )

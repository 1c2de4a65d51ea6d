"""Forms that give a person a role in a memory store."""

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.models import Role
from memoryhub.web.common.forms import ROLES, email_field


class AddMemberForm(forms.Form):
    email = email_field(
        help_text=_(
            "Members of your other memory stores are added at once. For anyone else, you get a link to pass on."
        )
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, widget=forms.RadioSelect)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)

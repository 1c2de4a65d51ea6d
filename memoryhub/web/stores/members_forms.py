"""Forms that give a person a role in a memory store."""

from django import forms
from django.utils.translation import gettext_lazy as _

from memoryhub.models import Role
from memoryhub.web.common.forms import email_field

ROLES = (
    (Role.VIEWER, _("Viewer: reads, compares and exports")),
    (Role.CURATOR, _("Curator: also creates, edits, renames, deletes and restores")),
    (Role.ADMIN, _("Admin: also members, settings and keys")),
)


class AddMemberForm(forms.Form):
    email = email_field(
        help_text=_(
            "Members of your other memory stores are added at once. For anyone else, you get a link to pass on."
        )
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, initial=Role.VIEWER, widget=forms.RadioSelect)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)

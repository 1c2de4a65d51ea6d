"""Forms for signing in, accepting invitations, and a person's own settings."""

import zoneinfo
from functools import lru_cache
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _, ngettext

from memoryhub.models import Authenticator, AuthenticatorKind, User
from memoryhub.models.access import Theme
from memoryhub.pure.text.visible import without_hidden
from memoryhub.web.common.forms import email_field, one_line, password_field


@lru_cache(maxsize=1)
def time_zones() -> tuple[str, ...]:
    """Return the names of all time zones, sorted."""
    return tuple(sorted(zoneinfo.available_timezones()))


def name_field() -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "name"})
    return forms.CharField(label=_("Name"), max_length=100, validators=[one_line], widget=widget)


class SignInForm(forms.Form):
    email = email_field()
    password = password_field(_("Password"), "current-password")
    next = forms.CharField(required=False, widget=forms.HiddenInput)


class CodeForm(forms.Form):
    """The form for a code of the second step.

    `step` is a signed text. At a sign-in, it says whose password was right. When an app is added, it says which secret
    was shown.
    """

    code = forms.CharField(
        label=_("Code"), max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}),
    )  # fmt: skip
    step = forms.CharField(widget=forms.HiddenInput)


class ForgottenForm(forms.Form):
    email = email_field()


class NewPasswordForm(forms.Form):
    """A new password for `user`, typed twice and checked by the hub's rules."""

    password = password_field(_("New password"), "new-password", help_text=_("At least 10 characters."))
    again = password_field(_("The same password again"), "new-password")

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if "password" in values and "again" in values:
            if values["password"] != values["again"]:
                self.add_error("again", _("The two passwords are different. Type the same password twice."))
            self._check(values)
        return values

    def _check(self, values: dict[str, Any]) -> None:
        self.user.email = values.get("email") or self.user.email
        self.user.name = values.get("name") or self.user.name
        try:
            password_validation.validate_password(values["password"], self.user)
        except ValidationError as error:
            self.add_error("password", error)


class LinkPasswordForm(NewPasswordForm):
    """A new password by a link. If the account has passkeys, the form offers to remove them.

    Someone else may have added them: a colleague who got the link of an invitation to this address, for example.
    """

    passkeys = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, user=user, **options)
        of_user = Authenticator.objects.of(user).of_kind(AuthenticatorKind.PASSKEY).order_by("pk")
        if not (names := [without_hidden(one.name) for one in of_user]):
            del self.fields["passkeys"]
            return
        words = ngettext(
            "Remove the passkey of this account", "Remove the %(count)s passkeys of this account", len(names)
        )
        kept = ngettext(
            "Whoever has it signs in without the password. Keep it only if you added it: %(names)s",
            "Whoever has one signs in without the password. Keep them only if you added all of them: %(names)s",
            len(names),
        )
        self.fields["passkeys"].label = words % {"count": len(names)}
        self.fields["passkeys"].help_text = kept % {"names": ", ".join(names)}


class JoinForm(NewPasswordForm):
    """The account data of a new person; the e-mail address is asked only if the invitation has none."""

    field_order = ("email", "name", "password", "again")
    email = email_field()
    name = name_field()

    def __init__(self, *args: Any, email: str, **options: Any) -> None:
        super().__init__(*args, user=User(email=email), **options)
        if email:
            del self.fields["email"]


class ChangePasswordForm(NewPasswordForm):
    field_order = ("current", "password", "again")
    current = password_field(_("Current password"), "current-password")


class ProfileForm(forms.Form):
    name = name_field()
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=64,
        help_text=_("Type a part of the name of a time zone, such as a city."),
        widget=forms.TextInput(attrs={"list": "time-zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    theme = forms.ChoiceField(label=_("Theme"), choices=Theme.choices, widget=forms.RadioSelect)
    single_keys = forms.BooleanField(
        label=_("Single-key shortcuts"),
        required=False,
        help_text=_("Keys such as j, k and e work on a page while you are not typing in a field."),
    )

    def clean_time_zone(self) -> str:
        """Return the official name of the time zone; the person may type it in any case."""
        typed = str(self.cleaned_data["time_zone"]).strip().replace(" ", "_").casefold()
        for zone in time_zones():
            if zone.casefold() == typed:
                return zone
        raise ValidationError(_("There is no time zone with this name. Choose one from the list."), code="unknown")

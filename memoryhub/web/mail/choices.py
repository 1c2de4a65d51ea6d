"""The page on which a person chooses e-mails, and the page that unsubscribes with one click."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.hub import outbox
from memoryhub.actions.mail import choices
from memoryhub.models import Digest, MailKind, MemoryStore, User
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import see_other

ENDED = {
    MailKind.DIGEST: gettext_lazy("You no longer get the digest or e-mails for mentions."),
    MailKind.MENTION: gettext_lazy("You no longer get an e-mail for each mention. Mentions are in the daily digest."),
    MailKind.RETENTION: gettext_lazy("You no longer get a warning before retention removes something."),
    MailKind.ALARM: gettext_lazy("You no longer get alarms of the hub."),
}
ASKED = {
    MailKind.DIGEST: gettext_lazy("Stop the daily digest, and e-mails for mentions?"),
    MailKind.MENTION: gettext_lazy("Stop the e-mails for each mention? Mentions will be in the daily digest."),
    MailKind.RETENTION: gettext_lazy("Stop the warnings before retention removes something?"),
    MailKind.ALARM: gettext_lazy("Stop the alarms of the hub?"),
}


class ChoicesForm(forms.Form):
    """The kinds of e-mail that a person gets. Warnings are only for admins of a store, alarms only for administrators
    of the hub."""

    digest = forms.ChoiceField(
        label=gettext_lazy("What waits for you"), choices=Digest.choices, widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "Comments that name you, answers, decisions about what you flagged, and what waits for your decision."
            " Nothing is sent when nothing waits. Open findings are signs of poisoning, secrets and personal data."
        ),
    )  # fmt: skip
    hour = forms.TypedChoiceField(
        label=gettext_lazy("Time of the digest"), coerce=int, choices=[(hour, f"{hour:02}:00") for hour in range(24)]
    )
    warnings = forms.BooleanField(
        label=gettext_lazy("Before retention removes something"), required=False,
        help_text=gettext_lazy("For the memory stores of which you are an admin; at most once a week for each."),
    )  # fmt: skip
    alarms = forms.BooleanField(
        label=gettext_lazy("Alarms of the hub"), required=False,
        help_text=gettext_lazy(
            "Background work that fails, an audit in which something is wrong, a disk that fills up, a webhook "
            "that no longer reaches its receiver; at most once a day for each."
        ),
    )  # fmt: skip

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        link = format_html('<a href="{}">{}</a>', reverse("account"), user.time_zone)
        self.fields["hour"].help_text = format_html(_("In your time zone, {}."), link)
        if not MemoryStore.objects.administered_by(user).exists():
            del self.fields["warnings"]
        if not user.is_superuser:
            del self.fields["alarms"]


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: Request) -> HttpResponse:
    """Show the person's choice of e-mails, and save it on POST."""
    user = person(request)
    choice = choices.of(user)
    now = {name: getattr(choice, name) for name in ChoicesForm.base_fields}
    form = ChoicesForm(request.POST if request.method == "POST" else None, initial=now, user=user)
    if form.is_valid():
        choices.save(user, form.cleaned_data, at=timezone.now())
        messages.success(request, _("Your choice is saved."))
        return see_other(request, "mail_choices")
    return render(request, "mail/choices.html", {"form": form, "is_on": outbox.is_on()})


@never_cache
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def end(request: Request, token: str) -> HttpResponse:
    """Ask whether to unsubscribe a person from one kind of messages. On POST, unsubscribe the person.

    The token is enough without a sign-in, because a mail program may send the POST itself (RFC 8058).
    """
    found = choices.ended_by(token)
    if found is None:
        return render(request, "mail/end.html", status=404)
    user, kind = found
    if request.method == "POST":
        choices.save(user, choices.ENDED[kind], at=timezone.now())
    shown = {
        "said": (ENDED if request.method == "POST" else ASKED)[MailKind(kind)],
        "is_done": request.method == "POST",
    }
    response = render(request, "mail/end.html", {**shown, "receiver": user})
    response.headers["Referrer-Policy"] = "no-referrer"
    return response

"""The mail server and the outbox of the hub, for its administrators."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actions.core.hub import outbox
from memoryhub.models import Mail, MailKind
from memoryhub.web.common.guards.access import person, superuser_only
from memoryhub.web.common.request import Request
from memoryhub.web.common.responses import see_other

ROWS = 50


@require_safe
@superuser_only
def page(request: Request) -> HttpResponse:
    """Show how the hub sends e-mail, and its newest messages."""
    shown = {
        "is_on": outbox.is_on(),
        "server": settings.MEMORYHUB_MAIL_SERVER,
        "sender": settings.DEFAULT_FROM_EMAIL,
        "mails": Mail.objects.newest()[:ROWS],
        "waiting": Mail.objects.waiting().count(),
        "section": "settings",
    }
    return render(request, "mail/hub.html", shown)


@require_POST
@superuser_only
def test(request: Request) -> HttpResponse:
    """Send the person a test message."""
    if outbox.is_on():
        outbox.put(MailKind.TEST, [person(request).pk], timezone.now())
        messages.success(request, _("A test message to %(email)s is on its way.") % {"email": person(request).email})
    return see_other(request, "hub_mail")

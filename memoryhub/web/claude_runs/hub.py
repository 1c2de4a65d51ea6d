"""The hub's page about Claude: its configuration, today's usage, and who may run it."""

from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_http_methods

from memoryhub.actions.claude_runs import configuration
from memoryhub.models import ClaudeDay, HubSettings
from memoryhub.web.common.guards.access import act, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request


class RoleForm(forms.Form):
    """The lowest role that may start runs."""

    role = forms.ChoiceField(
        label=gettext_lazy("Who may run Claude in a memory store"), required=False, widget=forms.RadioSelect,
        choices=[
            ("admin", gettext_lazy("Its admins")),
            ("curator", gettext_lazy("Its admins and curators")),
            ("", gettext_lazy("No one")),
        ],
    )  # fmt: skip


def _without_password(address: str) -> str:
    """Return an address without the user name and password before its host."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def page(request: Request) -> HttpResponse:
    """Show the configuration. A superuser can change who may run Claude."""
    is_post = request.method == "POST"
    form = RoleForm(request.POST if is_post else None, initial={"role": HubSettings.current().claude_role})
    if is_post and form.is_valid():
        configuration.set_role(form.cleaned_data["role"], act(request))
        messages.success(request, _("Who may run Claude was saved."))
        return see_other("hub_claude")
    today = ClaudeDay.objects.filter(day=timezone.now().date()).values_list("tokens", flat=True).first()
    shown = {
        "form": form,
        "is_configured": configuration.is_configured(),
        "address": _without_password(settings.ANTHROPIC_BASE_URL),
        "models": [model.pk for model in configuration.models()],
        "today": today or 0,
        "of_day": settings.MEMORYHUB_CLAUDE_DAY_TOKENS,
        "of_run": settings.MEMORYHUB_CLAUDE_RUN_TOKENS,
        "days": settings.MEMORYHUB_CLAUDE_DAYS,
        "has_dreams": configuration.has_dreams(),
        "section": "settings",
    }
    return render(request, "claude_runs/hub.html", shown)

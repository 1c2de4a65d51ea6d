"""The page of backups: where and how often they are made, how many are kept, and the result of the last backup."""

import shlex
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.backups import schedule
from memoryhub.actions.backups.schedule import Plan, State
from memoryhub.web.common.guards.access import act, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.server_command import line_of

HOURS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 168)


def _hours(count: int) -> str:
    if count > 24:
        return ngettext_lazy("%(count)d day", "%(count)d days", count // 24) % {"count": count // 24}
    return ngettext_lazy("%(count)d hour", "%(count)d hours", count) % {"count": count}


class PlanForm(forms.Form):
    """The settings of the scheduled backups."""

    target = forms.CharField(
        label=gettext_lazy("Where backups go"), required=False, max_length=1000,
        help_text=gettext_lazy(
            "The whole path of an existing directory on the hub’s machine, or s3://BUCKET/PREFIX. Empty: the hub"
            " makes no backups by itself."
        ),
    )  # fmt: skip
    every = forms.TypedChoiceField(
        label=gettext_lazy("A backup every"), coerce=int, choices=[(hours, _hours(hours)) for hours in HOURS]
    )
    hour = forms.TypedChoiceField(
        label=gettext_lazy("Time of day, in UTC"), coerce=int, required=False, empty_value=None,
        choices=[("", gettext_lazy("any")), *((hour, f"{hour:02}:00") for hour in range(24))],
        help_text=gettext_lazy("This time is used only if a backup is made once a day or less often."),
    )  # fmt: skip
    newest = forms.IntegerField(label=gettext_lazy("Newest backups to keep"), min_value=1, max_value=1000)
    weekly = forms.IntegerField(label=gettext_lazy("Weekly backups to keep"), min_value=0, max_value=520)
    monthly = forms.IntegerField(label=gettext_lazy("Monthly backups to keep"), min_value=0, max_value=120)

    def clean_target(self) -> str:
        target: str = self.cleaned_data["target"].strip()
        if target and not target.startswith("s3://"):
            if not target.startswith("/"):
                raise forms.ValidationError(_("Type the whole path, which begins with /, or s3://BUCKET/PREFIX."))
            if not Path(target).is_dir():
                raise forms.ValidationError(_("There is no such directory on the hub’s machine."))
        return target

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("target") and not schedule.keys().is_there:
            self.add_error("target", schedule.NO_KEYS)
        return self.cleaned_data


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def hub_backups(request: Request) -> HttpResponse:
    """Show the plan and the last backup, and save the plan on POST."""
    there, is_post = schedule.state(), request.method == "POST"
    plan = there.plan
    initial = {name: getattr(plan, name) for name in PlanForm.base_fields}
    form = PlanForm(request.POST if is_post else None, initial=initial)
    if is_post and form.is_valid():
        schedule.set_plan(Plan(**form.cleaned_data), act(request))
        messages.success(request, _("The settings of the backups were saved."))
        return see_other("hub_backups")
    shown = {"form": form, **facts(there), **_commands(there), "section": "settings"}
    shown["no_keys"] = not schedule.keys().is_there
    part = "background/_backups.html" if request.GET.get("part") == "state" else "background/backups.html"
    return render(request, part, shown)


def _commands(there: State) -> dict[str, str]:
    """Return the commands that make and restore a backup by hand."""
    keys, where = schedule.keys(), there.plan.target or "/PATH/OF/BACKUPS"
    passphrase = "MEMORYHUB_BACKUP_PASSPHRASE=…"
    makes = f"MEMORYHUB_BACKUP_RECIPIENT={shlex.quote(keys.recipient)}" if keys.recipient else passphrase
    file = f"{shlex.quote(where.rstrip('/'))}/{shlex.quote(there.name or 'FILE')}"
    return {
        "backup_command": line_of(f"backup {shlex.quote(where)}", needs=makes),
        "restore_command": line_of(f"restore {file} --identity FILE_OF_THE_SECRET_KEY")
        if keys.recipient
        else line_of(f"restore {file}", needs=passphrase),
    }


@require_POST
@superuser_only
def back_up_now(request: Request) -> HttpResponse:
    """Request a backup, which begins within seconds. Request nothing if no destination is set."""
    if schedule.state().plan.target:
        schedule.ask(act(request))
        messages.success(request, _("A backup begins within seconds."))
    return see_other("hub_backups")


def facts(there: State) -> dict[str, Any]:
    """Return the template context for the state of backups."""
    now = timezone.now()
    return {
        "backups": there,
        "is_old": there.is_old(now),
        "is_next_soon": schedule.is_due(there, now),
        "is_running": there.is_running(now),
    }

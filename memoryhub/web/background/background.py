"""The state of the hub's background tasks, and the hour at which a large database file is rewritten."""

import shutil
from dataclasses import dataclass
from datetime import datetime

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.backups import schedule
from memoryhub.actions.core.hub import background, disk_space
from memoryhub.actions.erasure import sqlite_remains
from memoryhub.actions.mail import alarms
from memoryhub.actions.verification import runs
from memoryhub.models import BackgroundTask, Webhook
from memoryhub.pure.webhook_rules.chat import ALARMS
from memoryhub.web.background.backups import facts
from memoryhub.web.common.guards.access import act, superuser_only
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request

WORDS = {
    "checkpoints": (
        gettext_lazy("Checkpoints"),
        gettext_lazy("writes checkpoints of the audit to separate files"),
    ),
    "scrub": (gettext_lazy("Rewriting"), gettext_lazy("removes redacted text from the database file")),
    "forgetting": (
        gettext_lazy("Forgetting"),
        gettext_lazy("deletes records of calls and deliveries that are too old to be repeated"),
    ),
    "figures": (gettext_lazy("Figures"), gettext_lazy("counts what the overviews show")),
    "retention": (gettext_lazy("Retention"), gettext_lazy("finds what the retention policies should remove")),
    "runs": (gettext_lazy("Retention runs"), gettext_lazy("remove what is due by the retention policies")),
    "imports": (gettext_lazy("Imports"), gettext_lazy("import memories")),
    "scans": (gettext_lazy("Scans"), gettext_lazy("scan the history for sensitive text")),
    "findings": (gettext_lazy("Findings"), gettext_lazy("check that resolved findings are still resolved")),
    "deletion": (gettext_lazy("Deletion"), gettext_lazy("removes the rows of deleted memory stores")),
    "webhooks": (gettext_lazy("Webhooks"), gettext_lazy("read the audit and send events")),
    "mail": (gettext_lazy("E-mail"), gettext_lazy("sends the messages that wait, and digests that are due")),
    "alarms": (gettext_lazy("Alarms"), gettext_lazy("finds what needs an administrator, for e-mail and webhooks")),
    "stream": (
        gettext_lazy("Audit stream"),
        gettext_lazy("writes every audit entry to the place where a SIEM reads it"),
    ),
    "spans": (gettext_lazy("Spans"), gettext_lazy("sends a span of each call to OpenTelemetry")),
    "refused_calls": (
        gettext_lazy("Refused calls"),
        gettext_lazy("counts the refused calls of keys that made too many calls in a minute"),
    ),
    "verification": (gettext_lazy("Verification"), gettext_lazy("checks all audit entries when a person asks for it")),
    "claude_runs": (gettext_lazy("Claude runs"), gettext_lazy("send the tasks that people give to Claude to its API")),
    "backups": (gettext_lazy("Backups"), gettext_lazy("makes the planned backups and deletes old ones")),
    "disk": (
        gettext_lazy("Disk reserve"),
        gettext_lazy("keeps some space free, so that deleting works even on a full disk"),
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of task on one node. `state` is ok, failing, hanging, or unplanned (backups without a destination)."""

    label: str
    does: str
    node: str
    state: str
    task: BackgroundTask


@dataclass(frozen=True, slots=True)
class Health:
    """The database with its version and its newest migration, and the space on the disk of the data directory."""

    database: str
    migration: str
    free: int  # bytes
    total: int  # bytes
    is_full: bool


@dataclass(frozen=True, slots=True)
class Lasting:
    """A current alarm in words, and the URL of the page that shows its cause (may be empty)."""

    words: str
    url: str = ""


class HourForm(forms.Form):
    """The hour at which a large database file is rewritten."""

    hour = forms.TypedChoiceField(
        label=gettext_lazy("Hour for a large file, in UTC"), coerce=int,
        choices=[(hour, f"{hour:02}:00") for hour in range(24)],
        help_text=gettext_lazy("A file up to 256 MB is rewritten at once, which takes a few seconds."),
    )  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_only
def hub_background(request: Request) -> HttpResponse:
    """Show the state of the background tasks, and save the hour on POST."""
    remains = sqlite_remains.remains()
    form = HourForm(request.POST if request.method == "POST" else None, initial={"hour": remains.hour})
    if request.method == "POST" and form.is_valid():
        sqlite_remains.set_hour(form.cleaned_data["hour"], act(request))
        messages.success(request, _("The hour was saved."))
        return see_other("hub_background")
    now = timezone.now()
    found = rows(now)
    shown = {
        "rows": found,
        "alarms": lasting(now),
        "health": _health(),
        "failing": sum(row.state in ("failing", "hanging") for row in found),
        "several": len({row.node for row in found}) > 1,
        "remains": remains,
        "checked": runs.last(),
        "form": form,
        **facts(schedule.state()),
    }
    return render(request, "background/page.html", {**shown, "section": "settings"})


@require_POST
@superuser_only
def scrub_now(request: Request) -> HttpResponse:
    """Request that the background rewrites the database file at once, without waiting for the chosen hour."""
    sqlite_remains.ask(act(request))
    messages.success(request, _("The file is being rewritten. Calls wait until it is done."))
    return see_other("hub_background")


def rows(now: datetime) -> list[Row]:
    """Return a row for each kind of background work on each node, with its state."""
    return [_row(task, now) for task in background.states()]


def lasting(now: datetime) -> list[Lasting]:
    """Return the current alarms, also those that are too new for a message about them."""
    keys = [key.partition(" ") for key in alarms.lasting(now)]
    webhooks = Webhook.objects.in_bulk([subject for kind, _space, subject in keys if kind == alarms.WEBHOOK])
    shown = []
    for kind, _space, subject in keys:
        if kind == alarms.WEBHOOK:
            name = str(webhooks.get(subject, subject))
            words = _("the webhook “%(name)s” does not reach its receiver") % {"name": name}
            shown.append(Lasting(words, reverse("webhook", args=[subject])))
        else:
            shown.append(Lasting(str(ALARMS[kind]), reverse("audit") if kind == alarms.AUDIT else ""))
    return list(dict.fromkeys(shown))


def _health() -> Health:
    disk = shutil.disk_usage(settings.DATA_DIR)
    version = ".".join(str(part) for part in connection.get_database_version())
    newest = MigrationRecorder(connection).migration_qs.filter(app="memoryhub").order_by("-name").first()
    return Health(
        f"{connection.display_name} {version}",
        newest.name if newest else "",
        disk.free,
        disk.total,
        disk_space.is_full(),
    )


def _row(task: BackgroundTask, now: datetime) -> Row:
    label, does = WORDS[task.name]
    state = "hanging" if background.hangs(task, now) else "failing" if task.failures else "ok"
    if state == "ok" and task.name == "backups" and not schedule.state().plan.target:
        state = "unplanned"
    return Row(str(label), str(does), task.node, state, task)

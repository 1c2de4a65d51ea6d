"""Cancels previews that no one started, and deletes incomplete uploads of processes that have ended."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext as _

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.transfer import importing
from memoryhub.models import Door, Import, ImportState

ARRIVES = timedelta(hours=6)
"""The longest time of an upload."""


def forget_previews(at: datetime) -> int:
    """Cancel previews that were not started within MEMORYHUB_IMPORT_HOURS, and return how many were cancelled.

    Incomplete uploads older than ARRIVES are deleted.
    """
    left = Import.objects.filter(state=ImportState.ARRIVING, created_at__lt=at - ARRIVES)
    for import_id in list(left.values_list("pk", flat=True)[:100]):
        importing.drop(import_id)
    before = at - timedelta(hours=settings.MEMORYHUB_IMPORT_HOURS)
    old = Import.objects.filter(state__in=(ImportState.READING, ImportState.PREVIEW), created_at__lt=before)
    jobs = list(old.values_list("pk", flat=True)[:100])
    for job in jobs:
        try:
            importing.cancel(
                job, Act(Actor.system("import"), Door.COMMAND, at), _("No one started the import in time.")
            )
        except (importing.NotOpen, tree.NoSuchStore):
            continue
    return len(jobs)

"""Finds and leaves out the one folder that contains all files of an archive.

A program that packs a folder puts the folder's name before every path.
"""

from django.db.models import F, Value
from django.db.models.functions import Concat, Left, Substr

from memoryhub.actions.core.transactions import writing
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing.preview import REFUSED
from memoryhub.models import Import, ImportItem, ImportState


def folder_of(job: Import) -> str:
    """Return the name of the folder that contains all files of an archive; "" if there is none.

    Also return "" if any item of the import is more than a file: if it has a history, or the id of a memory.
    """
    if job.source != "zip" or job.state != ImportState.PREVIEW:
        return ""
    taken = ImportItem.objects.filter(job=job).exclude(found=REFUSED)
    first = taken.order_by("number").values_list("path", flat=True).first()
    name, slash, _ = (first or "").removeprefix(job.place).removeprefix("/").partition("/")
    if not slash:
        return ""
    start = f"{job.place}/{name}/"
    others = taken.alias(start=Left("path", len(start))).exclude(start=start, history=[], memory=None)
    return "" if others.exists() else name


def leave_out(import_id: str, folder: str) -> None:
    """Remove the folder from all paths of a preview, and let `step` compare the files again.

    Raises NotOpen if the import is not in preview, or if `folder_of` does not return this folder.
    """
    with writing():
        job = Import.objects.select_for_update().filter(pk=import_id).first()
        if job is None or not folder or folder_of(job) != folder:
            raise importing.NotOpen(import_id)
        start = f"{job.place}/{folder}/"
        inside = ImportItem.objects.filter(job=job).alias(start=Left("path", len(start))).filter(start=start)
        shorter = Concat(Value(f"{job.place}/"), Substr(F("path"), len(start) + 1))
        inside.filter(found=REFUSED).update(path=shorter)
        inside.exclude(found=REFUSED).update(path=shorter, found="", choice="", reason="", met=None)
        job.state, job.done_count = ImportState.READING, 0
        job.save(update_fields=["state", "done_count"])

"""An edit over somebody else's newer version: both sides, what changed between them, and a form that loses nothing."""

from dataclasses import dataclass

from memoryhub import diffs
from memoryhub.actions.curation import Conflict
from memoryhub.models import AuditEntry, Memory, MemoryVersion
from memoryhub.web import memories_text, stores_pages
from memoryhub.web.memories_forms import EditForm, NewMemoryForm


@dataclass(frozen=True, slots=True)
class Sides:
    """What the page shows. `theirs` is null where the memory was deleted; the diff to it where the base is unknown.

    `to_merge` is their text as a textarea holds it, for the editor to merge; null where its lines end in another way
    than those of the person's text, which would then change with what is taken over.
    """

    form: EditForm | NewMemoryForm
    mine: str
    theirs: str | None
    entry: AuditEntry | None
    to_merge: str | None
    base_to_theirs: diffs.Diff | None
    theirs_to_mine: diffs.Diff | None


def sides(memory: Memory, sent: EditForm, conflict: Conflict) -> Sides:
    """Both sides of a valid form that came too late."""
    given, mine = sent.cleaned_data, sent.cleaned_data["content"]
    current = conflict.current
    kept = {
        "text": given["text"].replace("\r\n", "\n"), "newlines": given["newlines"], "note": given["note"],
        "path": memory.path,
    }  # fmt: skip
    entry = _entry(memory, current.head if current else memory.head_id)
    if current is None:
        return Sides(NewMemoryForm(initial=kept), mine, None, entry, None, None, None)
    form = EditForm(initial=kept | {"sha256": current.sha256, "version": current.head, "path": current.path})
    base = _base(memory, given["version"])
    base_to_theirs = None if base is None else diffs.compare(base, current.content)
    to_merge = _to_merge(current.content, given["newlines"])
    return Sides(form, mine, current.content, entry, to_merge, base_to_theirs, diffs.compare(current.content, mine))


def _to_merge(theirs: str, newlines: str) -> str | None:
    editable = memories_text.to_textarea(theirs)
    return editable.text if editable.newlines == newlines else None


def _base(memory: Memory, version_id: str) -> str | None:
    """The text that the person had opened."""
    version = MemoryVersion.objects.of_memory(memory).filter(pk=version_id).select_related("text").first()
    return version.content if version else None


def _entry(memory: Memory, version_id: str) -> AuditEntry | None:
    seq = MemoryVersion.objects.of_memory(memory).filter(pk=version_id).values_list("seq", flat=True).first()
    return stores_pages.entries(memory.store, seq).get(seq or 0)

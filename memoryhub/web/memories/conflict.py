"""The page for resolving a conflict with a newer version that someone else has saved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.actions.memories.curation import Conflict
from memoryhub.models import AuditEntry, Memory, MemoryVersion
from memoryhub.pure.text import diffs, merging
from memoryhub.pure.text.matching import Work
from memoryhub.web.common import pages
from memoryhub.web.common.texts import lines
from memoryhub.web.common.versions.comparisons import NOWHERE, Sides, sides
from memoryhub.web.memories.forms import EditForm, NewMemoryForm

SHOWN = 100
"""The most conflicts that are listed one by one. The merged text has all of them."""

Line = tuple[diffs.Span, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """An unresolved conflict: its number, its first line in the text, and the lines `base`, `mine` and `theirs`.

    In `mine` and `theirs`, the differences from `base` are marked.
    """

    number: int
    line: int
    base: Sequence[Line]
    mine: Sequence[Line]
    theirs: Sequence[Line]


@dataclass(frozen=True, slots=True)
class MergePage:
    """The content of the conflict page."""

    form: EditForm | NewMemoryForm
    opened: MemoryVersion | None  # None if the version that the person edited no longer exists
    theirs: MemoryVersion | None  # None if the memory was deleted
    entry: AuditEntry | None  # the entry that made `theirs`
    blocks: Sequence[Block]
    left: int  # the number of conflicts in the text
    asks: bool  # the person has tried to save with these conflicts
    has_base: bool
    they_changed: diffs.Diff | None
    saving_changes: diffs.Diff | None
    sides: Sides = NOWHERE

    @property
    def they_changed_closed(self) -> bool:
        """Return whether the other person's changes are not shown because comparing them would take too long."""
        texts = self.opened and self.theirs and (self.opened.content, self.theirs.content)
        return self.they_changed is None and bool(texts) and None not in (texts or ())

    @property
    def between(self) -> int:
        """Return the number of versions between `opened` and `theirs`."""
        return self.theirs.number - self.opened.number - 1 if self.theirs and self.opened else 0


def merge_page(memory: Memory, sent: EditForm, conflict: Conflict) -> MergePage:
    """Merge a valid form with the current newer version, and return the content of the conflict page."""
    given, current = sent.cleaned_data, conflict.current
    if current is None:
        return _deleted(memory, sent)
    base = _version(memory, given["version"])
    base_text = None if base is None else base.content
    texts, newlines = _alike(base_text, given["content"], current.content)
    merged = merging.beside(*texts[1:]) if base_text is None else merging.merge(*texts)
    theirs = _version(memory, current.head)
    text = merged.marked(*_labels(theirs))
    form = EditForm(
        initial={
            "text": text,
            "newlines": newlines,
            "note": given["note"],
            "path": current.path,
            "sha256": current.sha256,
            "version": current.head,
            "opened": given["opened"] or given["version"],
            "mark": 0 if merged.is_clean else merged.mark,
            "open_ends": _open_ends(merged),
            "review": given["review"],
        }
    )
    return _content(memory, form, base, theirs, merged, has_base=base_text is not None)


def unfinished(memory: Memory, sent: EditForm, typed: dict[str, str]) -> MergePage | None:
    """Return the conflict page again if the submitted form does not finish the merge, else None.

    `typed` is the form data: `conflict-1` and so on name the chosen sides, `do` is the pressed button. The button
    `save-marked` saves the text even if it still has conflicts.
    """
    given = sent.cleaned_data
    if not given["mark"] or typed.get("do") == "save-marked":
        return None
    text = given["text"].replace("\r\n", "\n")
    found = merging.unmarked(text, given["mark"])
    opened, theirs = _version(memory, given["opened"]), _version(memory, given["version"])
    if typed.get("do") == "choose":
        text = _chosen(found, typed, theirs, given)
        found = merging.unmarked(text, given["mark"])
    elif found.is_clean:
        return None
    form = EditForm(initial={**{name: given[name] for name in sent.fields}, "text": text})
    has_base = opened is not None and opened.text_id is not None
    return _content(memory, form, opened, theirs, found, has_base=has_base, asks=typed.get("do") != "choose")


def _content(
    memory: Memory,
    form: EditForm,
    opened: MemoryVersion | None,
    theirs: MemoryVersion | None,
    merged: merging.Merge,
    *,
    has_base: bool,
    asks: bool = False,
) -> MergePage:
    content = theirs.content if theirs else None
    before, work = opened.content if opened else None, Work(diffs.REQUEST_WORK)
    text = lines.from_textarea(str(form["text"].value()), str(form["newlines"].value()))
    return MergePage(
        form=form,
        opened=opened,
        theirs=theirs,
        entry=_entry(memory, theirs),
        sides=sides(opened, theirs),
        left=len(merged.conflicts),
        asks=asks,
        has_base=has_base,
        saving_changes=diffs.opened(work, content, text) if merged.is_clean and content is not None else None,
        they_changed=None if before is None or content is None else diffs.opened(work, before, content),
        blocks=_blocks(merged, work),
    )


def _deleted(memory: Memory, sent: EditForm) -> MergePage:
    given = sent.cleaned_data
    form = NewMemoryForm(
        memory.store,
        initial={
            "text": given["text"].replace("\r\n", "\n"),
            "newlines": given["newlines"],
            "note": given["note"],
            "path": memory.path,
        },
    )
    entry = _entry(memory, _version(memory, memory.head_id))
    return MergePage(form, None, None, entry, (), 0, asks=False, has_base=False, they_changed=None, saving_changes=None)


# ------------------------------------------------------------------------------------------------ texts


def _alike(base: str | None, mine: str, theirs: str) -> tuple[list[str], str]:
    """Return [base, mine, theirs] with line endings as in a textarea, and the kind of line endings of the merged text.

    The kind is a value of `Editable.newlines`. If `base` is None, `mine` is returned in its place.
    """
    texts = [mine if base is None else base, mine, theirs]
    shown = [lines.to_textarea(text) for text in texts]
    if all(editable.sign is None for editable in shown):
        before, own, other = (editable.newlines for editable in shown)
        return [editable.text for editable in shown], other if own == before else own
    sign = lines.to_textarea("\r\r" + "".join(texts)).newlines
    return [text.replace("\r", sign) for text in texts], sign


def _labels(theirs: MemoryVersion | None) -> tuple[str, str]:
    """Return the labels of the two sides for the conflict markers."""
    return _("yours"), _("theirs, version %(number)s") % {"number": theirs.number if theirs else "?"}


def _open_ends(merged: merging.Merge) -> str:
    """Return the names of the sides that end without a line feed, separated by spaces."""
    last = merged.parts[-1] if merged.parts else ""
    sides = () if isinstance(last, str) else (("base", last.base), ("mine", last.mine), ("theirs", last.theirs))
    return " ".join(name for name, side in sides if side and not side.endswith("\n"))


def _chosen(found: merging.Merge, typed: dict[str, str], theirs: MemoryVersion | None, given: Mapping[str, Any]) -> str:
    """Return the text with a conflict resolved if the person chose a side for it. The other conflicts stay marked."""
    numbers = count(1)
    chosen = ""

    def settle(conflict: merging.Conflict) -> str:
        nonlocal chosen
        chosen = typed.get(f"conflict-{next(numbers)}", "")
        sides = {"theirs": conflict.theirs, "mine": conflict.mine, "base": conflict.base}
        sides["both"] = merging.joined([conflict.theirs, conflict.mine])
        return sides[chosen] if chosen in sides else merging.marked(conflict, given["mark"], *_labels(theirs))

    text = found.settled(settle)
    ends_open = ("mine" if chosen == "both" else chosen) in given["open_ends"].split()
    return text.removesuffix("\n") if ends_open and isinstance(found.parts[-1], merging.Conflict) else text


def _blocks(merged: merging.Merge, work: Work) -> list[Block]:
    blocks: list[Block] = []
    line = 1
    for part in merged.parts:
        if isinstance(part, str):
            line += part.count("\n")
            continue
        if len(blocks) < SHOWN:
            sides = [_lines(part.base, side, work) for side in (part.base, part.mine, part.theirs)]
            blocks.append(Block(len(blocks) + 1, line, *sides))
        line += sum(len(merging.lines_of(side)) for side in (part.base, part.mine, part.theirs)) + 4
    return blocks


def _lines(base: str, side: str, work: Work) -> list[Line]:
    """Return the lines of `side`, with the differences from `base` marked. Nothing is marked if that would exceed the
    work left for the request."""
    diff = None if base == side or not base else diffs.opened(work, base, side, context=None)
    if diff is None:
        return [(diffs.Span(line.removesuffix("\n"), False),) for line in merging.lines_of(side)]
    rows = diffs.split(diff)
    return [row.new for row in rows if isinstance(row, diffs.Row) and row.new is not None]


# ------------------------------------------------------------------------------------------------ versions


def _version(memory: Memory, version_id: str) -> MemoryVersion | None:
    return MemoryVersion.objects.of_memory(memory).filter(pk=version_id).select_related("text").first()


def _entry(memory: Memory, version: MemoryVersion | None) -> AuditEntry | None:
    return pages.entries(memory.store, version.seq).get(version.seq) if version else None

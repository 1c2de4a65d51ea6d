"""Restoring several memories from the trash.

If a path is not free, the person chooses another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions.memories.selection import Done, NotDone
from memoryhub.actions.memories.selection.restore import Obstacle, Return, ReturnPlan, restore, return_plan
from memoryhub.models import AuditEntry, MemoryStore
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.templatetags.visible import visible
from memoryhub.web.common import pages
from memoryhub.web.common.forms import LONGEST_NOTE, PathField
from memoryhub.web.common.guards.access import act
from memoryhub.web.common.pages import see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions.undo_banner import tell_done
from memoryhub.web.memories.selection.forms import Posted
from memoryhub.web.retention.holds.held import by_hold

ASKED = 200
"""The most memories for which another path can be typed; the rest use the suggested path."""
_PLACE = "path-"


@dataclass(frozen=True, slots=True)
class Row:
    """A memory whose path is not free.

    `why` is the reason. `value` is the text in the field for another path, and `error` says what is wrong with this
    text.
    """

    memory_id: str
    path: str
    why: str
    value: str
    error: str


def answer(request: Request, store: MemoryStore, posted: Posted) -> HttpResponse:
    """Restore the memories, or show which of them cannot be restored to their paths. Raises TooMuch."""
    places, errors = _places(store, request.POST)
    note = request.POST.get("note", "")
    problem, final = "", None
    if errors:
        problem = _("Nothing was done, because some of these paths are not possible. Correct them below.")
    elif len(note) > LONGEST_NOTE:
        problem = _("The note is too long. Use at most 1,000 characters.")
    else:
        try:
            done = restore(store.pk, posted.thrown, places, posted.digest or None, act(request, note))
        except NotDone as error:
            final = error.plan
            problem = _changed() if error.changed else ""
        except ToolError as error:
            problem = in_words(error)
        else:
            tell_done(request, store.id, _said(store, done), done.seq)
            return see_other("trash", store.pk)
    shown = return_plan(store.pk, posted.thrown, timezone.now())
    return _page(request, store, posted, shown, _rows(shown, final, places, errors), problem)


def _said(store: MemoryStore, done: Done) -> str:
    """Return a sentence on what was restored. For a single memory, the sentence has the path as a link."""
    said = ngettext("%(count)s memory was restored.", "%(count)s memories were restored.", done.count)
    entry = AuditEntry.objects.of_chain(store.pk).only("path", "memory").get(seq=done.seq)
    if entry.memory is None:
        return said % {"count": done.count}
    url = reverse("memory", args=[store.pk, entry.memory])
    link = format_html('<a class="mono break-anywhere" href="{}">{}</a>', url, visible(entry.path or ""))
    return format_html(_("{} was restored."), link)


def _page(
    request: Request, store: MemoryStore, posted: Posted, plan: ReturnPlan, rows: list[Row], problem: str
) -> HttpResponse:
    template = "memories/selection/restore.html" if plan.returns else "memories/selection/empty.html"
    return render(
        request,
        template,
        pages.context(
            request,
            store,
            posted=posted,
            plan=plan,
            kept=by_hold((one.hold, one.memory.path) for one in plan.held if one.hold),
            refused=[in_words(one.why) for one in plan.refused if one.why],
            rows=rows[:ASKED],
            offered=rows[ASKED:],
            problem=problem,
            vanished=plan.vanished,
            note=request.POST.get("note", ""),
            in_trash=True,
            most_note=LONGEST_NOTE,
        ),
    )


def _rows(
    shown: ReturnPlan, final: ReturnPlan | None, places: Mapping[str, str], errors: Mapping[str, tuple[str, str]]
) -> list[Row]:
    """Return rows for the memories whose path is not free. Each row has the path that the person typed, or a proposed
    path."""
    still = {one.memory.id: one for one in final.blocked} if final and places else {}
    rows = []
    for one in shown.blocked:
        id = one.memory.id
        typed, error = errors.get(id, (places.get(id, one.offer), _why(still[id]) if id in still else ""))
        rows.append(Row(id, one.memory.path, _why(one), typed, error))
    return rows


def _why(one: Return) -> str:
    return {
        Obstacle.TAKEN: _("Another memory or directory is at %(path)s now."),
        Obstacle.ABOVE: _("%(path)s is not possible, because one of its directories is already a memory."),
        Obstacle.TWICE: _("Another of these memories also goes to %(path)s."),
    }.get(one.obstacle, "%(path)s") % {"path": one.to}


def _places(store: MemoryStore, post: QueryDict) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return {memory: typed path} for the valid paths, and {memory: (typed text, error)} for the invalid ones."""
    field = PathField(creates=True)
    field.store = store.pk
    places, errors = {}, {}
    for name, value in post.items():
        if not name.startswith(_PLACE):
            continue
        id, typed = name.removeprefix(_PLACE), str(value)
        try:
            places[id] = field.clean(typed)
        except ValidationError as error:
            errors[id] = (typed, " ".join(error.messages))
    return places, errors


def _changed() -> str:
    return _("Nothing was done, because the trash has changed in the meantime. Check it and try again.")

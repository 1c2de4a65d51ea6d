"""The page that removes the lines of a finding from its memory, after a preview of the new version."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.memories import curation
from memoryhub.models import Finding, MemoryStore, Role
from memoryhub.protocol.errors import ToolError
from memoryhub.templatetags.visible import isolated
from memoryhub.text.diffs import Diff
from memoryhub.text.line_removal import without_numbers
from memoryhub.web.common import masking
from memoryhub.web.common.access import act, in_store, person
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.undo_banner import tell_done
from memoryhub.web.common.versions import memory_of
from memoryhub.web.findings.rows import Item, items_of
from memoryhub.web.history.versions import page_context


@dataclass(frozen=True, slots=True)
class Plan:
    """The new version: its diff and the removed lines; `is_whole` means that no text would remain."""

    diff: Diff
    lines: tuple[int, ...]
    is_whole: bool


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def take_out(request: Request, store: MemoryStore, finding_id: str) -> HttpResponse:
    """Show the new version; a POST with the id of the previewed memory version (`head`) saves it."""
    finding = Finding.objects.of_store(store.pk).filter(pk=finding_id, in_path=False).first()
    if finding is None:
        raise Http404
    item = _item(request, finding)
    plan, problem = _plan(item), ""
    if request.method == "POST" and plan and not plan.is_whole:
        try:
            done = curation.take_out(store.pk, finding.pk, request.POST.get("head", ""), act(request))
        except curation.Conflict:
            problem = _("The memory has changed since you opened this page. Nothing was done: look at it again.")
            item = _item(request, finding)
            plan = _plan(item)
        except ToolError as error:
            problem = for_people(error)
        else:
            tell_done(request, store.pk, _said(item, plan), done.seq)
            return see_other(next_of(request, "findings"))
    elif request.method == "POST" and plan is None:
        messages.info(request, _("Nothing was done, because there is nothing to take out any more."))
        return see_other(next_of(request, "findings"))
    return render(request, "findings/take_out.html", _shown(request, store, item, plan, problem))


def _item(request: Request, finding: Finding) -> Item:
    """Return the finding as an item. Raise Http404 if it has just been removed with its memory."""
    for item in items_of([finding.pk], person(request), timezone.now()):
        return item
    raise Http404


def _plan(item: Item) -> Plan | None:
    """Return the new version, or None if the lines cannot be removed.

    That is so if the memory is in the trash or no longer has the text, or if the finding has no fingerprint.
    """
    memory = memory_of(item.store, item.memory.pk)
    text = memory.head.content if memory.is_live else None
    removed = curation.without_line(item.finding, text) if text is not None and item.finding.fingerprint else None
    if text is None or removed is None or not removed.lines:
        return None
    cover = masking.cover_of(item.store.pk, memory.pk)
    shown = masking.masked(text, cover)  # the rest is not searched again: its values may be known only by what is gone
    diff = masking.compared(shown, without_numbers(shown, removed.lines), cover)
    return Plan(diff, removed.lines, not removed.text.strip())


def _said(item: Item, plan: Plan) -> str:
    count = len(plan.lines)
    said = ngettext("%(count)s line was taken out of %(path)s.", "%(count)s lines were taken out of %(path)s.", count)
    return said % {"count": count, "path": isolated(item.memory.path)}


def _shown(request: Request, store: MemoryStore, item: Item, plan: Plan | None, problem: str) -> dict[str, Any]:
    next_version = item.memory.version_count + 1
    more = {"item": item, "plan": plan, "problem": problem, "next": next_of(request, "findings")}
    return page_context(request, store, item.memory, next_version=next_version, **more)

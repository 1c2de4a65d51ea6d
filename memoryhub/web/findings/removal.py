"""The page that removes the lines of a finding from its memory, after a preview.

It can also undo later writes of sessions that read the lines.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods

from memoryhub.actions.history import apply_plan, taking_out
from memoryhub.actions.history.apply_plan import Done, PlanChanged
from memoryhub.actions.history.refused import without_refused
from memoryhub.actions.history.replay import content_of
from memoryhub.actions.history.taking_out import TakeOut
from memoryhub.actions.review import decisions
from memoryhub.models import AuditEntry, Finding, MemoryStore, MemoryVersion, ReviewState, Role, User
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import Group
from memoryhub.pure.text.diffs import Diff
from memoryhub.pure.text.line_removal import without_numbers
from memoryhub.templatetags.visible import isolated
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import May, next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows
from memoryhub.web.common.texts import masking
from memoryhub.web.common.tool_errors import for_people
from memoryhub.web.common.versions import closing
from memoryhub.web.common.versions.undo_banner import tell_done
from memoryhub.web.findings.rows import Item, items_of
from memoryhub.web.history.versions import page_context
from memoryhub.web.sessions.spread import carriers
from memoryhub.web.undo.asked import Asked, flagged_words, shown, since_opened, to_flag_words, undone_words
from memoryhub.web.undo.spread import Carried, Source, Spread, Ticks, spread_of

MOST_ALSO, MOST_ENTRIES = 5, 500


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.CURATOR)
def take_out(request: Request, store: MemoryStore, finding_id: str) -> HttpResponse:
    """Show the memory without the lines of the finding, and who has read these lines. A POST with the digest of this
    preview removes the lines and makes the other chosen changes."""
    finding = Finding.objects.of_store(store.pk).filter(pk=finding_id, in_path=False).first()
    if finding is None:
        raise Http404
    item = _item(request, finding)
    asked = Asked.by(request, _spread_of(item))
    taken, problem = _plan(item, asked), ""
    if request.method == "POST" and taken and not taken.is_whole:
        problem = asked.problem(request, taken.plan)
        if not problem:
            try:
                done = _take_out(request, item, taken, asked)
            except PlanChanged:
                item, problem = _item(request, finding), since_opened()
                taken = _plan(item, asked)
            except ToolError as error:
                problem = for_people(error)
            else:
                tell_done(request, store.pk, _said(item, taken, done), done.seq, has_flagged=done.flagged > 0)
                return see_other(next_of(request, "findings"))
    elif request.method == "POST" and taken is None:
        messages.info(request, _("Nothing was done, because there is nothing to take out any more."))
        return see_other(next_of(request, "findings"))
    return render(request, "findings/take_out.html", _context(request, item, taken, asked, problem))


def _item(request: Request, finding: Finding) -> Item:
    """Return the finding as an item. Raise Http404 if it has just been removed with its memory."""
    for item in items_of([finding.pk], person(request), timezone.now()):
        return item
    raise Http404


def _spread_of(item: Item) -> Callable[[User, Ticks], Spread | None]:
    """Return a function that returns who has read the lines of a finding. The function returns None if this is not
    known."""

    def spread(user: User, ticks: Ticks) -> Spread | None:
        finding, memory = item.finding, item.memory
        if (found := carriers(finding, memory, item.version)) is None:
            return None
        source, by_number = Source(memory.pk, memory.path), {row.number: row for row in found.ahead.rows}
        lines = {number: lines for number, lines in found.lines.items() if lines is not None and number in by_number}
        rows = {by_number[number].id: (by_number[number], source, lines[number]) for number in lines}
        whole = found.ahead.whole and len(lines) == len(found.lines)
        known = Carried(rows, whole, {memory.pk} if item.group == Group.POISON else ())
        return spread_of(item.store, [finding.version_id], user, ticks, known)

    return spread


def _plan(item: Item, asked: Asked) -> TakeOut | None:
    """Return the plan. What else is undone has only the choices that no legal hold and no rule forbids."""
    too = apply_plan.entry_versions(item.store.pk, *asked.ticks.too)
    taken = taking_out.plan_of(item.store.pk, item.finding.pk, too)
    return replace(taken, rest=without_refused(taken.rest, timezone.now())) if taken else None


def _take_out(request: Request, item: Item, taken: TakeOut, asked: Asked) -> Done:
    given, store_id, ticks = asked.given, item.store.pk, asked.ticks
    return taking_out.take_out(
        store_id, item.finding.pk, given.for_plan(taken.plan), given.digest, act(request),
        versions=apply_plan.entry_versions(store_id, *ticks.too), told=ticks.entry_input,
        flagged=apply_plan.entry_versions(store_id, *ticks.flag),
    )  # fmt: skip


def _diff(taken: TakeOut, store_id: str) -> Diff:
    """Return the diff between the memory's current text and the text without the removed lines, with values masked."""
    cover = masking.cover_of(store_id, taken.change.memory)
    # masked before lines are removed: the rest of a value might not be recognised
    now = masking.masked(content_of(store_id, taken.change.now) or "", cover)
    left = without_numbers(masking.masked(taken.text, cover), taken.lines)
    return masking.compared(now, left, cover)


def _said(item: Item, taken: TakeOut, done: Done) -> str:
    count = len(taken.lines)
    said = ngettext("%(count)s line was taken out of %(path)s.", "%(count)s lines were taken out of %(path)s.", count)
    said %= {"count": count, "path": isolated(item.memory.path)}
    others = [isolated(change.now.path or change.then.path or "") for change in taken.rest.changes]
    undone = undone_words(done.count - 1, others[0] if len(others) == 1 else "") if done.count > 1 else ""
    flagged = flagged_words(done.flagged) if done.flagged else ""
    return " ".join(filter(None, (said, _review_words(item, taken), undone, flagged)))


def _review_words(item: Item, taken: TakeOut) -> str:
    """Return a sentence about the review of the versions that added the lines, or ""."""
    if taken.emptied:
        of = MemoryVersion.objects.among(item.store.pk, taken.emptied)
        words = ngettext(
            "Version %(number)s added nothing else, so it is marked as reverted.",
            "%(count)s versions added nothing else, so they are marked as reverted.",
            len(taken.emptied),
        )
        return words % {"number": of.values_list("number", flat=True)[0], "count": len(taken.emptied)}
    if item.version is None or not item.version.awaits_review:
        return ""
    words = _("Version %(number)s still awaits review, because the memory has other lines of this version.")
    return words % {"number": item.version.number}


@dataclass(frozen=True, slots=True)
class AlsoWritten:
    """The versions that the session of a finding wrote in other memories: the newest one of each memory.

    The session of a finding is the session that wrote its lines. If `more` is positive, this many memories are left
    out.
    """

    versions: list[MemoryVersion]
    more: int


def _also_written(item: Item) -> AlsoWritten | None:
    """Return the newest versions that the session of a finding wrote in other memories, without reverted versions.

    Return None if there are none. Only the last MOST_ENTRIES entries of the session are examined.
    """
    if item.entry is None or item.entry.session is None:
        return None
    entries = AuditEntry.objects.of_chain(item.store.pk).of_session(item.entry.session).newest()
    seqs = list(entries.values_list("seq", flat=True)[:MOST_ENTRIES])
    found = MemoryVersion.objects.filter(store=item.store, seq__in=seqs).exclude(memory_id=item.memory.pk)
    newest = {version.memory_id: version for version in found.order_by("seq").select_related("memory")}
    left = [version for version in newest.values() if version.review_state != ReviewState.REVERTED]
    return AlsoWritten(left[:MOST_ALSO], len(left) - MOST_ALSO) if left else None


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that the button can have.

    `now` is the label for the current choices. `none`, `one` and `many` are the labels for undoing changes in no, one
    and several memories. In `many`, the page replaces # by the number of memories.
    """

    now: str
    none: str
    one: str
    many: str


def _labels(number: int, lines: int, changes: int, flags: int) -> Labels:
    words = ngettext(
        "Save version %(number)s without this line", "Save version %(number)s without these %(count)s lines", lines
    )
    none = words % {"number": number, "count": lines}
    undo = [_("undo changes in 1 memory"), _("undo changes in # memories")]
    undo.append(undo[changes > 1].replace("#", str(changes)))
    one, many, now = (_("%(act)s, and %(also)s") % {"act": none, "also": words} for words in undo)
    if flags:
        flag = to_flag_words(flags)
        one, many, now = (_("%(act)s, %(also)s and %(flag)s") % {"act": none, "also": w, "flag": flag} for w in undo)
        none = _("%(act)s, and %(also)s") % {"act": none, "also": flag}
    return Labels(now if changes else none, none, one, many)


def _context(request: Request, item: Item, taken: TakeOut | None, asked: Asked, problem: str) -> dict[str, Any]:
    store, next_version = item.store, item.memory.version_count + 1
    more: dict[str, Any] = {
        "also_written": _also_written(item),
        "item": item,
        "taken": taken,
        "problem": problem,
        "next": next_of(request, "findings"),
    }
    shows(request, store, [(item.memory.pk, item.memory.head_id if taken else item.finding.version_id)])
    if taken:
        may = item.may_edit and May.of(request.role, store).write
        more |= shown(request, store, taken.rest, asked, may_apply=may) | {"diff": _diff(taken, store.pk)}
        flags = decisions.without_flags(store.pk, apply_plan.entry_versions(store.pk, *asked.ticks.flag))
        states = {change.memory: change.chosen(asked.given.choice(change)) for change in taken.plan.changes}
        more["closes"] = closing.closed_by(store.pk, states, but=item.finding.pk)
        more["review_words"] = _review_words(item, taken)
        more["button"] = _labels(next_version, len(taken.lines), more["preview"].count, len(flags))
    return page_context(request, store, item.memory, next_version=next_version, **more)

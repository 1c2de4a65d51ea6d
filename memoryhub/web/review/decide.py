"""Decisions about one version (approve, revert, flag), claims, and undoing a decision."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from memoryhub.actions.comments import addressee
from memoryhub.actions.core.plans import Problem
from memoryhub.actions.history import revert
from memoryhub.actions.review import decisions
from memoryhub.actions.review.verbs import FLAG, VERBS, WHO, Verb
from memoryhub.models import Agent, MemoryStore, MemoryVersion, Proposal
from memoryhub.models.audit import LAST_SEQ
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.templatetags.findings import open_findings
from memoryhub.templatetags.visible import visible
from memoryhub.web.comments import telling
from memoryhub.web.common import pages
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.guards.access import act, in_store, person
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.request import Request
from memoryhub.web.common.shown_texts import shows_of_stores
from memoryhub.web.common.tool_errors import for_people, in_words
from memoryhub.web.common.versions import version_of
from memoryhub.web.common.versions.undo_banner import flag_link
from memoryhub.web.review import acts
from memoryhub.web.review.items import Item, in_diffs, items_of
from memoryhub.web.review.queries import Row


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a decision was refused."""

    sentence: str = ""
    again: Verb | None = None  # the decision that may be sent again in spite of the reason


@dataclass(frozen=True, slots=True)
class Given:
    """The form data of a decision. `tell` is the id of the agent that should also read the note."""

    verb: Verb
    note: str
    earlier: int
    anyway: bool
    tell: str

    @classmethod
    def of(cls, request: Request) -> "Given | None":
        """Parse the form. Return None if it names no existing decision."""
        if (decision := request.POST.get("decision", "")) not in acts.ONE:
            return None
        earlier = request.POST.get("earlier", "0")
        number = int(earlier) if earlier.isascii() and earlier.isdigit() and len(earlier) < 10 else 0
        note = request.POST.get("note", "").strip()
        tell = request.POST.get("tell", "")
        return cls(VERBS[decision], note, number, bool(request.POST.get("anyway")), tell)


@require_POST
@in_store(WHO)
def decide(request: Request, store: MemoryStore) -> HttpResponse:
    """Do a decision, and show the result in place of the item. If it is refused, show the item with the reason."""
    given = Given.of(request)
    if given is None:
        return HttpResponseBadRequest(_("This decision does not exist. Nothing was done."))
    version = version_of(store, request.POST.get("version", ""))
    refusal = _refusal(request, version, given)
    if refusal is None:
        try:
            return _done(request, version, given, _decided(request, version, given))
        except revert.NeedsChoice as needed:
            return _choose(request, store, version, given, {change.problem for change in needed.plan.changes})
        except (decisions.Decided, decisions.Changed, ToolError) as error:
            if _is_done_already(request, given, error):
                return _done_already(request, version)
            refusal = _why(error)
    return _refused(request, version, given, refusal)


@require_POST
@in_store(WHO)
def claim(request: Request, store: MemoryStore) -> HttpResponse:
    """Record that the person is looking at a version's memory, and show who else is looking at it.

    If the version was decided in the meantime, show the decision. With `refresh` in the form, only show the item as it
    is now.
    """
    version = version_of(store, request.POST.get("version", ""))
    item = item_of(request, version)
    if request.POST.get("refresh"):
        return answer_of(request, item)
    if not item.is_open:
        answer = answer_of(request, item)
        # "this" is the requesting item, which may no longer be on the page, so htmx could not find it by its id
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "this", "outerHTML"
        return answer
    standing = decisions.claim(store.pk, version.memory_id, person(request), timezone.now())
    other = standing.by if standing.by_id != person(request).pk else None
    return render(request, "review/_claim.html", {"looking": other})


@require_POST
@in_store(WHO)
def claim_proposal(request: Request, store: MemoryStore, number: int) -> HttpResponse:
    """Record that the person is looking at a proposal, and show who else is looking at it."""
    proposal = get_object_or_404(Proposal, store=store, number=number)
    if not proposal.is_open or request.POST.get("refresh"):
        return HttpResponse(status=204)
    other = decisions.claim_proposal(proposal, person(request), timezone.now())
    return render(request, "review/_claim.html", {"looking": other})


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(WHO)
def undo_decision(request: Request, store: MemoryStore, seq: int) -> HttpResponse:
    """Ask for confirmation; on POST, undo the decision of the entry `seq`: its versions await review again. With a
    version in the form field `only`, undo the decision for this version only."""
    if seq > LAST_SEQ:
        raise Http404
    if request.method != "POST":
        return render(request, "review/undo.html", {"store": store, "seq": seq, "next": next_of(request, "review")})
    try:
        undone = revert.take_back(store.pk, seq, act(request), only=request.POST.get("only", "").replace("\0", ""))
    except revert.NeedsChoice:
        return see_other(reverse("undo_entry", args=[store.pk, seq], query={"next": next_of(request, "review")}))
    except ToolError as error:
        messages.error(request, for_people(error))
        return see_other(next_of(request, "review"))
    if request.htmx and (pk := request.POST.get("version")):
        return answer_of(request, item_of(request, version_of(store, pk)))
    if undone is None:
        said = _(
            "Nothing was undone, because someone has made a newer decision, or retention has removed the versions."
        )
        messages.warning(request, said)
    else:
        messages.success(request, _("The decision was undone. Its versions await review again."))
    return see_other(next_of(request, "review"))


def item_of(request: Request, version: MemoryVersion) -> Item:
    row = Row(version.store_id, version.seq, version.pk, version.memory_id, version.path, version.created_at)
    return items_of([row], person(request), timezone.now())[0]


def answer_of(request: Request, item: Item, **more: Any) -> HttpResponse:
    """Return HTML that replaces an item on the page: the current item, or a line with the decision."""
    if item.is_open:
        shows_of_stores(request, in_diffs([item]))
    shown = {"item": item, "decided": not item.is_open, "oob": True, "here": next_of(request, "review"), **more}
    return render(request, "review/_answer.html", shown)


# ------------------------------------------------------------------------------------------------ doing it


def _refusal(request: Request, version: MemoryVersion, given: Given) -> Refusal | None:
    """Return the reason to refuse a decision before it is carried out, or None if there is no reason."""
    if len(given.note) > LONGEST_NOTE:
        return Refusal(_("The note is too long. Use at most 1,000 characters."))
    if problem := telling.problem(given.note, given.tell):
        return Refusal(problem)
    if given.verb.needs_note and not given.note:
        return Refusal(_("Say in the note what is wrong."))
    if given.verb.is_answer and version.awaits_review:
        standing = decisions.claim(version.store_id, version.memory_id, person(request), timezone.now())
        doubts = []
        if standing.by_id != person(request).pk:
            doubts.append(_("%(name)s is looking at this right now.") % {"name": standing.by})
        if not given.verb.changes_text and (found := open_findings(version.memory)):
            doubts.append(_doubt_of(found))
        if doubts and not given.anyway:
            return Refusal(" ".join(doubts), again=given.verb)
    return None


def _doubt_of(found: int) -> str:
    message = ngettext(
        "This memory has %(count)s open finding. Approve it only if what was found does no harm.",
        "This memory has %(count)s open findings. Approve it only if what was found does no harm.",
        found,
    )
    return message % {"count": found}


def _decided(request: Request, version: MemoryVersion, given: Given) -> decisions.Done | None:
    """Do the decision, release the claim, and return what the decision's action returns."""
    done = acts.ONE[given.verb.name](version, act(request, given.note), given.earlier)
    if given.verb.is_answer:
        decisions.release(version.store_id, [version.memory_id], person(request))
    return done


def _is_done_already(request: Request, given: Given, error: Exception) -> bool:
    """Return whether the same person has already made this decision."""
    done = error.review if isinstance(error, decisions.Decided) else None
    return done is not None and done.by_id == person(request).pk and done.decision == given.verb.decision


def _done_already(request: Request, version: MemoryVersion) -> HttpResponse:
    if request.htmx:
        return answer_of(request, item_of(request, version))
    messages.info(request, _("Nothing was done, because you have already decided about this version."))
    return see_other(next_of(request, "review"))


def _why(error: Exception) -> Refusal:
    if isinstance(error, decisions.Changed):
        count = error.count
        message = ngettext(
            "Nothing was done yet. Earlier versions have changed, so approving would now approve "
            "%(count)s of them too. Check and approve again.",
            "Nothing was done yet. Earlier versions have changed, so approving would now approve "
            "%(count)s of them too. Check and approve again.",
            count,
        )
        return Refusal(message % {"count": count})
    return Refusal(in_words(error)) if isinstance(error, ToolError) else Refusal()


def _done(request: Request, version: MemoryVersion, given: Given, done: decisions.Done | None) -> HttpResponse:
    said = words_of(given.verb, version, done)
    if request.htmx:
        item = item_of(request, version)
        more: dict[str, Any] = {"told": _tell_agent(request, version, given)} if done and given.tell else {}
        if done and given.note and not given.tell:
            more = {"untold": _untold(item)}
        answer = answer_of(request, item, said=said, done=done, **more)
        others = [pk for pk in done.versions if pk != version.pk] if done else []
        number = {"number": version.number}
        details = {
            "review:decided": {
                "versions": others,
                "said": _("Approved together with version %(number)s.") % number,
                "memory": version.memory_id,
                "version": version.pk,
            }
        }
        answer.headers["HX-Trigger"] = json.dumps(details)
        return answer
    if done is None:
        messages.info(request, said)
    else:
        back, memory = next_of(request, "review"), version.memory
        is_flagged = given.verb.is_answer and memory.flagged
        said = f"{said} {_tell_agent(request, version, given)}" if given.tell else said
        said = f"{said} {_('The memory is still flagged.')}" if is_flagged else said
        told = with_links(version.store_id, said, done.seq, given.verb, back, memory.pk, is_flagged=is_flagged)
        messages.success(request, told)
    return see_other(next_of(request, "review"))


def _tell_agent(request: Request, version: MemoryVersion, given: Given) -> str:
    return telling.tell_note(version, given.note, given.tell, act(request))


def _untold(item: Item) -> Agent | None:
    """Return the agent to which the note of a decision can still be sent, or None."""
    can_read = item.memory.is_live and not item.store.is_archived
    return addressee.agent_of(item.memory, item.version.number, None) if can_read else None


def words_of(verb: Verb, version: MemoryVersion, done: decisions.Done | None) -> str:
    """Return a sentence on what the decision did."""
    named: dict[str, Any] = {"number": version.number, "path": version.path or version.memory.path}
    if done is None:
        return _("%(path)s has no flag.") % named
    if verb.takes_earlier and (earlier := len(done.versions) - 1):
        message = ngettext(
            "Approved version %(number)s of %(path)s and %(count)s earlier version.",
            "Approved version %(number)s of %(path)s and %(count)s earlier versions.",
            earlier,
        )
        return message % {**named, "count": earlier}
    return str(verb.done) % named


def with_links(
    store_id: str, said: str, seq: int, verb: Verb, back: str, memory_id: str = "", *, is_flagged: bool = False
) -> str:
    """Return a message with links to the audit entry `seq` and, if possible, to the undo of the decision. After
    the undo, the person returns to the URL `back`.

    For a flag, a further link leads to the flag of `memory_id`, or to all flagged memories if `memory_id` is empty.
    """
    flag = flag_link(store_id, memory_id) if verb == FLAG or is_flagged else ""
    url = reverse("entry", args=[store_id, seq])
    entry = format_html('{} {} <a href="{}">{}</a>', visible(said), flag, url, _("Audit entry"))
    if not verb.is_answer:
        return entry
    undo = reverse("undo_decision", args=[store_id, seq], query={"next": back})
    return format_html('{} <a class="button button-small banner-undo" href="{}">{}</a>', entry, undo, _("Undo"))


def _choose(
    request: Request, store: MemoryStore, version: MemoryVersion, given: Given, problems: Collection[Problem]
) -> HttpResponse:
    """Redirect to the page on which the person resolves conflicts with later edits, or sees why nothing can be done."""
    if set(problems) == {Problem.REDACTED}:
        said = _("Nothing was done, because a text that is needed for this was removed permanently.")
    else:
        said = _("Nothing was done, because later edits overlap this one. Choose what to keep.")
    messages.warning(request, said)
    filled_in = {"note": given.note, "tell": given.tell, "next": pages.came_from(request)}
    query = {name: value for name, value in filled_in.items() if value}
    address = reverse("undo_version", args=[store.pk, version.pk], query=query or None)
    if request.htmx:
        return HttpResponse(headers={"HX-Redirect": address})
    return see_other(address)


def _refused(request: Request, version: MemoryVersion, given: Given, refusal: Refusal) -> HttpResponse:
    """Show the item again with the submitted form. Without script, it is shown as a page of its own."""
    item = item_of(request, version)
    shows_of_stores(request, in_diffs([item]))
    shown = {"item": item, "refusal": refusal, "note": given.note, "given": given, "here": next_of(request, "review")}
    if request.htmx:
        return render(request, "review/_item.html", shown)
    return render(request, "review/one.html", shown | {"store": version.store})

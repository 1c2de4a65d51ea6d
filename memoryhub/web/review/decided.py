"""The decisions that a person made about versions and proposals, newest first.

All decisions of one submitted form can be undone at once.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.history import revert
from memoryhub.actions.history.undone import undoing
from memoryhub.actions.proposals import decide
from memoryhub.actions.review.verbs import ANSWERS, VERBS, WHO, Verb
from memoryhub.models import AuditEntry, MemoryStore, Proposal, Role, User
from memoryhub.models.audit import LAST_SEQ
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.audit.filters import NO_FILTER
from memoryhub.web.audit.queries import Page, Search, older_page
from memoryhub.web.audit.rows import Row, rows_of
from memoryhub.web.audit.sentences import told_of
from memoryhub.web.common.guards.access import act, person, signed_in
from memoryhub.web.common.pages import next_of, see_other
from memoryhub.web.common.paging import BadPlace
from memoryhub.web.common.request import Request
from memoryhub.web.common.tool_errors import why_not
from memoryhub.web.review.inbox import visible_stores
from memoryhub.web.review.items import roles_in
from memoryhub.web.review.progress import group_in, number_in, progress, signed_group

OF_PROPOSALS = {decide.MERGE: "git-merge", decide.EDIT_AND_MERGE: "git-merge", decide.REFUSE: "circle-x"}
"""{command that decides about a proposal: its icon}"""

SIZE = 20
PART, PARTS = 50, 5
"""The number of a person's entries that are scanned together, and the most such scans for one page."""
MOST_REOPENED = 500
"""The most entries of a store that are searched for undone decisions."""
MOST_ENTRIES = 200
"""The most entries that one submitted form makes, and that are undone together."""

SECONDS = 4.0
"""The seconds for which one request undoes decisions. The page then requests the rest."""

_ENTRIES = re.compile(r"\w{1,64}:\d{1,18}(?:,\w{1,64}:\d{1,18})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Decided:
    """The audit entries of one submitted form, one for each store or proposal."""

    verb: Verb | None  # None for decisions about proposals
    rows: Sequence[Row]
    is_undone: bool  # all were undone

    @property
    def first(self) -> AuditEntry:
        return self.rows[0].entry

    @property
    def is_of_several(self) -> bool:
        """Return whether one entry decided about several versions."""
        return self.verb is not None and len(self.rows) == 1 and not self.first.path

    @property
    def icon(self) -> str:
        return self.verb.icon if self.verb else OF_PROPOSALS[self.first.command or ""]

    @property
    def words(self) -> str:
        """Return words that describe the decision. The label of its undo button contains them."""
        what = self.first.path or self.rows[0].words or ""
        return f"{self.verb.badge}, {what}" if self.verb else what

    @property
    def entries(self) -> str:
        """Return the audit entries of the rows as text, for a form field (see `written`)."""
        return written((row.entry.chain, row.entry.seq) for row in self.rows)


@require_safe
@signed_in
def page(request: Request) -> HttpResponse:
    """Show a page of the person's own decisions."""
    user, problem = person(request), ""
    try:
        entries, older = _found(user, visible_stores(user), request.GET.get("before"))
    except BadPlace:
        entries, older = [], None
        problem = _("This link is out of date. Start again from the beginning.")
    shown = {"decided": _grouped(entries), "older": older, "problem": problem, "is_first": "before" not in request.GET}
    return render(request, "review/decided/page.html", shown | {"here": request.get_full_path()})


def _found(user: User, stores: Sequence[str], before: str | None) -> tuple[list[AuditEntry], str | None]:
    """Return the entries of decisions before the place `before`, and where the next page begins (or None)."""
    names = {*OF_PROPOSALS, *(verb.name for verb in ANSWERS)}
    entries: list[AuditEntry] = []
    found = Page([], None, before)
    for part in range(PARTS):
        if len(entries) >= SIZE or (part and found.older is None):
            break
        found = older_page(Search(author=user.pk), stores, found.older, PART)
        entries += [entry for entry in found.entries if entry.command in names and entry.ok]
    return entries, found.older


def _grouped(entries: Sequence[AuditEntry]) -> list[Decided]:
    """Return the entries as decisions: all entries of one submitted form become one decision."""
    undone = _undone(entries)
    found = [list(rows) for _group, rows in groupby(rows_of(entries, NO_FILTER), key=_press)]
    return [
        Decided(
            VERBS.get(rows[0].entry.command or ""),
            rows,
            all(row.entry.seq in undone.get(row.entry.chain, ()) for row in rows),
        )
        for rows in found
    ]


def _press(row: Row) -> str:
    """Return a key that is the same for all entries of one submitted form."""
    return row.entry.group or f"{row.entry.chain}:{row.entry.seq}"


def _undone(entries: Sequence[AuditEntry]) -> Mapping[str, set[object]]:
    """Return {store: seqs of the entries that were undone}."""
    first: dict[str, int] = {}
    for entry in entries:
        first[entry.chain] = min(first.get(entry.chain, entry.seq), entry.seq)
    found = {}
    for store, seq in first.items():
        reopened = AuditEntry.objects.of_chain(store).of_command("reopen").filter(seq__gt=seq).newest()
        inputs = reopened.values_list("input", flat=True)[:MOST_REOPENED]
        found[store] = _wholly_undone([told_of(input) for input in inputs], entries)
        found[store] |= _undone_of_proposals(store, [entry for entry in entries if entry.chain == store])
    return found


def _wholly_undone(reopened: Sequence[Mapping[str, Any]], entries: Sequence[AuditEntry]) -> set[object]:
    """Return the seqs of those `entries` whose decisions are all undone. `reopened` are the inputs of the entries that
    undid decisions."""
    parts: Counter[object] = Counter()
    for details in reopened:
        if details.get("part"):
            parts[details.get("entry")] += len(details["versions"])
    counts = {entry.seq: len(told_of(entry.input).get("versions", ())) for entry in entries if entry.seq in parts}
    whole = {details.get("entry") for details in reopened if not details.get("part")}
    return whole | {seq for seq, count in counts.items() if parts[seq] >= count}


def _undone_of_proposals(store: str, entries: Sequence[AuditEntry]) -> set[object]:
    """Return the seqs of those `entries` whose decision about a proposal is no longer in force."""
    merged = [entry.seq for entry in entries if entry.command in (decide.MERGE, decide.EDIT_AND_MERGE)]
    refused = {entry.seq for entry in entries if entry.command == decide.REFUSE}
    standing = Proposal.objects.of_store(store).filter(seq__in=refused).values_list("seq", flat=True) if refused else ()
    undone = {seq for seq, one in undoing(store, merged).items() if one.is_whole} if merged else set()
    return undone | refused.difference(standing)


def written(entries: Iterable[tuple[str, int]]) -> str:
    """Return entries, given as (chain, seq), as text for a form field or a URL."""
    return ",".join(f"{store}:{seq}" for store, seq in entries)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def undo(request: Request) -> HttpResponse:
    """Undo the decisions of several entries, or show a confirmation page for a GET.

    A version or a proposal with a later decision is left as it is.
    """
    named = request.POST.get("entries") or request.GET.get("entries", "")
    if not _ENTRIES.fullmatch(named):
        return HttpResponseBadRequest(_("This decision does not exist. Nothing was done."))
    pairs = [(store, int(seq)) for store, seq in (part.split(":") for part in named.split(",")[:MOST_ENTRIES])]
    stores = _stores(person(request), [store for store, seq in pairs if seq <= LAST_SEQ])
    if not stores:
        raise PermissionDenied
    back = next_of(request, "decided")
    if request.method != "POST":
        shown = {"entries": named, "stores": list(stores.values()), "next": back}
        return render(request, "review/decided/undo.html", shown)
    return _undo(request, [(stores[store], seq) for store, seq in pairs if store in stores])


def _stores(user: User, named: Sequence[str]) -> dict[str, MemoryStore]:
    """Return {store id: store} of the named stores in which the person may decide."""
    roles = roles_in(user, named)
    mine = [s for s in named if user.is_superuser or roles.get(s, Role.VIEWER).includes(WHO)]
    return MemoryStore.objects.in_bulk(mine)


def _undo(request: Request, entries: Sequence[tuple[MemoryStore, int]]) -> HttpResponse:
    """Undo the decisions of the entries. After SECONDS, show the progress; the page then requests the rest."""
    form, until = request.POST, time.monotonic() + SECONDS
    doing, left = act(request, group=group_in(form)), list(entries)
    count, total = number_in(form, "undone"), max(number_in(form, "total"), len(left))
    while left:
        count += _is_undone(request, *left.pop(0), doing)
        if time.monotonic() > until:
            break
    if left:
        rest = written((store.pk, seq) for store, seq in left)
        fields = {"entries": rest, "group": signed_group(doing.group or ""), "undone": count, "total": total}
        said = _("Undid %(done)s of %(total)s entries.") % {"done": total - len(left), "total": total}
        return progress(request, reverse("undo_decisions"), fields, said, 100 * (total - len(left)) // total)
    _say_undone(request, count)
    back = next_of(request, "decided")
    return HttpResponse(headers={"HX-Redirect": back}) if request.htmx else see_other(back)


def _is_undone(request: Request, store: MemoryStore, seq: int, doing: Act) -> bool:
    """Undo the decisions of an entry, and return whether anything was undone. If not, add a message that says why."""
    try:
        undone = revert.take_back(store.pk, seq, doing)
        return (decide.take_back(store.pk, seq, doing) if undone is None else undone) is not None
    except revert.NeedsChoice:
        address = reverse("undo_entry", args=[store.pk, seq])
        said = _("Entry %(seq)s of %(store)s was not undone, because later edits overlap it.")
        said %= {"seq": seq, "store": store.name}
        messages.warning(request, format_html('{} <a href="{}">{}</a>', said, address, _("Choose what to keep")))
    except (ToolError, NoSuchStore) as error:
        messages.error(request, f"{store.name}: {why_not(error)}")
    return False


def _say_undone(request: Request, count: int) -> None:
    if count:
        said = ngettext(
            "The decision was undone. Its versions or its proposal wait for a decision again, or are as they were "
            "before.",
            "The decisions of %(count)s entries were undone. Their versions and proposals wait for a decision again, "
            "or are as they were before.",
            count,
        )
        messages.success(request, said % {"count": count})
    else:
        said = _(
            "Nothing was undone, because someone has made a newer decision, or retention has removed the versions."
        )
        messages.warning(request, said)

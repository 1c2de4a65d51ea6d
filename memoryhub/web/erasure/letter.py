"""The letter of an erasure over several stores, to print for the person who asked.

The hub does not keep the erased spellings, so only the letter right after the erasure names them. The page also lists
memories that an admin should read: what else they say about the person was not erased.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from memoryhub.actions.core.audit import documents
from memoryhub.actions.erasure import erasure, several
from memoryhub.actions.erasure.several import How, Outcome
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, Receipt, Redaction, User
from memoryhub.web.audit.sentences import told_of
from memoryhub.web.common.guards.access import person, signed_in
from memoryhub.web.common.request import Request
from memoryhub.web.erasure import apart
from memoryhub.web.erasure.asked import Asked

WHY: dict[How, str | Promise] = {
    How.CHANGED: _("something was written there since the search"),
    How.HELD: _("a legal hold protects some of it"),
    How.FAILED: _("the hub could not complete it"),
    How.WAITS: _("there was no time left for it"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A store in which the texts were erased: its receipt, the texts if known, and the note of its audit entry."""

    store: MemoryStore
    receipt: Receipt
    texts: Sequence[str]
    is_right: bool
    memories: Sequence[Memory]
    note: str = ""

    @property
    def places(self) -> int:
        return sum(self.receipt.content["places"].values())

    @property
    def left(self) -> Sequence[str]:
        """Return the marks of the spellings that were left in the store. A mark is a signature that the receipt
        contains in place of a spelling."""
        return [one["mark"] for one in self.receipt.content.get("spellings", {}).get("left", ())]

    @property
    def elsewhere(self) -> int:
        """Return the number of texts in the store that people have to change by hand."""
        return sum(self.receipt.content.get("elsewhere", {}).values())

    @property
    def imports(self) -> int:
        """Return how many imports the erasure cancelled."""
        return int(self.receipt.content.get("imports", 0))


@dataclass(frozen=True, slots=True)
class Failed:
    """A store in which nothing was erased, and why."""

    store: MemoryStore
    why: str | Promise


def after(
    request: Request, stores: Mapping[str, MemoryStore], asked: Asked, outcomes: Sequence[Outcome]
) -> HttpResponse:
    """Show the letter right after the erasures, with a button that continues with the stores in which nothing was
    erased yet."""
    done = {outcome.store: asked.searched[outcome.store].terms for outcome in outcomes if outcome.how is How.DONE}
    erased = {**asked.erased, **done}
    left = {one.text for store in done for one in asked.searched[store].spellings if not asked.takes(one)} | asked.left
    waiting = [outcome.store for outcome in outcomes if outcome.how is How.WAITS]
    failed = [outcome.store for outcome in outcomes if outcome.how not in (How.DONE, How.WAITS)]
    searched = {id: result for id, result in asked.searched.items() if id not in erased and id not in failed}
    rest = replace(asked, erased=erased, searched=searched, left=frozenset(left))
    shown: dict[str, Any] = {
        "failed": [Failed(stores[one.store], WHY[one.how]) for one in outcomes if one.how is not How.DONE],
        "held": [stores[id] for id, result in searched.items() if result.held],
        "left_out": [stores[id] for id, result in searched.items() if result.may_erase and id in asked.left_out],
        "unsearched": [stores[id] for id in (*asked.unsearched, *asked.large)],
        "left": sorted(left),
        "subject": asked.subject,
        "rest": rest.written(person(request)) if failed or asked.unsearched else "",
        "waiting": waiting,
        "waits_asked": rest.written(person(request)) if waiting else "",
        "ticked": [one.text for one in rest.listed if rest.takes(one)],
        "confirm": request.POST.get("confirm", ""),
        "note": request.POST.get("note", ""),
    }
    fresh = {store.id: store for store in MemoryStore.objects.filter(pk__in=erased)}
    shown["apart"] = apart.memories(asked.subject, fresh)
    return _show(request, fresh, asked.group, erased, shown)


@require_safe
@signed_in
def letter(request: Request, group: str) -> HttpResponse:
    """Show the letter of the erasures that have the common id `group`, for the stores that the person administers."""
    stores = {store.id: store for store in MemoryStore.objects.administered_by(person(request))}
    return _show(request, stores, group, {}, {})


def _show(
    request: Request,
    stores: Mapping[str, MemoryStore],
    group: str,
    texts: Mapping[str, Sequence[str]],
    more: Mapping[str, Any],
) -> HttpResponse:
    receipts = several.receipts_of(group, stores)
    if not receipts and not more:
        raise Http404
    rows = [_row(stores[receipt.store], receipt, texts.get(receipt.store, ())) for receipt in receipts]
    people = User.objects.in_bulk({receipt.content["by"] for receipt in receipts})
    shown = {
        "group": group,
        "rows": rows,
        "places": sum(row.places for row in rows),
        "people": list(people.values()),
        "notes": list(dict.fromkeys(row.note for row in rows if row.note)),
        "first": receipts[0].at if receipts else None,
        "texts": list(dict.fromkeys(text for row in rows for text in row.texts)),
        "left_unnamed": max(0, len({mark for row in rows for mark in row.left}) - len(more.get("left", ()))),
        "elsewhere": sum(row.elsewhere for row in rows),
        "imports": sum(row.imports for row in rows),
        "to_read": [row for row in rows if row.memories],
        "is_right": all(row.is_right for row in rows),
        "host": request.get_host(),
    }
    return render(request, "erasure/letter.html", {**more, **shown})


def _row(store: MemoryStore, receipt: Receipt, texts: Sequence[str]) -> Row:
    is_right = documents.is_signed(receipt.content, receipt.signature)
    entry = AuditEntry.objects.of_chain(receipt.store).filter(seq=receipt.content.get("entry")).first()
    return Row(store, receipt, texts, is_right, _memories(receipt, entry), (entry.note if entry else "") or "")


def _memories(receipt: Receipt, entry: AuditEntry | None) -> list[Memory]:
    """Return the memories that an admin should read after an erasure: live memories by path, then those in the trash.
    If `entry` is None, return []."""
    if entry is None:
        return []
    newest = told_of(entry.input).get("newest", ())
    made = MemoryVersion.objects.among(receipt.store, [after for _before, after in newest])
    found = Memory.objects.among(receipt.store, set(made.values_list("memory_id", flat=True))).live()
    redacted = Redaction.objects.of_chain(receipt.store).filter(seq=entry.seq, version__isnull=False)
    versions = MemoryVersion.objects.filter(store_id=receipt.store, pk__in=redacted.values("version"))
    in_trash = Memory.objects.in_trash().filter(store_id=receipt.store, pk__in=versions.values("memory_id"))
    return [*found.order_by("path"), *in_trash.order_by("path")[: erasure.MOST_TOLD]]

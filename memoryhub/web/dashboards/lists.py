"""The lists of a store's dashboard: memories that need attention, and the waiting versions by age."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _, ngettext

from memoryhub.actions import figures
from memoryhub.models import AuditEntry, Figures, Memory, MemoryStore, MemoryVersion
from memoryhub.pure import charts
from memoryhub.templatetags.look import size
from memoryhub.web.common.filters.keys import VERSION
from memoryhub.web.common.pictures import Cell, Picture, Row, number

MOST = 1_000
"""The most versions awaiting review that are counted in each range of age."""

SHOWN = 10
"""The most memories of a list that are shown with bars. The table has all memories of the list."""

AGES = (timedelta(days=1), timedelta(days=7), timedelta(days=30))


def memory_lists(store: MemoryStore, lists: Mapping[str, Any]) -> list[Picture]:
    """Return three charts of memories: those read before any review, those that grow fast, and those never read."""
    added = {str(pk): int(count) for pk, count in lists.get("growing", ())}
    ids = {*lists.get("risky", ()), *lists.get("unread", ()), *added}
    memories = {memory.pk: memory for memory in Memory.objects.among(store.id, ids).live().select_related("head")}

    def among(found: Iterable[str], wanted: Callable[[Memory], bool] = bool) -> list[Memory]:
        return [memories[pk] for pk in found if pk in memories and wanted(memories[pk])]

    risky = among(lists.get("risky", ()), lambda memory: memory.head.awaits_review)
    unread = among(lists.get("unread", ()), lambda memory: memory.read_count == 0)
    return [
        _of_memories("risky", _("Read before review"), _risky_says(lists), _("Reads, all versions"),
                     risky, lambda memory: memory.read_count, number,
                     _("Agents have read nothing that awaits review."), _reads),
        _of_memories("growing", _("Growing fast"), _("How much each memory has grown in the last 7 "
                                                     "days."), _("Gained"),
                     among(added), lambda memory: added[memory.pk], size, _("No memory has grown in the last 7 days.")),
        _of_memories("unread", _("Written and never read"), _unread_says(lists), _("Versions"), unread,
                     lambda memory: memory.version_count, number, _("Every memory has been read."), _versions),
    ]  # fmt: skip


def lists_of(store: MemoryStore, now: datetime) -> Mapping[str, Any]:
    """Return the lists of memories for a store's dashboard, in the form that `figures.lists_of` returns.

    For a large store, return the lists that a background task has stored, or {} if it has not stored any yet.
    """
    if store.memory_count <= figures.SMALL:
        return figures.lists_of(store.pk, now)
    made = Figures.objects.filter(pk=store.pk).first()
    return made.lists if made else {}


def never_read(stores: Sequence[str]) -> Picture:
    """Return the chart of the memory stores with memories that no agent ever read."""
    counted = {made.pk: made.lists for made in Figures.objects.filter(pk__in=stores)}
    counts = {pk: int(lists.get("unread_count") or 0) for pk, lists in counted.items()}
    found = MemoryStore.objects.filter(pk__in=[pk for pk, count in counts.items() if count]).by_name()
    order = sorted(found, key=lambda store: -counts[store.pk])
    most, urls = max(counts.values(), default=0), {s.pk: reverse("store_overview", args=[s.pk]) for s in order}
    items = [
        Row(store.name, f"{urls[store.pk]}#unread", _memories(counts[store.pk]), charts.share(counts[store.pk], most))
        for store in order[:SHOWN]
    ]
    rows = [
        [Cell(s.name, s.name, f"{urls[s.pk]}#unread"), Cell(counts[s.pk], number(counts[s.pk])),
         Cell(bytes_of := int(counted[s.pk].get("unread_bytes") or 0), size(bytes_of))]
        for s in order
    ]  # fmt: skip
    return Picture(
        "never_read", "list", _("Written and never read"),
        _("Memories that no agent has ever read, in each memory store. A search does not count."),
        [_("Memory store"), _("Memories"), _("Size")], rows, items=items, series=14,
        empty="" if items else _("Every memory has been read."),
    )  # fmt: skip


def _reads(count: int) -> str:
    return ngettext("%(count)s read", "%(count)s reads", count) % {"count": number(count)}


def _versions(count: int) -> str:
    return ngettext("%(count)s version", "%(count)s versions", count) % {"count": number(count)}


def _memories(count: int) -> str:
    return ngettext("%(count)s memory", "%(count)s memories", count) % {"count": number(count)}


def _risky_says(lists: Mapping[str, Any]) -> str:
    count = lists.get("risky_count") or 0
    if not count:
        return _("What agents have read although no one has reviewed it.")
    return ngettext(
        "Agents have read the newest version of %(count)s memory, and no one has reviewed it.",
        "Agents have read the newest versions of %(count)s memories, and no one has reviewed them.", count,
    ) % {"count": number(count)}  # fmt: skip


def _unread_says(lists: Mapping[str, Any]) -> str:
    count = lists.get("unread_count") or 0
    return ngettext(
        "%(count)s memory of %(size)s that no agent has ever read. A search does not count.",
        "%(count)s memories of %(size)s together that no agent has ever read. A search does not count.", count,
    ) % {"count": number(count), "size": size(lists.get("unread_bytes") or 0)}  # fmt: skip


def _of_memories(
    name: str, title: str, says: str, unit: str, memories: Sequence[Memory], value: Callable[[Memory], int],
    shown: Callable[[int], str], empty: str, with_unit: Callable[[int], str] | None = None,
) -> Picture:  # fmt: skip
    most = max(map(value, memories), default=0)
    urls = {memory.pk: reverse("memory", args=[memory.store_id, memory.pk]) for memory in memories}
    items = [
        Row(
            memory.path,
            urls[memory.pk],
            (with_unit or shown)(value(memory)),
            charts.share(value(memory), most),
            kind="memory",
        )
        for memory in memories[:SHOWN]
    ]
    if len(memories) > SHOWN:
        says = _("%(says)s The chart shows the first %(count)s, the table shows more.") % {"says": says, "count": SHOWN}
    rows = [
        [Cell(memory.path, memory.path, urls[memory.pk]), Cell(value(memory), shown(value(memory)))]
        for memory in memories
    ]
    return Picture(
        name, "list", title, says, [_("Memory"), unit], rows, items=items, empty="" if items else empty, series=14,
    )  # fmt: skip


def backlog(store: MemoryStore, now: datetime) -> Picture:
    """Return the chart that shows how many versions of a store await review, by age.

    In each range of age, at most MOST versions are counted.
    """
    entries = AuditEntry.objects.of_chain(store.pk)
    bounds = [_first_since(entries, now - age) for age in AGES]
    ends: list[int | None] = [None, *bounds]
    names = (
        _("Up to a day old"),
        _("A day to a week old"),
        _("A week to 30 days old"),
        _("Older than 30 days"),
    )
    counts = []
    for high, low in zip(ends, [*bounds, 0], strict=True):
        found = MemoryVersion.objects.filter(store=store, seq__gte=low).unreviewed()
        found = found if high is None else found.filter(seq__lt=high)
        counts.append(len(found.order_by("seq").values_list("seq", flat=True)[:MOST]))
    most, url = max(counts), review_url(what=VERSION, store=store.pk)
    items = [
        Row(name, url, at_most(count), charts.share(count, most))
        for name, count in zip(names, counts, strict=True)
        if count
    ]
    rows = [[Cell(name, name), Cell(at_most(count), at_most(count))] for name, count in zip(names, counts, strict=True)]
    return Picture(
        "backlog", "list", _("Versions to review"), _("Versions that agents wrote and no one has reviewed, by age."),
        [_("Age"), _("Versions")], rows, items=items, series=15,
        more=(_("Open the inbox"), url) if items and url else None,
        empty="" if items else _("Everything that agents wrote has been reviewed."),
    )  # fmt: skip


def at_most(count: int) -> str:
    return f"{MOST - 1:,}+" if count >= MOST else number(count)


def review_url(**filters: str) -> str:
    """Return the URL of the filtered inbox; empty if the hub has no such route."""
    try:
        return reverse("review") + ("?" + urlencode(filters) if filters else "")
    except NoReverseMatch:
        return ""


def _first_since(entries: Any, moment: datetime) -> int:
    """Return the seq of the first entry at or after a moment, or the last seq plus one."""
    found = entries.filter(at__gte=moment).order_by("at", "seq").values_list("seq", flat=True).first()
    if found is not None:
        return int(found)
    last = entries.newest().values_list("seq", flat=True).first()
    return (last or 0) + 1

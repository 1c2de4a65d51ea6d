"""The tree map of a store.

Each memory is a rectangle. Its area shows the size of the memory, and its colour when the memory was last read. An
outline shows that the memory awaits review.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _, ngettext

from memoryhub.models import Directory, Memory, MemoryStore, MemoryVersion, ReviewState
from memoryhub.pure import tree_map
from memoryhub.pure.protocol import paths
from memoryhub.pure.tree_map import Area, Node
from memoryhub.templatetags.look import size
from memoryhub.web.common import addresses
from memoryhub.web.common.pictures import Cell, Picture, number

MOST = 1_000
"""The most versions awaiting review whose directories are outlined."""

HEIGHT = 360
"""The height of the map in pixels."""

LINE = 15
"""The height of a line of a rectangle's label, in pixels."""

HEAT = (timedelta(days=1), timedelta(days=7), timedelta(days=30))
NEVER, SEVERAL = len(HEAT) + 1, len(HEAT) + 2
"""The colours of a memory that was never read, and of several memories."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of the map: `x` and `width` in per cent, `y` and `height` in pixels."""

    x: float
    y: float
    width: float
    height: float
    label: str
    line: float  # the position of the label, or 0 if there is no room for it
    name: str
    url: str
    heat: int | None  # the number of the colour; None for a directory around other rectangles
    waits: bool


@dataclass(frozen=True, slots=True)
class _MemoryFacts:
    """Facts for the map: when each memory was last read, and the ids of the memories that await review.

    Some memories have no rectangle of their own. `places` are the paths of the directories in which such memories
    await review.
    """

    read: Mapping[str, datetime | None]
    waiting: frozenset[str]
    places: frozenset[str]


def picture(store: MemoryStore, lists: Mapping[str, Any], now: datetime) -> Picture:
    """Return the map of a store; `lists` name its largest memories and directories."""
    rows = Memory.objects.among(store.pk, lists.get("largest", ())).live()
    memories = list(rows.values_list("pk", "path", "size", "last_read_at", "head__review_state"))
    directories = Directory.objects.filter(store=store, pk__in=lists.get("directories", ()))
    root = tree_map.tree(
        tree_map.Directory("", store.memory_count, store.total_bytes),
        [tree_map.Directory(*row) for row in directories.values_list("path", "memory_count", "total_bytes")],
        [tree_map.Memory(pk, path, length) for pk, path, length, _read, _state in memories],
    )
    areas = tree_map.areas(root)
    facts = _waiting(store, root, {pk: read for pk, _path, _size, read, _state in memories},
                    {pk for pk, _path, _size, _read, state in memories if state == ReviewState.UNREVIEWED})  # fmt: skip
    tiles = [_tile(store, area, facts, now) for area in areas]
    return Picture(
        "map", "map", _("Memories by size"),
        _("The area of each memory shows its size, and its colour shows when an agent last read it. Outlined "
        "memories await review."),
        [_("Memory or directory"), _("Bytes"), _("Memories"), _("Last read"), _("Awaits review")],
        [_row(area, tile, facts) for area, tile in zip(areas, tiles, strict=True) if area.is_leaf],
        empty="" if tiles else _("There are no memories yet."), drawn=tiles, marks=_legend(tiles), wide=True,
    )  # fmt: skip


def _waiting(store: MemoryStore, root: Node, read: Mapping[str, datetime | None], heads: set[str]) -> _MemoryFacts:
    """Return the facts for the map: when each memory was last read, and which memories await review."""
    unreviewed = MemoryVersion.objects.filter(store=store, memory__deleted_at=None).unreviewed().order_by("seq")
    rows = list(unreviewed.values_list("memory_id", "memory__path")[:MOST])
    places = frozenset(_place(root, path) for pk, path in rows if pk not in read)
    return _MemoryFacts(read, frozenset(heads) | {pk for pk, _path in rows}, places)


def _place(root: Node, path: str) -> str:
    """Return the path of the smallest directory of the map that contains a path."""
    node = root
    while within := [child for child in node.children if _contains(child, path)]:
        node = within[0]
    return node.path


def _contains(node: Node, path: str) -> bool:
    return not node.memory and not node.is_rest and path.startswith(node.path + "/")


def _tile(store: MemoryStore, area: Area, facts: _MemoryFacts, now: datetime) -> Tile:
    node, box = area.node, area.box
    height, width = box.height * HEIGHT / tree_map.HEIGHT, box.width * 100 / tree_map.WIDTH
    below = LINE * area.above
    waits = node.memory in facts.waiting if node.memory else area.is_leaf and node.path in facts.places
    has_room = height > below + LINE + 4 and width > 4
    line = (height - 6 if area.is_leaf else below + LINE) if has_room else 0
    heat = _heat(facts.read.get(node.memory), now) if node.memory else SEVERAL
    return Tile(
        round(box.x * 100 / tree_map.WIDTH, 3), round(box.y * HEIGHT / tree_map.HEIGHT, 2), round(width, 3),
        round(height, 2), _label(node), round(line, 1), _name(node, facts, waits), _url(store, node),
        heat if area.is_leaf else None, waits,
    )  # fmt: skip


def _heat(read: datetime | None, now: datetime) -> int:
    return NEVER if read is None else sum(now - read > age for age in HEAT)


def _url(store: MemoryStore, node: Node) -> str:
    if node.memory:
        return reverse("memory", args=[store.pk, node.memory])
    return addresses.of_directory(store.pk, node.path)


def _label(node: Node) -> str:
    if node.is_rest:
        return ngettext("%(count)s other", "%(count)s others", node.count) % {"count": number(node.count)}
    return paths.name(node.path)


def _name(node: Node, facts: _MemoryFacts, waits: bool) -> str:
    """Return words for a rectangle: path, size, last read, and whether it awaits review."""
    place, many = node.path or paths.ROOT, {"count": number(node.count)}
    if node.memory:
        words = [size(node.size), _read(facts.read.get(node.memory))]
    elif node.is_rest:
        words = [ngettext("%(count)s other memory", "%(count)s other memories", node.count) % many, size(node.size)]
    else:
        words = [ngettext("%(count)s memory", "%(count)s memories", node.count) % many, size(node.size)]
    return f"{place}: {', '.join([*words, *([_('awaits review')] if waits else [])])}"


def _read(at: datetime | None) -> str:
    if at is None:
        return _("never read")
    return _("last read %(when)s") % {"when": date_format(timezone.localtime(at), "j M Y H:i")}


def _row(area: Area, tile: Tile, facts: _MemoryFacts) -> list[Cell]:
    node = area.node
    place = f"{node.path}/ ({tile.label})" if node.is_rest else node.path
    at = facts.read.get(node.memory)
    shown = _read(at) if node.memory else "–"
    return [
        Cell(place, place, tile.url), Cell(node.size, size(node.size)), Cell(node.count, number(node.count)),
        Cell(at and at.isoformat(), shown), Cell("yes" if tile.waits else "", _("yes") if tile.waits else ""),
    ]  # fmt: skip


def _legend(tiles: Sequence[Tile]) -> Any:
    """Return (class, name) of each colour that occurs on the map, and of the outline if it occurs."""
    names = (
        _("read in the last day"), _("in the last 7 days"), _("in the last 30 days"), _("longer ago"), _("never read"),
        _("several memories"),
    )  # fmt: skip
    used = {tile.heat for tile in tiles}
    found = [(f"heat-{heat}", name) for heat, name in enumerate(names) if heat in used]
    return found + ([("map-frame", _("awaits review"))] if any(tile.waits for tile in tiles) else [])

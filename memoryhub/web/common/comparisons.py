"""Where a comparison that a page cuts or shows closed stands whole."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from memoryhub.models import MemoryVersion


@dataclass(frozen=True, slots=True)
class Sides:
    """The page of the comparison with its query (empty: there is nothing to compare with), and those of its texts."""

    address: str = ""
    old_url: str = ""
    new_url: str = ""


NOWHERE = Sides()


def sides(old: MemoryVersion | None, new: MemoryVersion | None) -> Sides:
    """Of two versions of one memory; null is nothing before the first."""
    address = ""
    if old is not None and new is not None:
        query = urlencode({"from": old.number, "to": new.number})
        address = f"{reverse('compare', args=[new.store_id, new.memory_id])}?{query}"
    return Sides(address, _of_text(old), _of_text(new))


def _of_text(version: MemoryVersion | None) -> str:
    return "" if version is None else reverse("version", args=[version.store_id, version.pk])

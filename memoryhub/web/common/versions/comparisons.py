"""Links to the full comparison of two versions."""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString

from memoryhub.models import MemoryVersion


@dataclass(frozen=True, slots=True)
class Sides:
    """The URLs of a comparison's page (empty if one version is missing) and of the two versions' pages."""

    address: str = ""
    old_url: str = ""
    new_url: str = ""


NOWHERE = Sides()


class Heads(Protocol):
    """Returns the HTML that a comparison shows above each of its changes."""

    def head(self, number: int) -> SafeString: ...


class Lined(Protocol):
    """Returns HTML for a line in a comparison with one column: what replaces the line's number, and what is below the
    line."""

    def number(self, number: int, *, is_old: bool) -> str: ...

    def below(self, number: int, *, is_old: bool) -> str: ...


def sides(old: MemoryVersion | None, new: MemoryVersion | None) -> Sides:
    """Return the links for two versions of one memory. A version that is missing is None."""
    address = ""
    if old is not None and new is not None:
        query = urlencode({"from": old.number, "to": new.number})
        address = f"{reverse('compare', args=[new.store_id, new.memory_id])}?{query}"
    return Sides(address, _of_text(old), _of_text(new))


def _of_text(version: MemoryVersion | None) -> str:
    return "" if version is None else reverse("version", args=[version.store_id, version.pk])

"""The filter of the findings. Words `key:value` or query parameters become conditions on findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.models import FindingState
from memoryhub.pure.sensitive import KINDS, Group
from memoryhub.pure.text.filter_words import NOT
from memoryhub.web.audit import filters
from memoryhub.web.common.filters import KeyValues, Malformed
from memoryhub.web.common.filters.keys import base

KEYS = ("kind", "group", "store", "path")


@dataclass(frozen=True, slots=True)
class Filter(KeyValues):
    """The filter of findings that a person typed, and the selected state."""

    state: FindingState = FindingState.OPEN

    KEYS = KEYS

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        for key, value in values.items():
            if base(key) == "kind" and value not in KINDS:
                said = _("There is no kind “%(kind)s”. Kinds are for example card, password or email.")
                raise Malformed(said % {"kind": value})
            if base(key) == "group" and value not in list(Group):
                said = _("There is no group “%(group)s”. The groups are secret, personal and poison.")
                raise Malformed(said % {"group": value})

    @classmethod
    def layout(cls, parameters: Mapping[str, str]) -> dict[str, Any]:
        written = parameters.get("state", "")
        return {"state": FindingState(written) if written in FindingState.values else FindingState.OPEN}

    def shown_layout(self) -> dict[str, str | None]:
        return {"state": self.state.value if self.state != FindingState.OPEN else None}

    @classmethod
    def guessed(cls, value: str) -> str | None:
        if value.startswith("/"):
            return "path"
        return "kind" if value in KINDS else "group" if value in list(Group) else None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions on findings; None means any."""

    stores: Sequence[str]
    state: FindingState = FindingState.OPEN
    kinds: frozenset[str] | None = None
    path: str | None = None  # a memory, or a directory with everything in it
    words: Sequence[str] = ()  # all must occur in the memory's path
    other_path: str | None = None  # excluded

    @property
    def looks_at_rows(self) -> bool:
        """Return whether the matching findings can only be determined by checking each one."""
        return self.kinds is not None or self.looks_at_paths

    @property
    def looks_at_paths(self) -> bool:
        return self.path is not None or self.other_path is not None or bool(self.words)


def resolved(wanted: Filter, stores: Sequence[str]) -> Wanted:
    """Look up the names in a filter, in the stores that the person may see. Raise Malformed if the filter is
    invalid."""
    values = wanted.values
    known = {key: values[key] for key in ("store", NOT + "store", "path", NOT + "path") if key in values}
    target = filters.resolved(filters.Filter(known), stores, now=timezone.now(), zone=UTC)
    path, other = target.search.path, values.get(NOT + "path")
    return Wanted(target.chains, wanted.state, _kinds(values), path, wanted.folded, other)


def _kinds(values: Mapping[str, str]) -> frozenset[str] | None:
    """Return the kinds of findings that a filter allows, or None for all of them."""
    if not {base(key) for key in values} & {"kind", "group"}:
        return None
    allowed = {
        kind.name
        for kind in KINDS.values()
        if values.get("group", kind.group) == kind.group and values.get("kind", kind.name) == kind.name
    }
    return frozenset(
        name for name in allowed if name != values.get(NOT + "kind") and KINDS[name].group != values.get(NOT + "group")
    )


def named(wanted: Filter, stores: Sequence[str]) -> dict[str, str]:
    """Return the filter's values with names in place of ids, for a person who may see `stores`."""
    return filters.named(filters.Filter(wanted.values), stores)

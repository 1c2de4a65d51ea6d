"""The filter of the findings, from words `key:value` or query parameters to conditions on findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.models import FindingState
from memoryhub.sensitive import KINDS, Group
from memoryhub.web.audit import filters
from memoryhub.web.common.filters import KeyValues, Malformed
from memoryhub.web.common.kinds import GROUP_WORDS, label

KEYS = ("kind", "group", "store", "path")


@dataclass(frozen=True, slots=True)
class Filter(KeyValues):
    """The filter of findings that a person typed, and the selected state."""

    state: FindingState = FindingState.OPEN

    KEYS = KEYS
    EXAMPLE = "kind:card or path:/%(word)s"

    @classmethod
    def check(cls, values: Mapping[str, str]) -> None:
        if values.get("kind", "card") not in KINDS:
            raise Malformed(_("There is no kind “%(kind)s”. Kinds are for example card, password or email.") % values)
        if values.get("group", "secret") not in list(Group):
            raise Malformed(_("There is no group “%(group)s”. The groups are secret, personal and poison.") % values)

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
    """Conditions on findings; None means any. `path` includes everything under it."""

    stores: Sequence[str]
    state: FindingState = FindingState.OPEN
    kinds: frozenset[str] | None = None
    path: str | None = None

    @property
    def looks_at_rows(self) -> bool:
        """Return whether findings must be checked one by one to find those that match."""
        return self.kinds is not None or self.path is not None


def resolved(wanted: Filter, stores: Sequence[str]) -> Wanted:
    """Look up the names in a filter, in the stores that a person may see. Raise Malformed."""
    values = wanted.values
    kinds: frozenset[str] | None = None
    if "group" in values:
        kinds = frozenset(kind.name for kind in KINDS.values() if kind.group == values["group"])
    if "kind" in values:
        kinds = frozenset({values["kind"]}) if kinds is None else kinds & {values["kind"]}
    known = {key: values[key] for key in ("store", "path") if key in values}
    target = filters.resolved(filters.Filter(known), stores, now=timezone.now(), zone=UTC)
    path = target.search.path
    return Wanted(target.chains, wanted.state, kinds, None if path is None else path.removesuffix("/"))


def named(wanted: Filter, stores: Sequence[str]) -> dict[str, str]:
    """Return the filter's values with names in place of ids, for a person who may see those stores."""
    shown = filters.named(filters.Filter(wanted.values), stores)
    if "kind" in shown:
        shown["kind"] = label(shown["kind"])
    if "group" in shown:
        shown["group"] = str(GROUP_WORDS[Group(shown["group"])]) if shown["group"] in list(Group) else shown["group"]
    return shown

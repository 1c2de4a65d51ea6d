"""The filter of the findings: words `key:value` and the parameters of an address, to what is looked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.models import FindingState
from memoryhub.sensitive import KINDS, Group
from memoryhub.web.audit import filters
from memoryhub.web.audit.filters import LONGEST, Malformed, as_words, unknown_key, words_in
from memoryhub.web.common.kinds import GROUP_WORDS, label

KEYS = ("kind", "group", "store", "path")


@dataclass(frozen=True, slots=True)
class Filter:
    """What a person typed for some of KEYS, and the state that they look at."""

    values: Mapping[str, str]
    state: FindingState = FindingState.OPEN

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "Filter":
        """From the parameters of an address; the words of the filter bar (`q`) come first. Raises Malformed."""
        values = _words(parameters.get("q", ""))
        values |= {key: parameters[key].strip() for key in KEYS if parameters.get(key, "").strip()}
        for key, value in values.items():
            if len(value) > LONGEST or "\0" in value:
                raise Malformed(_("The value of “%(key)s” cannot be looked for.") % {"key": key})
        if values.get("kind", "card") not in KINDS:
            raise Malformed(_("There is no kind “%(kind)s”.") % values)
        if values.get("group", "secret") not in list(Group):
            raise Malformed(_("There is no group “%(group)s”: it is secret, personal or poison.") % values)
        return cls({key: values[key] for key in KEYS if key in values}, _state(parameters))

    @classmethod
    def as_typed(cls, parameters: Mapping[str, str]) -> "Filter":
        """What the page shows for an address whose filter may be malformed."""
        return cls({key: parameters[key] for key in KEYS if parameters.get(key)}, _state(parameters))

    def query(self, **changes: str | None) -> str:
        """As the query of an address, without the question mark; a change to null leaves that part out."""
        state = self.state.value if self.state != FindingState.OPEN else None
        parts = {**self.values, "state": state, **changes}
        return urlencode({key: value for key, value in parts.items() if value})

    @property
    def words(self) -> str:
        """As one writes it in the filter bar."""
        return as_words(self.values)


def _state(parameters: Mapping[str, str]) -> FindingState:
    written = parameters.get("state", "")
    return FindingState(written) if written in FindingState.values else FindingState.OPEN


def _words(written: str) -> dict[str, str]:
    values = {}
    for key, value in words_in(written):
        if key is not None and key not in KEYS:
            raise Malformed(unknown_key(key, KEYS))
        values[key or _guessed(value)] = value
    return values


def _guessed(value: str) -> str:
    if value.startswith("/"):
        return "path"
    if value in KINDS:
        return "kind"
    if value in list(Group):
        return "group"
    if ":" in value:
        raise Malformed(unknown_key(value.partition(":")[0], KEYS))
    raise Malformed(_("“%(word)s” needs a key, as in kind:card or path:/%(word)s.") % {"word": value})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the findings must be; null is anything. `path` stands for itself and for everything beneath it."""

    stores: Sequence[str]
    state: FindingState = FindingState.OPEN
    kinds: frozenset[str] | None = None
    path: str | None = None

    @property
    def looks_at_rows(self) -> bool:
        """Whether findings have to be looked at one by one to find those that match."""
        return self.kinds is not None or self.path is not None


def resolved(wanted: Filter, stores: Sequence[str]) -> Wanted:
    """Among the stores that a person may see; raises Malformed."""
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
    """What to show a person, who may see those stores, for the ids and names in a filter."""
    shown = filters.named(filters.Filter(wanted.values), stores)
    if "kind" in shown:
        shown["kind"] = label(shown["kind"])
    if "group" in shown:
        shown["group"] = str(GROUP_WORDS[Group(shown["group"])]) if shown["group"] in list(Group) else shown["group"]
    return shown

"""What the groups of an identity provider mean in the hub: roles in memory stores, and administrators of the hub.

A mapping is written as `group=role@memstore_…; group=administrator`. Names of groups may contain commas and equals
signs.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

ADMINISTRATOR = "administrator"
ROLES = ("viewer", "curator", "admin")
"""The roles in a memory store, the lowest first."""

_TARGET = re.compile(r"(viewer|curator|admin)@(memstore_[0-9A-Z]{26})")


class BadMapping(ValueError):
    """The text is no mapping of groups to roles. The message of this exception is the item that is wrong."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What one group gets: a role in a store or, without a store, the rights of an administrator of the hub."""

    group: str
    role: str
    store: str = ""


def parsed(text: str) -> tuple[Grant, ...]:
    """Return the grants of a written mapping. Raises BadMapping."""
    return tuple(_grant(item.strip()) for item in text.split(";") if item.strip())


def grants_of(text: str) -> tuple[Grant, ...]:
    """Return the grants of a written mapping; no grants for a wrong mapping, which a system check reports."""
    try:
        return parsed(text)
    except BadMapping:
        return ()


def _grant(item: str) -> Grant:
    group, _, target = (part.strip() for part in item.rpartition("="))
    matched = _TARGET.fullmatch(target)
    if group and matched:
        return Grant(group, matched[1], matched[2])
    if group and target == ADMINISTRATOR:
        return Grant(group, ADMINISTRATOR)
    raise BadMapping(item)


def roles_of(grants: Collection[Grant], groups: Collection[str]) -> Mapping[str, str | None]:
    """Return {store: role} for each store in `grants`: the highest role that one of `groups` gives there (None: no
    role)."""
    return {store: _highest(grants, groups, store) for store in sorted({one.store for one in grants if one.store})}


def _highest(grants: Collection[Grant], groups: Collection[str], store: str) -> str | None:
    given = {one.role for one in grants if one.store == store and one.group in groups}
    return next((role for role in reversed(ROLES) if role in given), None)


def is_administrator(grants: Collection[Grant], groups: Collection[str]) -> bool | None:
    """Return whether one of `groups` makes its members administrators; None if no grant makes administrators."""
    names = {one.group for one in grants if one.role == ADMINISTRATOR}
    return bool(names & set(groups)) if names else None


def known(grants: Collection[Grant], groups: Collection[str]) -> Iterator[str]:
    """Yield those of `groups` that are in `grants`."""
    named = {one.group for one in grants}
    yield from (group for group in groups if group in named)

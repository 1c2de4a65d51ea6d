"""The versions that an entry decided about, and the memories that an undo or a restore did not change."""

from dataclasses import dataclass, field
from typing import Any

from memoryhub.actions.review.decisions import decided_by
from memoryhub.actions.review.verbs import ANSWERS
from memoryhub.models import AuditEntry, Memory, MemoryVersion, Review

MOST = 100
"""The most versions, and the most memories, that the page of an entry names."""

_ANSWERS = frozenset(verb.name for verb in ANSWERS)


@dataclass(frozen=True, slots=True)
class Decisions:
    """The versions that an entry decided about, as {label of the decision: versions}, and unchanged memories."""

    versions: dict[str, list[MemoryVersion]] = field(default_factory=dict)
    kept: list[Memory] = field(default_factory=list)  # the memories that an undo or a restore did not change
    more: bool = False  # not all versions are listed
    standing: frozenset[str] = frozenset()  # the versions without a later decision


def decisions_of(entry: AuditEntry, details: dict[str, Any]) -> Decisions:
    """Return the decisions that an entry recorded, and the memories that its act did not change. `details` is the input
    of the entry. Versions and memories that no longer exist are left out."""
    reviews = list(Review.objects.of_entry(entry.chain, entry.seq).order_by("id")[: MOST + 1])
    versions = MemoryVersion.objects.among(entry.chain, [one.version_id for one in reviews[:MOST]]).in_bulk()
    found: dict[str, list[MemoryVersion]] = {}
    for one in reviews[:MOST]:
        if one.version_id in versions:
            found.setdefault(one.get_decision_display(), []).append(versions[one.version_id])
    for listed in found.values():
        listed.sort(key=lambda version: (version.path or "", version.number))
    standing = decided_by(entry.chain, entry.seq) if found and entry.command in _ANSWERS else ()
    more, ids = len(reviews) > MOST, frozenset(version for _memory, version in standing)
    return Decisions(found, _kept(entry, details.get("kept")), more, ids)


def _kept(entry: AuditEntry, named: object) -> list[Memory]:
    """Return the memories that the entry names as unchanged by its act. If the entry has only a digest of their ids,
    return []."""
    ids = [str(one) for one in named[:MOST]] if isinstance(named, list) else []
    return list(Memory.objects.among(entry.chain, ids).order_by("path")) if ids else []

"""The facts of audit entries that webhook events need. A few queries read them for many entries."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Case, CharField, F, OuterRef, Subquery, When
from django.db.models.functions import Substr

from memoryhub.actions.core.audit import commands
from memoryhub.actions.core.plans import in_parts
from memoryhub.models import (
    AuditEntry,
    Decision,
    Finding,
    FindingState,
    MemoryVersion,
    Proposal,
    ProposedChange,
    Review,
    ReviewState,
)
from memoryhub.pure.protocol import results
from memoryhub.pure.webhook_rules import events as webhook_events
from memoryhub.pure.webhook_rules.events import Entry, Found, Made

_TELLING = [
    *(command for command, event in commands.EVENTS.items() if event in webhook_events.TELLING),
    *commands.FURTHER_EVENTS,
]

_ABOUT_PROPOSALS = {
    command: event for command, event in commands.EVENTS.items() if event in webhook_events.GROUPS["proposal"]
}

_OPENED, _WITHDRAWN = "proposal.opened", "proposal.withdrawn"

_PROPOSED = f'"{results.PROPOSED}'
"""The beginning of the stored answer of a call that became part of a proposal."""

_NUMBER = re.compile(re.escape(_PROPOSED) + r"([0-9]{1,18})\b")

_DECISIONS = {"review.reverted": Decision.REVERTED, "review.flagged": Decision.FLAGGED}
"""The decision about versions that each of these events reports."""


def end_of_part(chain: str, seq: int, end: int, most: int) -> int:
    """Return the seq of the last entry to read now. It is never greater than `end`.

    The entries to read made at most `most` versions together. But the first entry after `seq` is always read, even if
    it alone made more.
    """
    made = MemoryVersion.objects.filter(store_id=chain, seq__gt=seq).order_by("seq")
    last = made.values_list("seq", flat=True)[most : most + 1].first()
    return end if last is None else min(end, max(last - 1, seq + 1))


def entries(chain: str, after: int, end: int, names: set[str]) -> list[Entry]:
    """Return the entries that can have one of the named events, in order. Repeated calls have no events."""
    opening = _opening(chain, after, end) if _OPENED in names else []
    return sorted([*_done(chain, after, end, names), *opening], key=lambda entry: entry.seq)


def _done(chain: str, after: int, end: int, names: set[str]) -> Iterator[Entry]:
    """Yield the entries of successful acts, except views and repeated calls."""
    found: Any = AuditEntry.objects.of_chain(chain).between(after + 1, end).oldest()
    found = found.filter(ok=True, replay_of=None).exclude(command="view")
    input = Case(When(command__in=_TELLING, then=F("input")), output_field=CharField())
    rows = list(
        found.annotate(asked=input).values_list(
            "seq", "at", "actor_kind", "actor_id", "session", "command", "memory", "version", "asked"
        )
    )
    versions = _versions(chain, after, end) if rows else {}
    findings = _findings(chain, after, end, versions) if "finding.opened" in names else {}
    inputs = {row[0]: _parsed_input(row[-1]) for row in rows if row[-1] is not None}
    further = {row[0]: _further(chain, row[0], row[5], inputs.get(row[0])) for row in rows}
    memories = _memories(chain, inputs, further)
    proposals = _proposals(chain, {row[0]: row[5] for row in rows if row[5] in _ABOUT_PROPOSALS}, inputs)
    for seq, at, kind, actor, session, command, memory, version, _ in rows:
        details = inputs.get(seq)
        named = [(memories[one], one) for one in _named(details) if one in memories]
        yield Entry(
            chain,
            seq,
            at,
            kind,
            actor,
            session,
            commands.EVENTS.get(command),
            memory,
            version,
            details,
            versions.get(seq, ()),
            named,
            findings.get(seq, ()),
            {event: [(memories[one], one) for one in ids if one in memories] for event, ids in further[seq].items()},
            proposals.get(seq, ()),
        )


def _opening(chain: str, after: int, end: int) -> list[Entry]:
    """Return the entries of the calls that opened a proposal, without the calls that added to an open proposal."""
    found: Any = AuditEntry.objects.of_chain(chain).between(after + 1, end).filter(ok=False, replay_of=None)
    found = found.filter(message__startswith=_PROPOSED).annotate(start=Substr("message", 1, 100))
    rows = list(found.values_list("seq", "at", "actor_kind", "actor_id", "session", "start"))
    numbers = {row[0]: int(number[1]) for row in rows if (number := _NUMBER.match(row[-1]))}
    if not numbers:
        return []
    first = ProposedChange.objects.filter(store_id=chain, proposal=OuterRef("pk"), number=1).values("seq")
    opened: Any = Proposal.objects.of_store(chain).filter(number__in=set(numbers.values()))
    opened = set(opened.annotate(first=Subquery(first[:1])).values_list("first", "number"))
    return [
        Entry(chain, seq, at, kind, actor, session, _OPENED, proposals=[(_OPENED, numbers[seq], "open")])
        for seq, at, kind, actor, session, _ in rows
        if (seq, numbers.get(seq)) in opened
    ]


def _proposals(
    chain: str, acts: Mapping[int, str], inputs: Mapping[int, Mapping[str, Any]]
) -> dict[int, list[tuple[str, int, str]]]:
    """Return {seq: (event, number, state) of the proposals that the act opened or ended}."""
    told: dict[int, list[tuple[str, int, str]]] = {}
    ended = Proposal.objects.of_store(chain).filter(seq__in=acts).order_by("number") if acts else ()
    for proposal in ended:
        seq = proposal.seq or 0
        event = _ABOUT_PROPOSALS[acts[seq]]
        told.setdefault(seq, []).append((_WITHDRAWN if event == _OPENED else event, proposal.number, proposal.state))
    for seq, command in acts.items():
        number = inputs.get(seq, {}).get("number")
        if _ABOUT_PROPOSALS[command] == _OPENED and isinstance(number, int):
            told.setdefault(seq, []).append((_OPENED, number, "open"))
    return told


def _versions(chain: str, after: int, end: int) -> dict[int, list[Made]]:
    """Return {seq: the versions that the entry made}, each compared with its previous version.

    If an import made a memory with its history, only the memory's newest version is included.
    """
    before = MemoryVersion.objects.filter(
        store_id=chain, memory_id=OuterRef("memory_id"), number=OuterRef("number") - 1
    )
    rows: Any = MemoryVersion.objects.filter(store_id=chain).between(after, end).order_by("seq", "number", "id")
    rows = rows.annotate(old_path=Subquery(before.values("path")[:1]), old=Subquery(before.values("sha256")[:1]))
    made: dict[int, dict[str, Made]] = {}
    for row in rows.values_list(
        "seq", "id", "memory_id", "number", "operation", "path", "sha256", "review_state", "old_path", "old"
    ):
        seq, id, memory, number, operation, path, sha256, state, old_path, old = row
        moved = None not in (path, old_path) and path != old_path
        needs_review = state in ReviewState.values
        of_entry = made.setdefault(seq, {})
        is_further = memory in of_entry
        of_entry[memory] = Made(id, memory, number, operation, moved, sha256 != old, needs_review, is_further)
    return {seq: list(of_entry.values()) for seq, of_entry in made.items()}


def _findings(chain: str, after: int, end: int, versions: Mapping[int, Sequence[Made]]) -> dict[int, list[Found]]:
    """Return {seq: the findings that the entry opened}, without those dismissed in the same act."""
    memories = {made.memory for listed in versions.values() for made in listed}
    found: dict[int, list[Found]] = {}
    for part in in_parts(sorted(memories)):
        rows = Finding.objects.of_store(chain).filter(memory_id__in=part, seq__gt=after, seq__lte=end).order_by("id")
        rows = rows.exclude(state=FindingState.DISMISSED, decided_seq=F("seq"))
        for id, memory, version, kind, seq in rows.values_list("id", "memory_id", "version_id", "kind", "seq"):
            found.setdefault(seq or 0, []).append(Found(id, memory, version, kind))
    return found


def _parsed_input(input: str) -> dict[str, Any]:
    try:
        value = json.loads(input)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _named(details: Mapping[str, Any] | None) -> list[str]:
    """Return the ids of the versions that an entry's input lists; none if the input has only their count."""
    return _ids_in(details, "versions")


def _further(chain: str, seq: int, command: str | None, details: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Return the further events of an entry as {event: ids of the versions that the event is about}.

    FURTHER_EVENTS has {field of the input: event} for each command. The entry has an event if its input has a value
    in the event's field.
    """
    fields = commands.FURTHER_EVENTS.get(command or "", {})
    given = {name: event for name, event in fields.items() if (details or {}).get(name)}
    return {event: _ids_in(details, name) or _decided(chain, seq, event) for name, event in given.items()}


def _decided(chain: str, seq: int, event: str) -> list[str]:
    """Return the ids of the versions about which an entry made the decision that `event` reports.

    The ids are read from the reviews. This is for an entry whose input has only the count of the versions.
    """
    decided = Review.objects.of_entry(chain, seq).filter(decision=_DECISIONS[event])
    return list(decided.order_by("id").values_list("version_id", flat=True))


def _ids_in(details: Mapping[str, Any] | None, name: str) -> list[str]:
    ids = (details or {}).get(name)
    return [str(id) for id in ids] if isinstance(ids, list) else []


def _memories(
    chain: str, inputs: Mapping[int, Mapping[str, Any]], further: Mapping[int, Mapping[str, Sequence[str]]]
) -> dict[str, str]:
    """Return {version id: memory id} of the versions that the entries list."""
    named = {version for details in inputs.values() for version in _named(details)}
    named.update(version for events in further.values() for ids in events.values() for version in ids)
    found: dict[str, str] = {}
    for part in in_parts(sorted(named)):
        found.update(MemoryVersion.objects.among(chain, part).values_list("pk", "memory_id"))
    return found

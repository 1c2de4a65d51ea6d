"""Merges by people: a person merges their own text with a version that someone else had saved, or merges an agent's
proposal."""

from collections.abc import Iterable
from dataclasses import dataclass

from memoryhub.actions.core.proposed_texts import MERGES
from memoryhub.models import Agent, AuditEntry, MemoryVersion
from memoryhub.web.audit.sentences import told_of


@dataclass(frozen=True, slots=True)
class MergedWith:
    """The other person's version in a merge."""

    version: MemoryVersion
    opened: int | None  # the number of the version that the merging person had opened, if known
    label: str  # the name of the author


def merged_with(chain: str, entries: Iterable[AuditEntry]) -> dict[int, MergedWith]:
    """Return {seq of an entry: the merge} for entries in which a person saved a merged text."""
    edits = [entry.seq for entry in entries if entry.command == "edit" and entry.ok]
    if not edits:
        return {}
    inputs = AuditEntry.objects.of_chain(chain).of_seqs(edits).values_list("seq", "input")
    details = {seq: details for seq, input in inputs if (details := told_of(input)).get("merged") is True}
    ids = {str(details[name]) for details in details.values() for name in ("opened", "theirs") if name in details}
    if not ids:
        return {}
    versions = {version.pk: version for version in MemoryVersion.objects.among(chain, ids)}
    seqs = {version.seq for version in versions.values()}
    labels = dict(AuditEntry.objects.of_chain(chain).of_seqs(seqs).values_list("seq", "label"))
    found = {}
    for seq, said in details.items():
        theirs, opened = versions.get(str(said.get("theirs"))), versions.get(str(said.get("opened")))
        if theirs is not None:
            found[seq] = MergedWith(theirs, opened.number if opened else None, labels.get(theirs.seq) or "")
    return found


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal that a person merged: the id and the name of the agent that made it, and its number."""

    agent: str
    label: str
    number: int


def proposed_in(chain: str, entries: Iterable[tuple[int, str | None]]) -> dict[int, Proposed]:
    """Return {seq: the proposal} for the entries that merged a proposal. `entries` are pairs (seq, command)."""
    merges = [seq for seq, command in entries if command in MERGES]
    if not merges:
        return {}
    inputs = AuditEntry.objects.of_chain(chain).of_seqs(merges).values_list("seq", "input")
    told = {seq: told_of(input) for seq, input in inputs}
    names = dict(
        Agent.objects.filter(pk__in={str(one.get("agent")) for one in told.values()}).values_list("pk", "name")
    )
    return {
        seq: Proposed(agent, names[agent], one["number"])
        for seq, one in told.items()
        if (agent := str(one.get("agent"))) in names
    }

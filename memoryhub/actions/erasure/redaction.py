"""Redacts one memory version: its text and its path are deleted permanently, and the audit still verifies."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from django.db.models import Q

from memoryhub.actions.claude_runs import runs as claude_runs
from memoryhub.actions.core import audit, proofs, proposed_texts, settling, tree
from memoryhub.actions.core.audit import Act, Record, own_texts
from memoryhub.actions.core.audit.evidence import Evidence, forget_answers, replace_field
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.rules import holds
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.erasure import redacted_paths, sqlite_remains
from memoryhub.actions.erasure.places import REDACTED
from memoryhub.actions.retention import removal
from memoryhub.models import AuditEntry, Finding, FindingState, Memory, MemoryVersion, Operation
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.text import keeping

_TEXTS = ("file_text", "old_str", "new_str", "insert_text")
_QUOTING = ("create", "str_replace", "insert")
_AT_ONCE = 50
"""How many calls are read at once: each may have a large text."""


def redact_version(store_id: str, version_id: str, act: Act) -> MemoryVersion:
    """Delete a version's text and path permanently; return the version. Do nothing if it was redacted before.

    The path is also deleted from the audit, unless another version has the same path. The version's size stays. Raises
    MemoryVersion.DoesNotExist if there is no such version; ToolError if it is the newest version of a live memory, or
    if its memory is under a legal hold.
    """
    with tree.locked(store_id, act) as store:
        version, record = redact_on(store, version_id)
        if record is None:
            return version
        tree.commit(store, record)
    sqlite_remains.scrub_small()
    return version


def redact_on(store: Tree, version_id: str) -> tuple[MemoryVersion, Record | None]:
    """Redact a version of a locked store, as `redact_version` does. Return the version and the record for its entry.

    The record is None if the version was already redacted. Call `sqlite_remains.scrub_small` after the commit.
    """
    version = MemoryVersion.objects.get(store_id=store.store, pk=version_id)
    if version.redacted_at is not None:
        return version, None
    memory = Memory.objects.get(store_id=store.store, pk=version.memory_id)
    if memory.is_live and memory.head_id == version.pk:
        raise ToolError(results.cannot_redact_newest())
    holds.require_free(store, [(memory.pk, memory.path)])
    before = "whole" if version.redacted_seq is None else "passages redacted"
    redactions = _redact(store, memory, version)
    claude_runs.stop_redacted(store)
    details = {"version": version.pk, "number": version.number, "state": [before, "redacted"]}
    sqlite_remains.note(store.at)
    record = Record("redact", memory=memory.pk, version=version.pk, input=audit.to_json(details), redactions=redactions)
    return version, record


def _redact(store: Tree, memory: Memory, version: MemoryVersion) -> tuple[str, ...]:
    text, evidence = version.text_id, Evidence(store)
    standing = _findings(memory, version)
    proposing = proposed_texts.remove(store, memory.pk, [version])
    forget_answers(store, [version], {version.pk: version.path})
    _redact_entries(store, version, evidence, proposing)
    redacted_paths.forget(store, version, evidence)
    own_texts.copy_back(store.store, [version.seq])
    version.text, version.path, version.sha256 = None, None, None
    mark(store, version, whole=True)
    if text is not None:
        if not memory.is_live and version.number == memory.version_count - 1:
            Memory.objects.filter(store_id=store.store, pk=memory.pk).update(text=None, sha256="")
        removal.drop_texts(store, memory.pk, {str(text)})
    _resolve(store, standing)
    evidence.of_version(version)
    return evidence.write()


def _findings(memory: Memory, version: MemoryVersion) -> list[tuple[Finding, int]]:
    """Return (finding, position) for each finding of a version.

    The position is where the value is in the memory's newest text or path (-1: it is not there).
    """
    found = list(Finding.objects.of_memory(version.store_id, memory.pk).filter(version_id=version.pk))
    values = settling.values_of(version.store_id, found)
    head = MemoryVersion.objects.select_related("text").get(store_id=memory.store_id, pk=memory.head_id)
    contents = {True: head.path or "", False: head.content or ""} if memory.is_live else {True: "", False: ""}
    return [
        (one, contents[one.in_path].find(values[one.pk]) if one.pk in values and head.pk != version.pk else -1)
        for one in found
    ]


def _resolve(store: Tree, found: Sequence[tuple[Finding, int]]) -> None:
    """Move findings whose value is still in the newest version to that version. Resolve the other findings."""
    for finding, start in found:
        one = Finding.objects.of_store(store.store).filter(pk=finding.pk)
        if start < 0:
            end_findings(store, [finding])
            continue
        head = MemoryVersion.objects.select_related("text").get(
            store_id=store.store, memory_id=finding.memory_id, superseded_seq=None
        )
        content = (head.path if finding.in_path else head.content) or ""
        end = start + finding.end - finding.start
        line = content.count("\n", 0, start) + 1
        one.update(version_id=head.pk, start=start, end=end, line=line)


def end_findings(store: Tree, findings: Sequence[Finding]) -> None:
    """Resolve findings whose value is being removed, and delete their fingerprints.

    A fingerprint could confirm a guess at the value. After the act's entry, one more entry records the findings that
    were open.
    """
    store.ended += [finding for finding in findings if finding.state == FindingState.OPEN]
    for part in in_parts([finding.pk for finding in findings]):
        Finding.objects.of_store(store.store).filter(pk__in=part).update(
            state=FindingState.RESOLVED, fingerprint=None, decided_at=store.at, decided_seq=store.seq
        )


def _redact_entries(store: Tree, version: MemoryVersion, evidence: Evidence, proposing: Collection[int]) -> None:
    """Delete a version's text from the entries of the calls that wrote or proposed it, or whose refusals may quote it.

    `proposing` are the seqs of the calls that proposed this text.
    """
    redact_calls(store, calls_at(store, [version]), {version.seq, *proposing}, evidence)


def calls_at(store: Tree, versions: Iterable[MemoryVersion]) -> Iterator[Q]:
    """Yield conditions that select the entries of calls that may quote one of `versions`.

    `versions` are versions of one memory, the oldest first.
    """
    # Calls from the time when the memory was in the trash are left out: other memories can have its path then.
    for (path, is_gone), group in groupby(versions, key=lambda one: (one.path, one.operation == Operation.DELETED)):
        if path is None or is_gone:
            continue
        there = list(group)
        last = there[-1].superseded_seq or store.head.last_seq
        yield Q(Q(memory=None) | Q(memory=there[0].memory_id), path=path, seq__gte=there[0].seq, seq__lte=last)


def redact_calls(store: Tree, places: Iterable[Q], seqs: Collection[int], evidence: Evidence) -> None:
    """Delete two kinds of texts from some entries: the texts of the calls, and the passages that refusals quoted.

    The entries are those that meet one of the conditions `places`, and those whose seq is one of `seqs`.
    """
    calls, found = AuditEntry.objects.of_chain(store.store).filter(command__in=_QUOTING), set(seqs)
    for place in places:
        found.update(calls.filter(place).values_list("seq", flat=True))
    for part in in_parts(sorted(found), _AT_ONCE):
        for entry in calls.filter(seq__in=part).order_by("seq"):
            given = _without_texts(entry.input)
            if given != entry.input:
                replace_field(evidence, entry, "input", given)
            if entry.message is not None and "message" in proofs.read(entry).salts and not entry.ok:
                replace_field(evidence, entry, "message", audit.to_json(REDACTED))


def _without_texts(input: str | None) -> str | None:
    """Return a call's input with `[redacted]` in place of each text. None stays None."""
    details, size = keeping.parts(json.loads(input) if input else None)
    if not isinstance(details, dict):
        return input
    texts = {key: REDACTED for key in _TEXTS if isinstance(details.get(key), str) and details[key]}
    if not texts:
        return input
    return audit.to_json(details | texts if size is None else keeping.of_parts(details | texts, size))


def mark(store: Tree, version: MemoryVersion, *, whole: bool) -> None:
    """Save a version as redacted. With `whole` (the whole text was deleted), also set the time of the redaction."""
    version.salt, version.redacted_seq, version.redacted_by = None, store.seq, store.act.actor.id
    if whole:
        version.redacted_at = store.at
    version.save(update_fields=["text", "path", "size", "sha256", "salt", "redacted_seq", "redacted_at", "redacted_by"])

"""Opens and resolves findings when texts change, with an audit entry of the hub for each change.

While the newest version of a live memory contains the value of a finding, this finding is not resolved; `settle`
describes the only exception. Every act that writes versions calls this module at its end (`tree.commit`). No door can
set a finding to resolved.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Window
from django.db.models.functions import RowNumber

from memoryhub.actions.core import audit, sql
from memoryhub.actions.core.audit import Act, Actor, ChainHead, Record, marks
from memoryhub.actions.core.plans import in_parts, named_ids
from memoryhub.models import Finding, FindingState, MemoryText, MemoryVersion
from memoryhub.models.findings import FindingQuerySet
from memoryhub.pure import sensitive

TEXTS_AT_ONCE = 50
"""How many texts of versions are in memory at once while values are read from them."""

LOOK = 1_000
"""The most resolved findings of a memory whose values each act searches for in the memory's text: the newest ones."""

CARRIED = 200
"""The most versions of a memory that are searched for the values of findings whose version is removed: the newest
ones."""

COMMANDS = {FindingState.RESOLVED: "resolve_finding", FindingState.OPEN: "reopen_finding"}


_NEEDED = (
    "store_id", "memory_id", "version_id", "kind", "in_path", "start", "end", "fingerprint", "state", "decided_seq",
)  # fmt: skip
"""The columns that decide about a state. Each write reads them for every finding that it settles."""


class Changed(NamedTuple):
    """A memory that got a new version: its path and its text, before and after. A text is the id of the text's row.

    After a deletion, `text` and `path` are None.
    """

    memory: str
    old_text: str | None
    old_path: str
    text: str | None
    path: str | None


class _Place(NamedTuple):
    """The text or the path of a memory, before and after an act."""

    old: str
    new: str


Resolved = Mapping[str, Sequence[Finding]]
"""{memory: the findings that its deletion resolves}."""


def settle(
    head: ChainHead, act: Act, store_id: str, changed: Sequence[Changed], seq: int, ahead: Resolved | None = None
) -> None:
    """Resolve or open the findings of the changed memories, as the new texts require. `seq` is the act's entry.

    A finding is resolved if its value has disappeared. A resolved finding is opened again if its value returns, and a
    dismissed finding if its value occurs more often than before. The function looks in the new text for the values of
    the newest resolved findings (at most LOOK of a memory). An older resolved finding is opened again only if the
    detectors find its value.
    `ahead` is what `resolved_by_deletion` returned, if the caller called it before.
    """
    if ahead and all(one.path is None and one.memory in ahead for one in changed):
        resolved = [finding for one in changed for finding in ahead[one.memory]]
        write(head, act, store_id, resolved, FindingState.RESOLVED, {"entry": seq})
        return
    changes = {one.memory: one for one in changed}
    for one in reversed(changed):  # several versions of one memory: join the first's before and the last's after
        changes[one.memory] = changes[one.memory]._replace(old_text=one.old_text, old_path=one.old_path)
    known = _with_findings(store_id, list(changes))
    if not known:
        return
    there = [pk for pk in known if changes[pk].path is not None]
    gone = [pk for pk in known if changes[pk].path is None and sql.one(sql.HAS_OPEN_FINDING, store_id, pk)]
    if not there and not gone:
        return
    known = [*there, *gone]
    findings = _of_memories(store_id, gone, FindingState.OPEN)  # of a deleted memory no others change
    texts = _texts(store_id, [text for pk in known for text in (changes[pk].old_text, changes[pk].text)])
    findings += _of_memories(store_id, there, FindingState.OPEN, FindingState.DISMISSED)
    # Otherwise an agent that wrote many values into a memory could keep the store locked with each small edit.
    findings += _resolved(store_id, [changes[pk] for pk in there], texts)
    values = _values(store_id, findings)
    after: dict[FindingState, list[Finding]] = {FindingState.RESOLVED: [], FindingState.OPEN: []}
    for finding in findings:
        state = _state(finding, values.get(finding.pk), _place(finding, changes[finding.memory_id], texts), seq)
        if state != finding.state:
            after[state].append(finding)
    for state, of_state in after.items():
        write(head, act, store_id, of_state, state, {"entry": seq})


def resolved_by_deletion(store_id: str, deleted: Sequence[Changed]) -> Resolved:
    """Return, for each of these memories, the open findings that its deletion would resolve now."""
    changes = {one.memory: one for one in deleted}
    findings = _of_memories(store_id, list(changes), FindingState.OPEN)
    texts = _texts(store_id, {changes[finding.memory_id].old_text for finding in findings})
    values = _values(store_id, findings)
    resolved: dict[str, list[Finding]] = {memory: [] for memory in changes}
    for finding in findings:
        place = _place(finding, changes[finding.memory_id], texts)
        if count_of(finding, values.get(finding.pk), place.old):
            resolved[finding.memory_id].append(finding)
    return resolved


def carry(store_id: str, memory_id: str, removed: Collection[str]) -> list[Finding]:
    """Move each open or dismissed finding of the `removed` versions to the newest other version with its value.

    Call this function before the versions are removed. Return the open findings whose value is in no other version;
    pass them to `write` after the act's entry. Of the other versions, only the newest CARRIED are searched. If there
    are more, a finding whose value is in none of the searched versions is neither moved nor returned.
    """
    own = Finding.objects.of_store(store_id).filter(memory_id=memory_id, version_id__in=removed)
    findings = list(own.filter(state__in=(FindingState.OPEN, FindingState.DISMISSED)))
    values = _values(store_id, findings)
    left = {finding.pk: finding for finding in findings if finding.pk in values}
    if not left:
        return []
    stays = MemoryVersion.objects.filter(store_id=store_id, memory_id=memory_id).exclude(pk__in=removed).newest()
    rows = list(stays.values_list("pk", "path", "text_id")[: CARRIED + 1])
    for part in in_parts(rows[:CARRIED], TEXTS_AT_ONCE):
        texts = _texts(store_id, [text for _, _, text in part])
        for version, path, text in part:
            for finding in [*left.values()]:
                content = (path if finding.in_path else texts.get(text or "")) or ""
                if (start := content.find(values[finding.pk])) >= 0:
                    del left[finding.pk]
                    end, line = start + len(values[finding.pk]), content.count("\n", 0, start) + 1
                    own.filter(pk=finding.pk).update(version_id=version, start=start, end=end, line=line)
    return [one for one in left.values() if one.state == FindingState.OPEN] if len(rows) <= CARRIED else []


def write(
    head: ChainHead, act: Act, store_id: str, findings: Sequence[Finding], state: FindingState, why: Mapping[str, Any]
) -> None:
    """Set the state of findings, with one entry whose actor is the hub.

    `why` is added to the entry's input. Lock the store first.
    """
    if not findings:
        return
    seq = head.last_seq + 1
    for part in in_parts([finding.pk for finding in findings]):
        Finding.objects.of_store(store_id).filter(pk__in=part).update(
            state=state, note="", decided_at=act.at, decided_by=None, decided_seq=seq
        )
    details = {
        "before": {
            before: named_ids([one.pk for one in findings if one.state == before])
            for before in sorted({str(one.state) for one in findings})
        },
        "after": state.value,
        "kinds": sorted({one.kind for one in findings}),
        **why,
    }
    hub = act._replace(actor=Actor.system("findings"), session=None, token=None, note=None)
    memories = {one.memory_id for one in findings}
    record = Record(
        COMMANDS[state], memory=memories.pop() if len(memories) == 1 else None, input=audit.to_json(details)
    )
    audit.append(head, hub, record)


def count_of(finding: Finding, value: str | None, text: str) -> int:
    """Return how often a finding's value is in a text. `value` is None if it is unknown: see `places_of`."""
    return text.count(value) if value else len(places_of(finding, None, text))


def places_of(finding: Finding, value: str | None, text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each occurrence of a finding's value in a text, in order.

    If `value` is None, return the detector's matches with the finding's fingerprint.
    """
    if value:
        return [(found.start(), found.end()) for found in re.finditer(re.escape(value), text)]
    spans = sensitive.find(text, frozenset({finding.kind})) if text else []
    same = [one for one in spans if marks.fingerprint(finding.kind, text[one.start : one.end]) == finding.fingerprint]
    return [(one.start, one.end) for one in same]


def values_of(store_id: str, findings: Sequence[Finding]) -> dict[str, str]:
    """Return {finding id: value}, read from the finding's version.

    Findings whose version has no text any more are left out.
    """
    return _values(store_id, findings)


def _state(finding: Finding, value: str | None, place: _Place, seq: int) -> FindingState:
    now = count_of(finding, value, place.new)
    if finding.state == FindingState.RESOLVED:
        return FindingState.OPEN if now else FindingState.RESOLVED
    if finding.state == FindingState.DISMISSED:
        is_more = now > 0 and finding.decided_seq != seq and now > count_of(finding, value, place.old)
        return FindingState.OPEN if is_more else FindingState.DISMISSED
    return FindingState.RESOLVED if not now and count_of(finding, value, place.old) else FindingState.OPEN


def _with_findings(store_id: str, memories: Sequence[str]) -> list[str]:
    """Return the ids of the given memories that have findings. For one memory, this is one indexed query."""
    if len(memories) == 1:
        return list(memories) if sql.one(sql.HAS_FINDING, store_id, memories[0]) else []
    found: list[str] = []
    for part in in_parts(memories):
        rows = Finding.objects.of_store(store_id).filter(memory_id__in=part).order_by()
        found += rows.values_list("memory_id", flat=True).distinct()
    return found


def _of_memories(store_id: str, memories: Iterable[str], *states: FindingState) -> list[Finding]:
    found: list[Finding] = []
    for part in in_parts(memories):
        found += _marked(store_id, *states).filter(memory_id__in=part)
    return found


def _resolved(store_id: str, changes: Iterable[Changed], texts: Mapping[str, str]) -> list[Finding]:
    """Return the newest resolved findings of each memory, at most LOOK of each.

    Also return the older ones whose values the detectors find in the memory's new text or path.
    """
    found: dict[str, Finding] = {}
    for part in in_parts(changes):
        newest = _newest_resolved(store_id, [change.memory for change in part])
        often = Counter(finding.memory_id for finding in newest)
        found |= {finding.pk: finding for finding in newest}
        for change in part:
            if often[change.memory] == LOOK:
                detected = _detected(store_id, change, texts.get(change.text or "", ""))
                found |= {finding.pk: finding for finding in detected}
    return [*found.values()]


def _newest_resolved(store_id: str, memories: Sequence[str]) -> list[Finding]:
    resolved = _marked(store_id, FindingState.RESOLVED).filter(memory_id__in=memories)
    if len(memories) == 1:
        return list(resolved.newest()[:LOOK])
    return list(resolved.annotate(rank=Window(RowNumber(), "memory_id", "-id")).filter(rank__lte=LOOK))


def _detected(store_id: str, change: Changed, text: str) -> Iterator[Finding]:
    """Yield the resolved findings of a memory whose values the detectors find in its new text or path."""
    values = {
        marks.fingerprint(span.kind, content[span.start : span.end])
        for content in (text, change.path or "")
        for span in sensitive.find(content)
    }
    for part in in_parts(sorted(values)):
        yield from _marked(store_id, FindingState.RESOLVED).filter(memory_id=change.memory, fingerprint__in=part)


def _marked(store_id: str, *states: FindingState) -> FindingQuerySet:
    """Return the findings in these states that have a fingerprint."""
    return Finding.objects.of_store(store_id).filter(fingerprint__isnull=False, state__in=states).only(*_NEEDED)


def _place(finding: Finding, change: Changed, texts: Mapping[str, str]) -> _Place:
    if finding.in_path:
        return _Place(change.old_path, change.path or "")
    return _Place(texts.get(change.old_text or "", ""), texts.get(change.text or "", ""))


def _values(store_id: str, findings: Sequence[Finding]) -> dict[str, str]:
    by_version: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_version[finding.version_id].append(finding)
    found = {}
    for part in in_parts(sorted(by_version), TEXTS_AT_ONCE):
        rows = MemoryVersion.objects.among(store_id, part).values_list("pk", "path", "text_id")
        versions = {pk: (path, text) for pk, path, text in rows}
        texts = _texts(store_id, [text for _, text in versions.values()])
        for pk, (path, text) in versions.items():
            for finding in by_version[pk]:
                content = path if finding.in_path else texts.get(text or "")
                value = (content or "")[finding.start : finding.end]
                if value and marks.fingerprint(finding.kind, value) == finding.fingerprint:
                    found[finding.pk] = value
    return found


def _texts(store_id: str, ids: Collection[str | None]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in in_parts(sorted({text for text in ids if text})):
        rows = MemoryText.objects.filter(store_id=store_id, pk__in=part)
        found |= dict(rows.values_list("pk", "content"))
    return found

"""The outcome of a tried call: its answer as a model sees it, its audit entry, and its changes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memoryhub.actions.core.audit import Act, Record
from memoryhub.actions.core.transactions.trial import without_effect
from memoryhub.actions.memories import calls, curation, trials
from memoryhub.actions.memories.calls import NotRun
from memoryhub.machines.errors import Problem
from memoryhub.machines.requests import stopwatch
from memoryhub.models import AuditEntry, Key, Memory, MemoryStore, MemoryText, MemoryVersion, Proposal, ProposedChange
from memoryhub.pure import ids
from memoryhub.pure.protocol.commands import View
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.kinds import proposal_in
from memoryhub.pure.text.diffs import REQUEST_WORK, Diff
from memoryhub.pure.text.matching import Work
from memoryhub.tool import ToolUse, execute
from memoryhub.web.audit.answer import answer_of
from memoryhub.web.audit.entry import Call, Change, call_of, changes_of
from memoryhub.web.audit.masking import Entries
from memoryhub.web.audit.names import names_in
from memoryhub.web.audit.sentences import told_of, words_of
from memoryhub.web.common.texts import masking
from memoryhub.web.common.versions import text_before, text_of

MOST_VERSIONS = 100
TOOL_USE = "toolu_"


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change that would become a part of a proposal."""

    change: ProposedChange
    diff: Diff | None  # None if the text stays, or if there was no room
    has_pieces: bool = False  # the diff would show a part of a masked value


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call. If the call was not run, `refused` says why."""

    text: str = ""
    is_error: bool = False
    masked: bool = False  # some values are masked
    refused: str = ""
    status: int = 0  # the HTTP status of the refusal
    entry: AuditEntry | None = None
    words: str = ""  # a sentence on the entry
    call: Call | None = None  # as it is recorded
    changes: Sequence[Change] = ()
    more_changes: bool = False
    proposed: Sequence[Proposed] = field(default=())
    memory: str | None = None  # the id of the memory that the call concerned
    is_kept_back: bool = False  # nothing is shown, because a part of a masked value would be visible

    @property
    def block(self) -> str:
        """Return the tool_result block as indented JSON."""
        block = {"type": "tool_result", "tool_use_id": TOOL_USE + "…", "content": self.text, "is_error": self.is_error}
        return json.dumps(block, ensure_ascii=False, indent=2)


def tried_as_key(store: MemoryStore, key: Key, input: Mapping[str, Any], at: datetime) -> Outcome:
    """Run a call exactly as if the key had made it, without effect, and return its outcome."""
    use, elapsed = ToolUse.of(ids.new_id(TOOL_USE, at), dict(input)), stopwatch()
    with without_effect():
        caller = calls.caller_of_digest(key.digest, store.pk, at)
        problem = Problem.no_key() if caller is None else None if caller.reaches else Problem.no_store()
        if caller is None or problem is not None:
            return _refused(problem or Problem.no_key())
        try:
            result = execute(store.pk, use, caller=caller, at=at, elapsed=elapsed, run=trials.call_here)
        except NotRun as error:
            return _refused(Problem.not_run(error))
        entry = AuditEntry.objects.of_chain(store.pk).newest().first()
        assert entry is not None  # the call has just written it
        return _without_pieces(_of_call(entry, result.content, result.is_error))


def _refused(problem: Problem) -> Outcome:
    return Outcome(refused=problem.message, status=problem.status)


def _of_call(entry: AuditEntry, answer: str, is_error: bool) -> Outcome:
    entries = Entries([entry])
    shown, text = answer_of(entry, entries), answer
    if shown is not None and entries.masker(entry) is not None:
        whole = calls.answer_of(entry.chain, entry.seq)[1]
        text = shown.text + entries.text(entry, answer.removeprefix(whole))
    return _with_entry(entry, text, is_error, masked=text != answer)


def tried_as_person(store: MemoryStore, input: Mapping[str, Any], act: Act, override: str | None) -> Outcome:
    """Return the outcome that `done_as_person` would have, without effect."""
    with without_effect():
        return _without_pieces(done_as_person(store, input, act, override))


def _without_pieces(tried: Outcome) -> Outcome:
    """Return the outcome of a tried call, without its texts if they would show a part of a masked value."""
    if not any(map(_has_pieces, tried.changes)) and not any(one.has_pieces for one in tried.proposed):
        return tried
    # tried calls are not audited, so they must not reveal anything
    return replace(tried, text="", changes=(), proposed=(), is_kept_back=True)


def done_as_person(store: MemoryStore, input: Mapping[str, Any], act: Act, override: str | None) -> Outcome:
    """Perform a command as an act of a person, and return its outcome. A refused act has no audit entry. Raises
    findings.NeedsReason."""
    try:
        record, done = curation.by_hand(store.pk, input, act, override=override)
    except ToolError as error:
        return Outcome(error.message, is_error=True)
    answer = record.answer or ""
    text = _masked(store, record)
    if done is None:
        return Outcome(text, masked=text != answer, memory=record.memory)
    entry = AuditEntry.objects.of_chain(store.pk).of_seqs([done.seq]).get()
    return _with_entry(entry, text, False, masked=text != answer)


def _has_pieces(change: Change) -> bool:
    old, new = text_before(change.before, change.version), text_of(change.version)
    cover = masking.cover_of(change.version.store_id, change.version.memory_id)
    return old is not None and new is not None and masking.leaves_pieces(old, new, cover)


def _masked(store: MemoryStore, record: Record) -> str:
    """Return the answer to a person's command with sensitive values masked."""
    answer, cover = record.answer or "", masking.cover_of(store.pk, record.memory or "")
    if not cover:
        return answer
    if not record.rendered or record.first_line is None or record.last_line is None:
        return masking.masked(answer, cover)
    version = MemoryVersion.objects.filter(store_id=store.pk, pk=record.version).select_related("text").first()
    content = masking.masked(version.content or "", cover) if version else None
    place = (record.command or View.name, record.path or "", content, record.first_line, record.last_line)
    return calls.rendered(*place, bool(record.cut))


def _with_entry(entry: AuditEntry, text: str, is_error: bool, *, masked: bool) -> Outcome:
    entries = Entries([entry])
    details = told_of(entries.json(entry, entry.input))
    found = MemoryVersion.objects.of_entry(entry.chain, entry.seq).select_related("text")
    versions = list(found[: MOST_VERSIONS + 1])
    return Outcome(
        text,
        is_error,
        masked,
        entry=entry,
        words=words_of(entry, details, names_in([details], [entry.chain], versions=[entry.version])),
        call=call_of(entry, entries),
        changes=changes_of(versions[:MOST_VERSIONS]),
        more_changes=len(versions) > MOST_VERSIONS,
        proposed=_proposed(entry),
        memory=entry.memory,
    )


def _proposed(entry: AuditEntry) -> list[Proposed]:
    """Return the changes that the call proposed instead of making them."""
    number = proposal_in(json.loads(entry.message or '""'))
    proposal = Proposal.objects.of_store(entry.chain).filter(number=number).first() if number else None
    if proposal is None:
        return []
    changes = list(ProposedChange.objects.of_proposal(proposal).filter(seq=entry.seq))
    memories = {change.memory for change in changes if change.memory and change.content is not None}
    texts = dict(Memory.objects.among(entry.chain, sorted(memories)).values_list("pk", "text_id"))
    contents = MemoryText.objects.contents(entry.chain, [text for text in texts.values() if text])
    covers, work = masking.covers(entry.chain, memories), Work(REQUEST_WORK)
    made = []
    for change in changes:
        old = contents.get(texts.get(change.memory or "") or "", "")
        cover, new = covers.get(change.memory or "", masking.NOTHING), change.content
        diff = None if new is None else masking.opened(work, old, new, cover)
        made.append(Proposed(change, diff, new is not None and masking.leaves_pieces(old, new, cover)))
    return made

"""The conversation of a Claude run: its events, and the audit entries of its calls.

Redacted and erased calls and answers are missing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from memoryhub.actions.claude_runs import transcripts
from memoryhub.actions.claude_runs.transcripts import input_of
from memoryhub.actions.memories import calls
from memoryhub.models import AuditEntry, ClaudeEvent, ClaudeEventKind, ClaudeRun
from memoryhub.pure.conversation import guidance
from memoryhub.pure.conversation.messages import Said, messages
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.kinds import is_no_error

Exact = Mapping[str, tuple[dict[str, Any], str, bool]]
"""{id of a call: (its input, its answer, whether the answer is an error)}, for the calls that this process ran.

The values are as they were, not as the audit stores them.
"""


def messages_of(run: ClaudeRun, exact: Exact, before: int | None = None) -> list[dict[str, Any]]:
    """Return the conversation as the messages for Claude's next answer.

    `exact` has the original inputs and answers of the calls that this process ran. With `before`, only events with
    lower numbers count.
    """
    return messages(_task_of(run), _said(run, exact, before))


def _task_of(run: ClaudeRun) -> str:
    dream: Any = run.dream
    if dream is None:
        return run.task
    return guidance.dream(run.task, transcripts.transcripts(run.store_id, dream["sessions"]))


def _said(run: ClaudeRun, exact: Exact, before: int | None) -> Iterator[Said]:
    events = list(ClaudeEvent.objects.of_run(run.pk).filter(is_cut=False))
    events = [event for event in events if before is None or event.number < before]
    seqs = [event.seq for event in events if event.seq is not None]
    entries = {entry.seq: entry for entry in AuditEntry.objects.of_chain(run.place).of_seqs(seqs)}
    for event in events:
        if event.kind == ClaudeEventKind.CALL:
            yield _call(event, entries, exact)
        elif event.kind in (ClaudeEventKind.MESSAGE, ClaudeEventKind.TURN):
            yield Said(event.kind, event.content)
        elif not event.content.get("is_masked") or event.kind == ClaudeEventKind.TEXT:
            # A summary or thought with other words than Claude's own would be refused.
            yield Said(event.kind, event.content.get("block", {}))


def _call(event: ClaudeEvent, entries: Mapping[int, AuditEntry], exact: Exact) -> Said:
    id, name = event.content["id"], event.content["name"]
    block: dict[str, Any] = {"type": "tool_use", "id": id, "name": name, "input": event.content.get("input") or {}}
    if event.seq is None:
        return Said(event.kind, block, event.content.get("answer"), is_error=True)
    if id in exact:
        input, answer, is_error = exact[id]
        return Said(event.kind, block | {"input": input}, answer, is_error)
    entry = entries.get(event.seq)
    if entry is None:  # retention removed it
        return Said(event.kind, block, results.redacted())
    ok, answer = calls.answer_of(entry.chain, entry.seq)
    note = f"\n{entry.note}" if entry.note else ""
    return Said(event.kind, block | {"input": input_of(entry)}, answer + note, not (ok or is_no_error(answer)))

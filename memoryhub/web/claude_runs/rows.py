"""Data for the pages of Claude runs: the runs of a list, and the events of one run in words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memoryhub.actions.claude_runs import events as stored
from memoryhub.actions.claude_runs.problems import problem_words
from memoryhub.models import Agent, AuditEntry, ClaudeEvent, ClaudeEventKind, ClaudeRun, MemoryStore, User
from memoryhub.pure import sensitive
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.claude_runs import words
from memoryhub.web.common.pictures import number
from memoryhub.web.common.texts import markdown
from memoryhub.web.common.texts.masking import MASKED
from memoryhub.web.common.tool_errors import in_words
from memoryhub.web.common.versions.undone import Undone
from memoryhub.web.sessions.calls import calls_with, in_calls
from memoryhub.web.sessions.story import CallInWords, words_of

LONGEST_TITLE = 120
MOST = 300
"""The most events of a run on a page."""
WRITES = ("create", "str_replace", "insert", "rename")
NONE_UNDONE: Mapping[int, Undone] = {}


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in a list or in the head of its page. `by` is the name of the person or agent that started it, or "" if
    unknown."""

    run: ClaudeRun
    title: str
    by: str
    state: str
    tone: str
    why: str

    @property
    def tokens(self) -> str:
        return number(self.run.tokens)

    @property
    def budget(self) -> str | None:
        return None if self.run.budget is None else number(self.run.budget)

    @property
    def per_cent(self) -> int:
        return min(100, 100 * self.run.tokens // self.run.budget) if self.run.budget else 0


@dataclass(frozen=True, slots=True)
class Item:
    """An event on the page of a run. Only the fields for its kind are set."""

    event: ClaudeEvent
    html: SafeString | None = None  # a text by Claude
    text: str = ""  # a text by a person, or one that Claude is still writing
    told: CallInWords | None = None  # a call that ran
    words: str = ""  # the outcome of any other event
    detail: str = ""
    by: str = ""
    edits: Sequence[str] = ()
    saved: Sequence[str] = ()
    left_out: Sequence[tuple[str, str]] = ()


def listed(run: ClaudeRun) -> Listed:
    title = next((line.strip() for line in run.task.splitlines() if line.strip()), run.task)
    title = title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE].rstrip() + "…"
    title = _Masking(run.store_id)(title)
    if run.is_dream:
        title = _("Dream: %(title)s") % {"title": title} if title else _("Dream")
    return Listed(
        run, title, _starter_of(run), words.state_words(run), words.TONES[run.state], words.interrupted_words(run)
    )


def _starter_of(run: ClaudeRun) -> str:
    """Return the name of the person who started a run, or of the agent that started a dream."""
    if run.is_dream:
        return Agent.objects.filter(pk=run.agent).values_list("name", flat=True).first() or ""
    return str(run.started_by or "")


def masking_of(store: MemoryStore) -> Callable[[str], str]:
    """Return a function that masks in a text the sensitive values that the rules of a store detect."""
    return _Masking(store.pk)


class _Masking:
    """Masks in a text the sensitive values that the rules of the store detect. Signs of poisoning stay."""

    def __init__(self, store_id: str) -> None:
        self.kinds = stored.rules_of(store_id).watched & MASKED

    def __call__(self, text: str) -> str:
        return sensitive.mask(text, sensitive.find(text, self.kinds)) if self.kinds else text


def masked_task(run: ClaudeRun) -> str:
    return _Masking(run.store_id)(run.task)


def masked_system(run: ClaudeRun) -> str:
    return _Masking(run.store_id)(run.system)


def in_calls_of(*parts: Iterable[Item]) -> Iterator[tuple[str, str, str | None]]:
    """Yield (store, memory, version) of each version whose text a call in `parts` shows."""
    return in_calls(item.told.call for items in parts for item in items if item.told)


def place_of(store: MemoryStore, run: ClaudeRun, user: User) -> MemoryStore | None:
    """Return the store on which Claude works, which may be a copy. Return None if the copy was deleted, or if the
    person has no role there."""
    if not run.copy:
        return store
    copy = MemoryStore.present.filter(pk=run.copy).first()
    return copy if copy is not None and user.role_in(copy) else None


def items(
    place: MemoryStore | None, run: ClaudeRun, after: int, undone: Mapping[int, Undone] = NONE_UNDONE
) -> list[Item]:
    """Return the events with a number greater than `after`, in order and at most MOST.

    `place` is what `place_of` returns; `undone` is {seq of a write: its undo}.
    """
    found = list(ClaudeEvent.objects.of_run(run.pk).filter(number__gt=after)[:MOST])
    seqs = [event.seq for event in found if event.seq is not None]
    calls = {}
    if place is not None:
        entries = list(AuditEntry.objects.of_chain(place.pk).of_seqs(seqs).in_brief()) if seqs else []
        told = (
            CallInWords(one, words_of(one), (), None, undone.get(one.entry.seq)) for one in calls_with(entries, place)
        )
        calls = {one.call.entry.seq: one for one in told}
    mask = _Masking(run.store_id)
    saved = {} if place is None else _saved(place, run, found)
    return [replace(_item(event, calls, mask, place), saved=saved.get(event.number, ())) for event in found]


def _saved(place: MemoryStore, run: ClaudeRun, found: Sequence[ClaudeEvent]) -> Mapping[int, list[str]]:
    """Return {number of an answer: the paths that Claude had written before it}, for answers that edited the
    context."""
    edited = [event.number for event in found if event.kind == ClaudeEventKind.TURN and event.content.get("edits")]
    if not edited:
        return {}
    earlier = ClaudeEvent.objects.of_run(run.pk).filter(number__lt=edited[-1])
    turns = list(earlier.filter(kind=ClaudeEventKind.TURN).values_list("number", flat=True))
    ran: Any = earlier.filter(kind=ClaudeEventKind.CALL, seq__isnull=False).values_list("seq", "number")
    calls = dict[int, int](ran)
    entries = AuditEntry.objects.of_chain(place.pk).of_seqs(calls).filter(ok=True, command__in=WRITES)
    written = list(entries.order_by("-seq").values_list("seq", "new_path", "path"))
    mask, saved = _Masking(run.store_id), dict[int, list[str]]()
    for turn in edited:
        before = max((one for one in turns if one < turn), default=0)
        paths = [mask(new or path or "") for seq, new, path in written if calls[seq] < before]
        saved[turn] = list(dict.fromkeys(path for path in paths if path))
    return saved


def _item(event: ClaudeEvent, calls: Mapping[int, CallInWords], mask: _Masking, place: MemoryStore | None) -> Item:
    content: Any = event.content
    if event.kind == ClaudeEventKind.MESSAGE:
        return Item(event, text=mask(content["text"]), by=content.get("by", ""))
    if event.kind == ClaudeEventKind.CALL:
        gone = _("The copy on which the run worked has been deleted.") if place is None else ""
        return _call(event, calls, mask, gone or _("Retention removed the audit entry of this call."))
    if event.kind == ClaudeEventKind.PROPOSAL:
        return _proposal(event, mask)
    if event.kind == ClaudeEventKind.TURN:
        return _turn(event)
    if event.kind == ClaudeEventKind.PROBLEM:
        return Item(event, words=problem_words(content["code"]), detail=mask(content.get("detail", "")))
    return _said(event, mask)


def _said(event: ClaudeEvent, mask: _Masking) -> Item:
    content: Any = event.content
    block = content.get("block", {})
    text = block.get("text") or block.get("thinking") or block.get("content") or ""
    text = mask(text)
    if event.kind == ClaudeEventKind.TEXT and not event.is_open and len(text.encode()) <= markdown.LARGEST:
        return Item(event, html=markdown.render(text))
    hidden = (
        _("Claude thought. The API does not show what Claude thought.")
        if event.kind == ClaudeEventKind.THINKING
        else ""
    )
    return Item(event, text=text, words="" if text or event.is_open else hidden)


def _proposal(event: ClaudeEvent, mask: _Masking) -> Item:
    content: Any = event.content
    left_out = [(mask(path), mask(in_words(ToolError(why)))) for path, why in content["left_out"]]
    error = mask(in_words(ToolError(content["error"]))) if content.get("error") else ""
    return Item(event, detail=error, left_out=left_out)


def _call(event: ClaudeEvent, calls: Mapping[int, CallInWords], mask: _Masking, gone: str) -> Item:
    content: Any = event.content
    if event.seq is not None:
        told = calls.get(event.seq)
        return Item(event, told=told, words="" if told else gone)
    given = content.get("input") or {}
    what = mask(" ".join(str(given[name]) for name in ("command", "path", "old_path") if given.get(name)))
    if "answer" in content:
        return Item(event, words=what, detail=mask(content["answer"]))
    return Item(event, words=what, detail=_("This call was not run: the answer broke off.") if event.is_cut else "")


def _turn(event: ClaudeEvent) -> Item:
    content: Any = event.content
    said = _("%(context)s tokens in, %(output)s tokens out") % {
        "context": number(content["context"]),
        "output": number(content["usage"].get("output_tokens") or 0),
    }
    cached = content["usage"].get("cache_read_input_tokens") or 0
    if cached:
        said = _("%(context)s tokens in (%(cached)s of them cached), %(output)s tokens out") % {
            "context": number(content["context"]),
            "cached": number(cached),
            "output": number(content["usage"].get("output_tokens") or 0),
        }
    return Item(event, words=said, edits=[words.edit_words(edit) for edit in content.get("edits", [])])

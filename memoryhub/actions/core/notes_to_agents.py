"""Notes to agents: comments that people write on a memory for an agent.

The agent receives each note once, at the end of its next view of the memory. A memory's `waiting_notes` counts the
undelivered notes. The audit entry of the view has the delivered notes in its field `note`, not in its answer.
"""

from collections.abc import Mapping, Sequence

from django.db.models import F, Q

from memoryhub.actions.core.tree import Tree
from memoryhub.models import Comment, Memory, MemoryText, MemoryVersion
from memoryhub.pure.protocol import results
from memoryhub.pure.text.blame import Version
from memoryhub.pure.text.carried import followed
from memoryhub.pure.text.changed_lines import Work
from memoryhub.pure.text.line_sets import LineSet
from memoryhub.pure.text.matching import Budget

LINES_SEARCHED, PAIRS_SEARCHED = 100_000, 50_000
"""The most work that a view spends on finding the lines of its notes again, where the text has changed."""

Lines = tuple[int, int]


def count(store_id: str, memory_id: str, by: int) -> None:
    """Add `by` to a memory's count of notes that no agent has received yet."""
    Memory.objects.among(store_id, [memory_id]).update(waiting_notes=F("waiting_notes") + by)


def deliver(store: Tree, memory_id: str) -> str | None:
    """Deliver and record the waiting notes of a memory for the acting agent.

    Return the notes, one line each; None if there are none.
    """
    waiting = Comment.objects.of_memory(store.store, memory_id).waiting().filter(agent=store.act.actor.author_id)
    notes = list(waiting.order_by("pk"))
    if not notes:
        return None
    lines = _lines(store.store, memory_id, {note.thread for note in notes})
    waiting.update(told_at=store.at, told_seq=store.seq)
    count(store.store, memory_id, -len(notes))
    return "\n".join(results.note(store.ruling.masked(note.text), lines.get(note.thread)) for note in notes)


def _lines(store_id: str, memory_id: str, threads: set[str]) -> Mapping[str, Lines]:
    """Return {thread: its lines in the current text}.

    Threads about the whole memory, and threads whose lines cannot be found, are left out.
    """
    firsts = Comment.objects.of_memory(store_id, memory_id).filter(pk__in=threads, first__isnull=False)
    found = {}
    for one in firsts:
        first, last = one.first or 1, one.last or 1
        lines = _now(store_id, memory_id, one.number, range(first, last + 1))
        if lines:
            found[one.pk] = (lines.first, lines.last)
    return found


def _now(store_id: str, memory_id: str, number: int, lines: Sequence[int]) -> LineSet:
    """Return the lines of the current text that correspond to the lines `lines` of version `number`."""
    versions = MemoryVersion.objects.filter(store_id=store_id, memory_id=memory_id, text__isnull=False)
    both = versions.filter(Q(number=number) | Q(superseded_seq=None))
    texts = [Version(*row) for row in both.order_by("number").values_list("number", "text_id")]
    contents = MemoryText.objects.contents(store_id, [text.text for text in texts if text.text])
    work = Work(Budget(LINES_SEARCHED), Budget(PAIRS_SEARCHED))
    return followed(texts, {"": (number, lines)}, lambda text: contents.get(text, ""), work).get("", LineSet())

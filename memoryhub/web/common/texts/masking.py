"""Masking of secrets and personal data in the texts that pages show.

Pages get their texts from this module, which masks every value with a finding that was not dismissed. Signs of
poisoning are not masked. A masked value keeps its number of lines. A curator can reveal a version, which is audited.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memoryhub.actions.findings import findings
from memoryhub.models import Finding, FindingState, MemoryStore, MemoryText, MemoryVersion
from memoryhub.pure import sensitive
from memoryhub.pure.sensitive import KINDS, Group, Span
from memoryhub.pure.text import diffs
from memoryhub.pure.text.diffs import Diff
from memoryhub.pure.text.hunks import hunks
from memoryhub.pure.text.matching import Work

MASKED = frozenset(kind.name for kind in KINDS.values() if kind.group != Group.POISON)
POINTED = frozenset(KINDS) - MASKED - {"invisible", "bidirectional"}
"""Kinds that are labelled but not masked. Kinds of hidden characters are left out, because they have boxes of their
own."""


@dataclass(frozen=True, slots=True)
class Cover:
    """What to mask and to label in the texts of one memory. `bool(cover)` is False if nothing is masked."""

    masked: frozenset[str] = frozenset()  # kinds to mask
    pointed: frozenset[str] = frozenset()  # kinds to label
    harmless: frozenset[str] = field(default=frozenset(), repr=False)  # fingerprints of dismissed findings

    def __bool__(self) -> bool:
        return bool(self.masked)


NOTHING = Cover()


def covers(
    store_id: str, memories: Collection[str], new: Mapping[str, Collection[str]] | None = None
) -> dict[str, Cover]:
    """Return {memory id: Cover} of the memories with something to mask or to label.

    `new` is {memory id: kinds of findings in a new text of the memory that is not stored yet}.
    """
    of_memories = Finding.objects.of_store(store_id).filter(memory_id__in=list(memories), in_path=False)
    standing = of_memories.exclude(state=FindingState.DISMISSED)
    kinds: dict[str, set[str]] = defaultdict(set)
    for memory, kind, state in standing.order_by().values_list("memory_id", "kind", "state").distinct():
        if kind in MASKED or state == FindingState.OPEN:
            kinds[memory].add(kind)
    for memory, names in (new or {}).items():
        kinds[memory].update(names)
    original = MemoryStore.present.filter(pk=store_id).values_list("copy_of", flat=True).first()
    if original is not None:
        return _of_copy(original, memories, kinds)
    if not kinds:
        return {}
    harmless: dict[str, set[str]] = defaultdict(set)
    dismissed = of_memories.filter(state=FindingState.DISMISSED, memory_id__in=list(kinds))
    for memory, fingerprint in dismissed.order_by().values_list("memory_id", "fingerprint"):
        harmless[memory].add(fingerprint or "")
    return {
        memory: Cover(MASKED & found, POINTED & found, frozenset(harmless[memory])) for memory, found in kinds.items()
    }


def _of_copy(original: str, memories: Collection[str], kinds: Mapping[str, Collection[str]]) -> dict[str, Cover]:
    """Return {memory id: Cover} of memories of a throw-away copy. `kinds` is {memory id: kinds found in the copy}.

    A kind with an undismissed finding in the original is masked in every memory of the copy, because the copy does not
    know from which memory a text came. A value is shown anyway if all its findings in the original are dismissed.
    """
    found = Finding.objects.of_store(original).filter(kind__in=MASKED, in_path=False).order_by()
    standing = found.exclude(state=FindingState.DISMISSED)
    masked = frozenset(standing.values_list("kind", flat=True).distinct())
    dismissed = found.filter(state=FindingState.DISMISSED).values_list("fingerprint", flat=True)
    harmless = frozenset(filter(None, dismissed.difference(standing.values_list("fingerprint", flat=True))))
    of_memories = {memory: masked | (MASKED & set(kinds.get(memory, ()))) for memory in memories}
    signs = {memory: POINTED & set(kinds.get(memory, ())) for memory in memories}
    return {
        memory: Cover(names, signs[memory], harmless) for memory, names in of_memories.items() if names or signs[memory]
    }


def cover_of(store_id: str, memory_id: str) -> Cover:
    return covers(store_id, [memory_id]).get(memory_id, NOTHING)


def values_in(text: str, cover: Cover) -> list[Span]:
    """Return the spans of a memory's text that are masked."""
    return _spans(text, cover.masked, cover.harmless) if cover.masked else []


def signs_in(text: str, cover: Cover) -> list[Span]:
    """Return the spans of a memory's text that are signs of poisoning with open findings."""
    return _spans(text, cover.pointed, cover.harmless) if cover.pointed else []


def _spans(text: str, kinds: Collection[str], harmless: Collection[str]) -> list[Span]:
    found = sensitive.find(text, kinds)
    if not harmless:
        return found
    return [span for span in found if findings.fingerprint(span.kind, text[span.start : span.end]) not in harmless]


def masked(text: str, cover: Cover) -> str:
    """Return a memory's text with its sensitive values masked."""
    return sensitive.mask(text, values_in(text, cover)) if cover.masked else text


def leaves_pieces(old: str, new: str, cover: Cover) -> bool:
    """Return whether the edit from `old` to `new` leaves a part of a masked value that pages would no longer mask."""
    values, left = values_in(old, cover), Counter(new[span.start : span.end] for span in values_in(new, cover))
    first = _common(old, new) if values else 0
    last = len(old) - _common(old[first:][::-1], new[first:][::-1])
    for start, end, _kind in values:
        value = old[start:end]
        if not left[value] and (start < first or end > last):
            return True
        left[value] -= 1
    return False


def _common(one: str, other: str) -> int:
    """Return how many characters at the beginning of `one` and `other` are equal."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@dataclass(frozen=True, slots=True)
class Shown:
    """A text with its values masked (None if there is no text).

    `counts` is {kind: number of masked values}; `signs` are the signs of poisoning.
    """

    text: str | None
    counts: Mapping[str, int] = field(default_factory=dict)
    signs: Sequence[Span] = ()

    @property
    def count(self) -> int:
        return sum(self.counts.values())


def shown(text: str | None, cover: Cover) -> Shown:
    """Return a memory's text as a page shows it, with its values masked."""
    if text is None or not (cover.masked or cover.pointed):
        return Shown(text)
    spans = values_in(text, cover)
    masked = sensitive.mask(text, spans)
    return Shown(masked, dict(Counter(span.kind for span in spans)), signs_in(masked, cover))


def sign_lines(text: str, cover: Cover) -> dict[str, tuple[str, ...]]:
    """Return {text of a line: kinds of the poisoning signs in it}. Lines without such signs are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for start, end, kind in signs_in(text, cover):
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        for line in text[first : last if last >= 0 else len(text)].split("\n"):
            found[line] = tuple(dict.fromkeys([*found.get(line, ()), kind]))
    return found


def compared(old: str, new: str, known: Cover, **how: Any) -> Diff:
    """Return the comparison of two masked texts of a memory, with labels beside the signs of poisoning."""
    diff = diffs.compare(old, new, **how)
    return replace(diff, labels=sign_lines(old, known) | sign_lines(new, known)) if known.pointed else diff


def opened(work: Work, old: str, new: str, known: Cover, *, in_hunks: bool = False) -> Diff | None:
    """Mask and compare two texts of a memory. Return None if this would exceed the work that the request may still do.

    With `in_hunks`, the diff has the same hunks as a diff of the unmasked texts.
    """
    looks = bool(known.masked) + bool(known.pointed)
    if not work.opens(diffs.cost(old, new) + looks * (len(old) + len(new)) // 2):
        return None
    areas = hunks(old, new) if in_hunks else None
    return compared(masked(old, known), masked(new, known), known, work=work, areas=areas)


def texts(store_id: str, ids: Collection[str]) -> dict[str, str]:
    """Return {text id: text with its values masked} of the texts with these `ids` in a store."""
    rows = MemoryText.objects.filter(store_id=store_id, pk__in=ids).values_list(
        "pk", "store_id", "memory_id", "content"
    )
    return _masked_rows(list(rows))


def _masked_rows(rows: Collection[tuple[str, str, str, str]]) -> dict[str, str]:
    memories: dict[str, set[str]] = defaultdict(set)
    for _id, store, memory, _content in rows:
        memories[store].add(memory)
    known = {store: covers(store, found) for store, found in memories.items()}
    return {id: masked(content, known[store].get(memory, NOTHING)) for id, store, memory, content in rows}


def cover(versions: Iterable[MemoryVersion | None]) -> Mapping[str, Cover]:
    """Mask the loaded texts of the versions in place, and return {memory id: its Cover}.

    Never save one of the versions or its text afterwards.
    """
    with_text = [version for version in versions if version is not None and version.text_id]
    memories: dict[str, set[str]] = defaultdict(set)
    for version in with_text:
        memories[version.store_id].add(version.memory_id)
    known: dict[str, Cover] = {}
    for store, found in memories.items():
        known |= covers(store, found)
    seen: set[int] = set()
    for version in with_text:
        if version.memory_id in known and id(version.text) not in seen:
            seen.add(id(version.text))
            version.text.content = masked(version.text.content, known[version.memory_id])
    return known

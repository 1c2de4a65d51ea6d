"""Past states: which version of a memory was current after an entry, and which entries nearby changed a directory."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.db.models import OuterRef, Q, Subquery

from memoryhub.models import AuditChain, AuditEntry, Memory, MemoryVersion, Redaction
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure.protocol import paths

MOST_LOOKED = 1000
"""The most versions that are scanned to find the nearest entry that changed a directory."""

TOGETHER = 100

FEW_VERSIONS = 50
"""The most versions of a memory that are all read by a single query."""


def last_seq(store_id: str) -> int:
    """Return the seq of a store's newest entry; 0 if there is none."""
    return AuditChain.objects.filter(pk=store_id).values_list("last_seq", flat=True).first() or 0


def entry_at(store_id: str, seq: int) -> AuditEntry | None:
    """Return the entry of the store's chain with this seq, or None."""
    if not 0 < seq <= last_seq(store_id):
        return None
    return AuditEntry.objects.of_chain(store_id).in_brief().filter(seq=seq).first()


def is_gone(store_id: str, seq: int) -> bool:
    """Return whether the store had the entry `seq`, but this entry has been removed from the start of the chain."""
    return seq > 0 and AuditChain.objects.filter(pk=store_id, start_seq__gte=seq).exists()


def seq_at(store_id: str, moment: datetime) -> int:
    """Return the seq of the last entry at or before a moment; 0 if the store did not exist yet."""
    before = AuditEntry.objects.of_chain(store_id).filter(at__lte=moment)
    return before.order_by("-at", "-seq").values_list("seq", flat=True).first() or 0


def versions_at(store_id: str, memories: Mapping[str, int], seq: int) -> dict[str, MemoryVersion]:
    """Return {memory id: the version that was current after the entry `seq`}. The version may be a deletion.

    `memories` is {memory id: an upper bound of the version's number}. A memory is left out if it did not exist yet, or
    if the version was removed. If the bound is high, a binary search finds the version. This works because later
    versions have a higher number and a higher seq.
    """
    few = [memory for memory, number in memories.items() if 0 < number <= FEW_VERSIONS]
    best: dict[str, MemoryVersion] = {}
    for start in range(0, len(few), TOGETHER):
        versions = MemoryVersion.objects.filter(store_id=store_id, memory_id__in=few[start : start + TOGETHER])
        current = Q(superseded_seq=None) | Q(superseded_seq__gt=seq)
        best |= {version.memory_id: version for version in versions.filter(current, seq__lte=seq)}
    many = {memory: number for memory, number in memories.items() if number > FEW_VERSIONS}
    return best | _by_halving(store_id, many, seq)


def _by_halving(store_id: str, memories: Mapping[str, int], seq: int) -> dict[str, MemoryVersion]:
    low = _before_first(store_id, memories)  # versions up to this number are known to be old enough
    high = dict(memories)
    best: dict[str, MemoryVersion] = {}
    while open_ := [memory for memory in low if low[memory] < high[memory]]:
        tried = {memory: (low[memory] + high[memory] + 1) // 2 for memory in open_}
        found = {version.memory_id: version for version in _numbered(store_id, tried)}
        for memory, number in tried.items():
            version = found.get(memory) or _next(store_id, memory, number, high[memory])
            if version is not None and version.seq <= seq:
                low[memory], best[memory] = version.number, version
            else:
                high[memory] = number - 1
    return {memory: version for memory, version in best.items() if _is_current(version, seq)}


def _is_current(version: MemoryVersion, seq: int) -> bool:
    return version.superseded_seq is None or version.superseded_seq > seq


def _before_first(store_id: str, memories: Mapping[str, int]) -> dict[str, int]:
    """Return {memory id: the number of the memory's first remaining version, minus one}.

    If no version of the memory was removed, its value is 0. The value is at most the number in `memories`.
    """
    first = MemoryVersion.objects.filter(store_id=OuterRef("store_id"), memory_id=OuterRef("pk")).order_by("number")
    low = dict.fromkeys(memories, 0)
    for start in range(0, len(memories), TOGETHER):
        few = Memory.objects.among(store_id, list(memories)[start : start + TOGETHER]).filter(removed_versions__gt=0)
        numbers = few.annotate(first=Subquery(first.values("number")[:1])).values_list("pk", "first")
        low |= {memory: min(number - 1, memories[memory]) for memory, number in numbers if number}
    return low


def _next(store_id: str, memory_id: str, number: int, high: int) -> MemoryVersion | None:
    """Return the first remaining version after the removed version `number`, up to the number `high`, or None."""
    found = MemoryVersion.objects.filter(store_id=store_id, memory_id=memory_id, number__gt=number, number__lte=high)
    return found.order_by("number").first()


def were_there(store_id: str, memories: Collection[str], seq: int) -> set[str]:
    """Return the ids of those `memories` that existed at the time of the entry `seq`.

    Pass only memories for which `versions_at` found no version. If such a memory existed, the version that was current
    then has been removed.
    """
    at = AuditEntry.objects.of_chain(store_id).filter(seq=seq).values_list("at", flat=True).first()
    if at is None or not memories:
        return set()
    made = Memory.objects.among(store_id, memories).filter(created_at__lte=at, removed_versions__gt=0)
    return set(made.values_list("pk", flat=True))


def may_lack(store_id: str, seq: int) -> bool:
    """Return whether any of the versions that were current right after the entry `seq` is now removed."""
    return bool(_lacking(store_id, seq))


def lacks_paths(store_id: str, *seqs: int) -> bool:
    """Return whether a version that was current right after one of the entries `seqs` is now redacted. Its path is then
    not known."""
    redacted = MemoryVersion.objects.filter(store_id=store_id, path=None)
    return any(redacted.as_of(seq).exists() for seq in seqs)


def lacks_memories(store_id: str, seq: int) -> bool:
    """Return whether a memory that existed right after the entry `seq` is now removed with all its versions."""
    memories = _lacking(store_id, seq)
    return Memory.objects.among(store_id, memories).count() < len(memories)


def _lacking(store_id: str, seq: int) -> set[str]:
    """Return the ids of the memories that have lost the version that was current after the entry `seq`."""
    gone = Redaction.objects.of_chain(store_id).removed().filter(entry_seq__lte=seq).order_by("-entry_seq")
    ends = gone.values_list("memory", "superseded_seq")[:MOST_LOOKED]
    return {memory for memory, end in ends if memory and end is not None and end > seq}


def numbered(store_id: str, memory_id: str, number: int) -> MemoryVersion | None:
    """Return a version of a memory by its number, or None."""
    return next(iter(_numbered(store_id, {memory_id: number})), None)


def _numbered(store_id: str, numbers: Mapping[str, int]) -> list[MemoryVersion]:
    """Return one version of each memory, without its text; `numbers` is {memory id: version number}."""
    wanted = list(numbers.items())
    found: list[MemoryVersion] = []
    for start in range(0, len(wanted), TOGETHER):
        any_of = Q(pk__in=())
        for memory, number in wanted[start : start + TOGETHER]:
            any_of |= Q(store_id=store_id, memory_id=memory, number=number)
        found += MemoryVersion.objects.filter(any_of)
    return found


def changed_at_or_before(store_id: str, seq: int, path: str = "") -> int | None:
    """Return the seq of the last entry up to `seq` (inclusive) that changed something in the directory `path`, or None.

    After a scan of MOST_LOOKED versions without a result, return the seq of the last scanned version. A search can
    continue from there.
    """
    older = MemoryVersion.objects.filter(store_id=store_id, seq__lte=seq).order_by("-seq")
    return _nearest(older, path)


def changed_after(store_id: str, seq: int, path: str = "") -> int | None:
    """Return the seq of the first entry after `seq` that changed something in the directory `path`, or None.

    After a scan of MOST_LOOKED versions without a result, return the seq of the last scanned version. A search can
    continue from there.
    """
    newer = MemoryVersion.objects.filter(store_id=store_id, seq__gt=seq).order_by("seq")
    return _nearest(newer, path)


def _nearest(versions: MemoryVersionQuerySet, path: str) -> int | None:
    if not path:
        return versions.values_list("seq", flat=True).first()
    low, high = paths.subtree(path)
    looked = list(versions.values_list("seq", "path")[:MOST_LOOKED])
    for seq, place in looked:
        if place is not None and low <= place < high:
            return int(seq)
    return int(looked[-1][0]) if len(looked) == MOST_LOOKED else None

"""Adds findings to a synthetic store: two for each memory, and thousands in one memory."""

import random
import secrets
from itertools import cycle

from benchmarks.bulk import Bulk, loading
from benchmarks.story import DIARY
from memoryhub.actions.core.sql import moment
from memoryhub.models import Finding, FindingState, Memory, MemoryStore, MemoryVersion
from memoryhub.pure import ids
from memoryhub.pure.sensitive import KINDS

EACH, FEWEST_OF_THE_DIARY = 2, 300
"""The findings of each memory. The diary has more, as many as a fiftieth of the store's memories, and at least 300."""
STATES = (FindingState.OPEN, FindingState.RESOLVED, FindingState.DISMISSED, FindingState.RESOLVED)
LENGTH = 8


def add_findings(store: MemoryStore, seed: int = 1) -> None:
    """Add findings to every memory of a store: a quarter of them open, a quarter dismissed, the others resolved."""
    chance, kinds, bulk = random.Random(seed), cycle(sorted(KINDS)), Bulk()
    of_store = MemoryVersion.objects.filter(store=store, text__isnull=False)
    heads = of_store.filter(superseded_seq=None).order_by("seq")
    diary = of_store.filter(memory=Memory.objects.filter(store=store).at(DIARY).get()).order_by("seq")
    many = max(FEWEST_OF_THE_DIARY, store.memory_count // 50)
    columns = ("id", "memory_id", "seq", "created_at")
    with loading(Finding):
        for version, memory, seq, at in [
            *(row for row in heads.values_list(*columns) for _ in range(EACH)),
            *(chance.choices(list(diary.values_list(*columns)), k=many)),
        ]:
            bulk.add(Finding, (
                ids.new_id(ids.FINDING, at), store.pk, memory, version, next(kinds), False, 1, 0, LENGTH,
                secrets.token_hex(), str(chance.choice(STATES)), "", moment(at), seq, None, None, None, True,
            ))  # fmt: skip
        bulk.flush()

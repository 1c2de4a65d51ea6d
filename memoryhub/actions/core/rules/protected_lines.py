"""Protected lines: a path rule names them in one version of a memory.

This module finds these lines in the newest text, and the changes that affect them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from memoryhub.actions.core import sql
from memoryhub.actions.core.settling import Changed
from memoryhub.actions.core.sql import Statement
from memoryhub.models import MemoryStore, MemoryVersion
from memoryhub.pure.path_rules import LINES, Lines, PathRule, of_json
from memoryhub.pure.protocol.text import count_lines
from memoryhub.pure.text.changed_lines import Work
from memoryhub.pure.text.kept_lines import are_kept, where, where_in_last
from memoryhub.pure.text.matching import Budget

MOST_STEPS, MOST_CHARACTERS = 200, 4_000_000
"""The most versions through which lines are followed one by one, and the most characters of their texts together. If
there are more, only the first and the last text are compared."""

LINES_SEARCHED, PAIRS_SEARCHED = 100_000, 50_000
"""The most work that one act spends on comparing texts for all rules: other writers of the memory store wait for it.

If this is not enough work, more lines count as protected.
"""

_NAMED = Statement("select memory_id, number, text_id from memoryhub_memoryversion where store_id = %s and id = %s")
_LATER = Statement(
    "select id, text_id, size from memoryhub_memoryversion where store_id = %s and memory_id = %s and number > %s"
    " order by number desc limit %s"
)
_TEXT = Statement("select content from memoryhub_memorytext where store_id = %s and id = %s")


def follow_memories(store_id: str, rules: str, changed: Sequence[Changed]) -> None:
    """Store the new paths of moved memories in the rules about lines of these memories.

    `rules` is the JSON text of the rules before the act. Call it before the act's entry.
    """
    moved = [one for one in changed if one.path not in (None, one.old_path)] if f'"{LINES}:' in rules else []
    if not moved:
        return
    before = of_json(MemoryStore.present.get(pk=store_id).path_rules).rules
    named = [rule.only_if.version for rule in before if isinstance(rule.only_if, Lines)]
    memories = dict(MemoryVersion.objects.among(store_id, named).values_list("pk", "memory_id"))
    after = tuple(_followed(rule, memories, moved) for rule in before)
    if after != before:
        MemoryStore.present.filter(pk=store_id).update(path_rules=[rule.as_json() for rule in after])


def _followed(rule: PathRule, memories: dict[str, str], moved: Sequence[Changed]) -> PathRule:
    """Return a rule with the new path of its memory."""
    if not isinstance(rule.only_if, Lines):
        return rule
    whose, pattern = memories.get(rule.only_if.version), rule.pattern
    for one in moved:
        if whose == one.memory or (whose is None and rule.pattern == one.old_path):
            pattern = str(one.path)
    return replace(rule, pattern=pattern)


class ProtectedLines:
    """The protected lines of a memory store, during one act or for one page.

    Texts that were read are kept for later questions. Once the kept texts have more than MOST_CHARACTERS together, the
    next question drops them first.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._contents: dict[str, str] = {}
        self.work = Work(Budget(LINES_SEARCHED), Budget(PAIRS_SEARCHED))

    def in_newest(self, memory: str, lines: Lines) -> tuple[str, list[int] | None]:
        """Return the newest text of a memory (id), and the numbers of the protected lines in it.

        The list is empty if no line is left, or if `lines` belong to another memory. The list is None if the version
        that the rule names has no text any more.
        """
        named = self._named(lines)
        if named is None or named[2] is None:
            return "", None
        if named[0] != memory:
            return "", []
        later = sql.rows(_LATER, self._store, memory, named[1], MOST_STEPS + 1)
        is_long = len(later) > MOST_STEPS or sum(size or 0 for _pk, _text, size in later) > MOST_CHARACTERS
        since = reversed(later[:1] if is_long else later)
        texts = self._texts([named[2], *(text for _pk, text, _size in since if text)])
        return texts[-1], where_in_last(texts, _numbers(lines, texts[0]), self.work)

    def past_of(self, lines: Lines) -> tuple[str, set[str]]:
        """Return the id of the memory to which the lines belong, and the ids of the versions that changed them.

        Only versions after the one that the rule names are searched: the newest MOST_STEPS at most, with at most
        MOST_CHARACTERS together. If the version that the rule names is gone or has no text, return "" and no ids.
        """
        named = self._named(lines)
        if named is None or named[2] is None:
            return "", set()
        newest = sql.rows(_LATER, self._store, named[0], named[1], MOST_STEPS)
        sizes = accumulate(size or 0 for _pk, _text, size in newest)
        near = [row for row, characters in zip(newest, sizes, strict=True) if characters <= MOST_CHARACTERS]
        later = [(pk, text) for pk, text, _size in reversed(near) if text]
        texts = self._texts([named[2], *(text for _pk, text in later)])
        found, now = set(), list(_numbers(lines, texts[0]))
        for (version, _text), (old, new) in zip(later, pairwise(texts), strict=True):
            if now and not are_kept(old, new, now, self.work):
                found.add(version)
            now = where(old, new, now, self.work)
        return named[0], found

    def _named(self, lines: Lines) -> sql.Row | None:
        sql.connect()
        return sql.one(_NAMED, self._store, lines.version)

    def _texts(self, ids: Sequence[str]) -> list[str]:
        if sum(map(len, self._contents.values())) > MOST_CHARACTERS:
            self._contents.clear()
        for text in ids:
            if text not in self._contents:
                row = sql.one(_TEXT, self._store, text)
                self._contents[text] = row[0] if row else ""
        return [self._contents[text] for text in ids]


def _numbers(lines: Lines, text: str) -> range:
    """Return the numbers of these lines, without numbers after the end of the text."""
    return range(lines.first, min(lines.last, count_lines(text)) + 1)

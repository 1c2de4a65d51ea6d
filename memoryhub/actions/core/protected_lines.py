"""Protected lines: where the lines that a path rule names are in the newest text of a memory, and what changes them."""

from collections.abc import Sequence
from itertools import pairwise

from memoryhub.actions.core import sql
from memoryhub.actions.core.sql import Statement
from memoryhub.path_rules import Lines
from memoryhub.text.kept_lines import are_kept, where, where_in_last

MOST_STEPS = 200
"""The most versions through which lines are followed one by one. Of more, the first and the last text are compared."""

_NAMED = Statement("select memory_id, number, text_id from memoryhub_memoryversion where store_id = %s and id = %s")
_LATER = Statement(
    "select id, text_id from memoryhub_memoryversion where store_id = %s and memory_id = %s and number > %s"
    " order by number desc limit %s"
)
_TEXT = Statement("select content from memoryhub_memorytext where store_id = %s and id = %s")


def in_newest(store: str, memory: str, lines: Lines) -> tuple[str, list[int] | None]:
    """Return the newest text of a memory (id), and the numbers of the lines in it.

    There are no numbers if none of the lines is left, or if they are lines of another memory. None means that the
    version which the rule names has no text any more.
    """
    sql.connect()
    named = sql.one(_NAMED, store, lines.version)
    if named is None or named[2] is None:
        return "", None
    if named[0] != memory:
        return "", []
    later = [text for _pk, text in sql.rows(_LATER, store, memory, named[1], MOST_STEPS + 1)]
    texts = [named[2], *(text for text in reversed(later[: 1 if len(later) > MOST_STEPS else None]) if text)]
    contents = _contents(store, texts)
    return contents[-1], where_in_last(contents, range(lines.first, lines.last + 1))


def past_of(store: str, lines: Lines) -> tuple[str, set[str]]:
    """Return the id of the memory whose lines they are ("" if its version is gone), and the ids of those of its later
    versions that changed, removed or separated the lines, among the newest MOST_STEPS."""
    sql.connect()
    named = sql.one(_NAMED, store, lines.version)
    if named is None or named[2] is None:
        return "", set()
    later = [(pk, text) for pk, text in reversed(sql.rows(_LATER, store, named[0], named[1], MOST_STEPS)) if text]
    contents = _contents(store, [named[2], *(text for _pk, text in later)])
    found, now = set(), list(range(lines.first, lines.last + 1))
    for (version, _text), (old, new) in zip(later, pairwise(contents), strict=True):
        if now and not are_kept(old, new, now):
            found.add(version)
        now = where(old, new, now)
    return named[0], found


def _contents(store: str, texts: Sequence[str]) -> list[str]:
    known: dict[str, str] = {}
    for text in texts:
        if text not in known:
            row = sql.one(_TEXT, store, text)
            assert row is not None
            known[text] = row[0]
    return [known[text] for text in texts]

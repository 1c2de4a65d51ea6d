"""Joins several proposed changes of one memory. Each was made to the text that the memory had at that time."""

from collections.abc import Iterable
from typing import NamedTuple

from memoryhub.text.matching import Work
from memoryhub.text.merging import Merge, merge


class OutOfWork(Exception):
    """The work is used up before all texts are merged."""


class Wish(NamedTuple):
    """A text that an agent saw, and the text that it proposed instead."""

    seen: str
    wanted: str


def joined(wishes: Iterable[Wish], work: Work) -> Wish:
    """Return several wishes, oldest first, as one: the text that was seen last, and this text with all proposed
    changes.

    If two wishes change the same lines, the later wish wins. If others changed the lines of a wish before the next
    wish, the wish wins over them. Raises ValueError without wishes, and OutOfWork.
    """
    rest = iter(wishes)
    first = next(rest, None)
    if first is None:
        raise ValueError("no wishes")
    seen, wanted = first
    for wish in rest:
        if wish.seen != seen:
            wanted = _merged(seen, wanted, wish.seen, work).settled(lambda conflict: conflict.mine)
            seen = wish.seen
        wanted = _merged(seen, wanted, wish.wanted, work).settled(lambda conflict: conflict.theirs)
    return Wish(seen, wanted)


def onto(now: str, wish: Wish, work: Work) -> Merge:
    """Return the merge of a wish with the current text. In a conflict, `mine` are the current lines. Raises
    OutOfWork."""
    return _merged(wish.seen, now, wish.wanted, work)


def _merged(base: str, mine: str, theirs: str, work: Work) -> Merge:
    if not work.left and base not in (mine, theirs):
        raise OutOfWork
    return merge(base, mine, theirs, work=work)

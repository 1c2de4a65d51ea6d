"""The text that several proposed changes of one memory ask for, although each was made to the text of its own time."""

from collections.abc import Iterable
from typing import NamedTuple

from memoryhub.text.matching import Work
from memoryhub.text.merging import Merge, merge


class Wish(NamedTuple):
    """A text that somebody saw, and the text that they wanted instead."""

    seen: str
    wanted: str


def joined(wishes: Iterable[Wish], work: Work) -> Wish:
    """Return several wishes as one: the newest text that was seen, and all that was wanted of it.

    Where two wishes are about the same lines, the later one counts; where a wish is about lines that others changed
    before the next wish, the wish counts. Raises ValueError without wishes.
    """
    rest = iter(wishes)
    first = next(rest, None)
    if first is None:
        raise ValueError("no wishes")
    seen, wanted = first
    for wish in rest:
        if wish.seen != seen:
            wanted = merge(seen, wanted, wish.seen, work=work).settled(lambda conflict: conflict.mine)
            seen = wish.seen
        wanted = merge(seen, wanted, wish.wanted, work=work).settled(lambda conflict: conflict.theirs)
    return Wish(seen, wanted)


def onto(now: str, wish: Wish, work: Work) -> Merge:
    """Return the merge of a wish with the text as it is now. Its conflicts have the present lines as `mine`."""
    return merge(wish.seen, now, wish.wanted, work=work)

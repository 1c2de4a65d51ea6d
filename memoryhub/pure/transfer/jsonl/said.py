"""Reads, from the lines of a JSON Lines export, the conversations of people about memories and proposals."""

from memoryhub.pure import strict_json
from memoryhub.pure.transfer.bundle import BundledComment, BundledTalk, BundledThread, Refused
from memoryhub.pure.transfer.jsonl.values import Line, moment_of, moment_or_none, number_or_none, text, text_or_none

MOST_COMMENTS, LONGEST_COMMENT, LONGEST_NAME = 500, 4_000, 1_000
"""The most comments on a memory or a proposal, and the most characters of a comment and of the name of its author."""


def thread_of(line: Line) -> BundledThread:
    """Return the conversation that a line describes. Raises Refused."""
    number, first, last = (number_or_none(line, name) for name in ("number", "first", "last"))
    if number is None:
        raise Refused("A conversation has no version.")
    if (first is None) != (last is None) or (first is not None and last is not None and first > last):
        raise Refused("A conversation is about lines that cannot exist.")
    return BundledThread(number, first, last, moment_or_none(line, "resolved_at"), _comments_of(line))


def talks_of(line: Line, changes: int) -> tuple[BundledTalk, ...]:
    """Return the conversations in the line of a proposal, which has `changes` changes. Raises Refused."""
    told = line.get("threads", [])
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise Refused("A proposal's threads are no list of conversations.")
    talks = tuple(_talk_of(one, changes) for one in told)
    if sum(len(one.comments) for one in talks) > MOST_COMMENTS:
        raise Refused(f"A proposal has more than {MOST_COMMENTS:,} comments.")
    return talks


def _talk_of(value: Line, changes: int) -> BundledTalk:
    change, number, line = (number_or_none(value, name) for name in ("change", "number", "line"))
    old = value.get("old", False)
    if not isinstance(old, bool) or len({one is None for one in (change, number, line)}) > 1:
        raise Refused("A conversation about a proposal contradicts itself about its line.")
    if max(change or 0, number or 0) > changes:
        raise Refused("A conversation is about a change that the proposal does not have.")
    resolved_at = moment_or_none(value, "resolved_at")
    return BundledTalk(change, text_or_none(value, "base"), number, old, line, resolved_at, _comments_of(value))


def _comments_of(line: Line) -> tuple[BundledComment, ...]:
    told = line.get("comments")
    if not isinstance(told, list) or not 0 < len(told) <= MOST_COMMENTS:
        raise Refused("A conversation has no comments or too many.")
    return tuple(map(_comment_of, told))


def _comment_of(value: object) -> BundledComment:
    if not isinstance(value, dict):
        raise Refused("A comment is not an object.")
    author, said = text(value, "author"), text(value, "text")
    if len(said) > LONGEST_COMMENT or len(author) > LONGEST_NAME:
        raise Refused("A comment, or the name of its author, is too long.")
    if strict_json.doubtful(said) or strict_json.doubtful(author):
        raise Refused("A comment has a text with a NUL or an unpaired surrogate.")
    removed = moment_or_none(value, "removed_at")
    if said and removed:
        raise Refused("A comment is deleted and has a text.")
    return BundledComment(author, said, moment_of(text(value, "at")), moment_or_none(value, "edited_at"), removed)

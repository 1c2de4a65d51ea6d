"""Classifies errors of the tool by the beginning of their sentence, because the rest may quote any path or text."""

import re
from enum import StrEnum

from memoryhub.pure.protocol.results import NO_ERROR, PROPOSED


class Kind(StrEnum):
    """The kinds of errors that the figures count separately."""

    NOT_FOUND = "not_found"
    EXISTS = "already_exists"
    NO_MATCH = "no_match"
    SEVERAL = "several_matches"
    PATH = "path_refused"
    MALFORMED = "malformed"
    LIMIT = "limit"
    SENSITIVE = "sensitive"
    READ_ONLY = "read_only"
    ARCHIVED = "archived"
    HELD = "held"
    RULE = "path_rule"
    PROPOSED = "proposed"
    PRECONDITION = "precondition_failed"
    OTHER = "other"


REFUSALS = (Kind.PATH, Kind.LIMIT, Kind.SENSITIVE, Kind.READ_ONLY, Kind.ARCHIVED, Kind.HELD, Kind.RULE)
"""The errors with which the hub refuses something that a call may not do. All other errors mean that the call itself is
wrong."""

LONGEST = 60
"""The number of characters of a sentence that is enough to classify it."""

_BEGINNINGS = (
    ("The path ", Kind.NOT_FOUND),
    ("Error: The path ", Kind.NOT_FOUND),
    ("Error: this memory version has no text", Kind.NOT_FOUND),
    ("No replacement was performed, old_str", Kind.NO_MATCH),
    ("No replacement was performed. Multiple", Kind.SEVERAL),
    ("Error: File ", Kind.EXISTS),
    ("Error: The destination ", Kind.EXISTS),
    ("Error: Path ", Kind.PATH),
    ("Error: Cannot ", Kind.PATH),
    ("Error: Unrecognized command", Kind.MALFORMED),
    ("Error: Parameter `", Kind.MALFORMED),
    ("Error: Invalid `", Kind.MALFORMED),
    ("Error: `", Kind.MALFORMED),
    ("File ", Kind.LIMIT),
    ("Error: /memories", Kind.LIMIT),
    ("Error: this memory store holds ", Kind.LIMIT),
    ("Error: this memory store would hold ", Kind.LIMIT),
    ("Error: this memory store would have ", Kind.LIMIT),
    ("Error: too many memories for the path rules", Kind.LIMIT),
    ("Error: A path rule ", Kind.RULE),
    ("Not written: this change is now ", Kind.PROPOSED),
    ("Error: too many proposals ", Kind.LIMIT),
    ("Error: too many changes for one proposal", Kind.LIMIT),
    ("Error: line ", Kind.SENSITIVE),
    ("Error: this path would hold ", Kind.SENSITIVE),
    ("Error: too much of ", Kind.SENSITIVE),
    ("Error: this memory store is archived", Kind.ARCHIVED),
    ("Error: A legal hold is on ", Kind.HELD),
    ("Error: The memory /", Kind.HELD),
    ("Error: the precondition failed", Kind.PRECONDITION),
    ("Error: this key may not write", Kind.READ_ONLY),
)


def kind_of(message: str | None) -> Kind:
    """Return the kind of an error from its sentence; OTHER for None or an unknown sentence."""
    for beginning, kind in _BEGINNINGS:
        if message is not None and message.startswith(beginning):
            return kind
    return Kind.OTHER


def beginnings_of(kind: Kind) -> tuple[str, ...]:
    """Return the beginnings of the sentences of a kind. For OTHER, return those of all other kinds: a sentence of the
    kind OTHER has none of them."""
    return tuple(beginning for beginning, each in _BEGINNINGS if kind in (each, Kind.OTHER))


_NUMBER_OF_PROPOSAL = re.compile(re.escape(PROPOSED) + r"([0-9]{1,18})\b")


def proposal_in(answer: str) -> int | None:
    """Return the number of the proposal that a change became a part of, or None if the answer names none."""
    named = _NUMBER_OF_PROPOSAL.match(answer)
    return int(named[1]) if named else None


def is_no_error(answer: str) -> bool:
    """Return whether an answer says that a change became part of a proposal, but is no error of the tool.

    Only the text of the answer decides this, so the result is the same when the call is sent again.
    """
    return answer.startswith(PROPOSED) and answer.partition(". ")[2].startswith(NO_ERROR)

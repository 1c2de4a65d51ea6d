"""Describes a command of the audit: the chains that can contain it, its words and its webhook events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto

from django.utils.functional import Promise

Words = str | Promise


class Scope(Flag):
    """The kinds of chains that can contain a command."""

    STORE = auto()
    HUB = auto()
    BOTH = STORE | HUB


@dataclass(frozen=True, slots=True)
class Command:
    """A command and its words in the audit.

    If `words` contain values of the entry, `did` is a short form without values, for lists of calls and versions.
    `refused` describes a failed attempt; `event` is the webhook event of a success. `also` is {field of the entry's
    input: webhook event}: this further event concerns the versions whose ids are in the field. `several` takes a count
    and returns the words for it. The count is the number of values in the input field that `counts` names. An agent can
    send any text as a command, so the sentence of a tool call uses only commands with `by_agents`.
    """

    name: str
    words: Words | tuple[Words, ...] = ()
    refused: Words = ""
    several: Callable[[int], str] | None = None
    counts: str = ""
    scope: Scope = Scope.STORE
    event: str = ""
    also: Mapping[str, str] = field(default_factory=dict)
    by_agents: bool = False
    did: Words = ""

    @property
    def label(self) -> str:
        """Return the short form for lists: `did` or, if that is empty, the words of the command. If these words contain
        values, return an empty text."""
        if self.did or not isinstance(self.words, str | Promise):
            return str(self.did)
        words = str(self.words)
        return "" if "%(" in words else words

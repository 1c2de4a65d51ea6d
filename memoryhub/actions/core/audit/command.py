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

    If `words` contain values, `did` is a short form without values. `refused` describes a failed attempt; `event` is
    the webhook event of a success. `also` is {field of the entry's input with version ids: further event}. `counts` is
    a field of the input with several values, and `several` returns the words for their number. The sentence of a tool
    call uses only commands with `by_agents`.
    """

    name: str
    words: Words | tuple[Words, ...] = ()
    refused: Words = ""
    several: Callable[[int], str] | None = None
    counts: str = ""
    scope: Scope = Scope.STORE
    event: str = ""
    also: Mapping[str, str] = field(default_factory=dict)
    # An agent can send any text as a command.
    by_agents: bool = False
    did: Words = ""

    @property
    def label(self) -> str:
        """Return the short form for lists: `did`, or else the words. Empty if the words contain values."""
        if self.did or not isinstance(self.words, str | Promise):
            return str(self.did)
        words = str(self.words)
        return "" if "%(" in words else words

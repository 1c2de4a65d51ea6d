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
    """A command and its words in the audit."""

    name: str
    words: Words | tuple[Words, ...] = ()
    refused: Words = ""  # for a failed attempt
    several: Callable[[int], str] | None = None  # returns the words for a number of values
    counts: str = ""  # the field of the input whose values `several` counts
    scope: Scope = Scope.STORE
    event: str = ""  # the webhook event of a success
    # {field of the input that names versions: a further webhook event for these versions}
    also: Mapping[str, str] = field(default_factory=dict)
    # An agent can send any text as a command.
    by_agents: bool = False
    did: Words = ""  # a short form without values, if `words` contain values

    @property
    def label(self) -> str:
        """Return the short form for lists: the field `did`.

        If `did` is empty, return `words`; but return "" if `words` are several sentences or contain values.
        """
        if self.did or not isinstance(self.words, str | Promise):
            return str(self.did)
        words = str(self.words)
        return "" if "%(" in words else words

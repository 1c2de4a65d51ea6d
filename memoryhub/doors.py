"""The doors for programs: which addresses each serves, and how it answers and refuses requests."""

from typing import Protocol

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from memoryhub.api import door as api
from memoryhub.machines.errors import Problem
from memoryhub.mcp import door as mcp


class MachinesDoor(Protocol):
    """The interface of a door for programs, which its module `door` provides."""

    def is_here(self, path: str, /) -> bool:
        """Return whether an address belongs to this door."""

    def answer(self, request: HttpRequest, /) -> HttpResponseBase:
        """Return the response to a request, including the response to an error."""

    def refusal(self, problem: Problem, /) -> HttpResponse:
        """Return the response to a request that was refused before it was read."""


DOORS: tuple[MachinesDoor, ...] = (api, mcp)


def door_at(path: str) -> MachinesDoor | None:
    """Return the door for programs at an address, or None for any other address."""
    return next((door for door in DOORS if door.is_here(path)), None)

"""The doors of programs, each with its addresses: what answers there, and in which words a request is refused."""

from typing import Protocol

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from memoryhub.api import door as api
from memoryhub.machines.errors import Problem
from memoryhub.mcp import door as mcp


class MachinesDoor(Protocol):
    """The module `door` of a package that programs speak to."""

    def is_here(self, path: str, /) -> bool:
        """Whether an address is one of this door's."""

    def answer(self, request: HttpRequest, /) -> HttpResponseBase:
        """The answer to a request, also where something went wrong."""

    def refusal(self, problem: Problem, /) -> HttpResponse:
        """The answer to a request that is not read."""


DOORS: tuple[MachinesDoor, ...] = (api, mcp)


def door_at(path: str) -> MachinesDoor | None:
    """The door of programs at an address; null where people or nobody are answered."""
    return next((door for door in DOORS if door.is_here(path)), None)

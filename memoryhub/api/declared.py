"""Reads the operations declared on django-ninja's routers; the only module that uses Ninja's internals.

If an update of Ninja changes these internals, the hub does not start and reports what is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ninja import NinjaAPI
from ninja.operation import Operation


class NinjaHasChanged(Exception):
    """The installed version of django-ninja differs from what this module expects."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One operation: its function, its address under /v1, its methods, and what it requires of a key (`needs`)."""

    function: Callable[..., Any]
    path: str
    methods: tuple[str, ...]
    needs: object

    @property
    def name(self) -> str:
        return self.function.__name__


class HubAPI(NinjaAPI):
    """A NinjaAPI in which the id of an operation is the name of its function."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def operations_of(api: NinjaAPI) -> list[Declared]:
    """Return every operation of the API's routers, in order of declaration; raises NinjaHasChanged."""
    try:
        return [
            Declared(operation.view_func, path, tuple(operation.methods), operation.auth_param)
            for router in api._get_bound_routers()
            for path, view in router.path_operations.items()
            for operation in view.operations
        ]
    except AttributeError as error:
        raise NinjaHasChanged(
            f"django-ninja {version('django-ninja')} is not read by memoryhub/api/declared.py: {error}. "
            "Install the version of requirements.txt."
        ) from error

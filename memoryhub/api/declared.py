"""What is declared on django-ninja's routers, as plain values: the only module that reads what is inside Ninja.

Ninja has no public way to list operations. Where an update changes what is read here, the hub does not start, and
says what is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ninja import NinjaAPI
from ninja.operation import Operation


class NinjaHasChanged(Exception):
    """The installed django-ninja is not as this module knows it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One operation: the function that does it, its address beneath /v1, its methods, and what it needs (`auth`)."""

    function: Callable[..., Any]
    path: str
    methods: tuple[str, ...]
    needs: object

    @property
    def name(self) -> str:
        return self.function.__name__


class HubAPI(NinjaAPI):
    """NinjaAPI with the function's name as operation id."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def operations_of(api: NinjaAPI) -> list[Declared]:
    """Every operation of the API's routers, in the order of their declaration. Raises NinjaHasChanged."""
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

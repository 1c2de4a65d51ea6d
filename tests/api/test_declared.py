"""What the hub reads inside django-ninja is there, and a Ninja that has changed is said in a sentence."""

import pytest
from ninja import NinjaAPI

from memoryhub.api.app import api
from memoryhub.api.declared import NinjaHasChanged, operations_of
from memoryhub.api.frame import needs


def test_every_operation_is_read_with_its_function_address_methods_and_needs() -> None:
    paths = api.get_openapi_schema(path_prefix="/v1/")["paths"]  # as Ninja itself makes its document
    documented = {(path.removeprefix("/v1/"), method) for path, address in paths.items() for method in address}
    operations = operations_of(api)
    assert {(one.path.lstrip("/"), method.lower()) for one in operations for method in one.methods} == documented
    assert {one.name for one in operations if not isinstance(one.needs, needs)} == {"openapi_document", "tool_calls"}
    assert all(callable(one.function) for one in operations)


def test_a_ninja_that_has_changed_is_named_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(NinjaAPI, "_get_bound_routers")
    with pytest.raises(NinjaHasChanged, match=r"django-ninja \d.* is not read by .*_get_bound_routers"):
        operations_of(api)

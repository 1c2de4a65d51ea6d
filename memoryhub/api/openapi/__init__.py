"""The OpenAPI 3.1 document: Ninja's description of the operations, completed with shared errors, headers, keys and
names."""

import copy
from typing import Any

from ninja import NinjaAPI

from memoryhub.api.declared import Declared, operations_of
from memoryhub.api.frame import Json, needs
from memoryhub.api.openapi import parts
from memoryhub.api.openapi.examples import example_of
from memoryhub.models import Access

METHODS = frozenset(("get", "post", "patch", "delete"))


def document(api: NinjaAPI) -> Json:
    """Return the document of an API, with every operation of its routers."""
    made = copy.deepcopy(dict(api.get_openapi_schema(path_prefix="v1/")))
    operations = {operation.name: operation for operation in operations_of(api)}
    for address in made["paths"].values():
        for method, told in address.items():
            _complete(told, method, operations[told["operationId"]])
    made["paths"] = {path: _in_order(address) for path, address in made["paths"].items()}
    components = made["components"]
    components["schemas"] = _plain(components["schemas"] | _schemas())
    for shape in components["schemas"].values():
        if shape.get("type") == "object" and shape.get("properties"):
            shape.setdefault("examples", [example_of(shape, components["schemas"])])
    components["securitySchemes"] = parts.SECURITY_SCHEMES
    components["parameters"] = parts.HEADERS_OF_REQUESTS
    components["headers"] = parts.HEADERS
    components["responses"] = parts.RESPONSES
    made["security"] = [{name: []} for name in parts.SECURITY_SCHEMES]
    made["servers"] = [{"url": "/"}]
    made["tags"] = [{"name": name, "description": about} for name, about in parts.TAGS.items()]
    return made


def _in_order(address: Json) -> Json:
    """Return a copy of `address`, which is {method: operation}.

    If PATCH is the same operation as POST, the PATCH gets its own id and summary.
    """
    details = {method: copy.deepcopy(operation) for method, operation in address.items()}
    if "patch" in details and "post" in details and details["patch"]["operationId"] == details["post"]["operationId"]:
        details["patch"]["operationId"] += "_by_patch"
        details["patch"]["summary"] += " (the same with PATCH)"
    return details


def _complete(told: Json, method: str, operation: Declared) -> None:
    """Add the shared parameters, headers and errors to `told`, the description of an operation."""
    is_open = "security" in told
    for parameter in told["parameters"]:
        if "$ref" not in parameter:
            _complete_parameter(parameter)
    if not is_open and parts.SESSION not in told["parameters"]:
        told["parameters"].append(parts.SESSION)
    good = {str(status): answer for status, answer in told["responses"].items() if int(status) < 400}
    for answer in good.values():
        answer.setdefault("headers", {}).setdefault("request-id", parts.REQUEST_ID)
    bad = {int(status) for status in told["responses"] if int(status) >= 400} | _errors(operation, method, is_open)
    told["responses"] = good | {str(status): {"$ref": parts.response(status)} for status in sorted(bad)}
    if "requestBody" in told:
        told["requestBody"] = _plain(told["requestBody"])


def _errors(operation: Declared, method: str, is_open: bool) -> set[int]:
    """Return the statuses of the errors that a request can get before the function of the operation is called.

    `is_open`: the operation needs no key.
    """
    asks = operation.needs
    found = {405, 413, 500}
    if not is_open:
        found |= {400, 401, 503}
    if method in ("post", "patch"):
        found.add(415)
    if "memory_store_id" in operation.path:
        found.add(404)
    if isinstance(asks, needs) and (asks.access != Access.READ or not asks.session or asks.all_stores or asks.whole):
        found.add(403)
    return found


def _complete_parameter(parameter: Json) -> None:
    schema = _plain(parameter["schema"])
    choices = schema.get("anyOf", [])
    if {"type": "null"} in choices:  # an absent parameter is not null
        left = [choice for choice in choices if choice != {"type": "null"}]
        schema = {**(left[0] if len(left) == 1 else {"anyOf": left}), **_without(schema, "anyOf", "default")}
    if parameter["in"] == "path":
        schema |= parts.IDS.get(parameter["name"], {})
    about = schema.pop("description", None) or parts.ABOUT.get(parameter["name"])
    if about:
        parameter["description"] = about
    parameter["schema"] = schema


def _schemas() -> Json:
    """Return the schemas to which only the shared parts of the document refer."""
    return parts.schemas()


def _plain(schema: Any) -> Any:
    """Return a schema without the titles that were generated from names."""
    if isinstance(schema, dict):
        return {
            name: value if name == "examples" else _plain(value)
            for name, value in schema.items()
            if not (name == "title" and isinstance(value, str))
        }
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema


def _without(schema: Json, *names: str) -> Json:
    return {name: value for name, value in schema.items() if name not in names}

"""Whether an answer of the API is one that its OpenAPI document names."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from memoryhub.api import app, openapi

Json = dict[str, Any]
OF_HTTP = {"content-type", "content-length", "date", "server", "vary", "cache-control", "x-content-type-options",
           "connection", "transfer-encoding"}  # fmt: skip
"""Headers of answers that no document of an API names."""


@cache
def document() -> Json:
    return openapi.document(app.api)


@cache
def _addresses() -> list[tuple[re.Pattern[str], Json]]:
    paths = document()["paths"]
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), methods) for path, methods in paths.items()]


def operation(method: str, url: str) -> Json | None:
    """What the document says of a request; of another method what it says of any."""
    path = url.partition("?")[0]
    for address, methods in _addresses():
        if address.fullmatch(path):
            found: Json = methods.get(method.lower()) or next(iter(methods.values()))
            return found
    return None


def problem(method: str, url: str, status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    """What is wrong with an answer, `headers` with small letters; None where all is as documented."""
    told = operation(method, url)
    if told is None:
        is_fine = status in (404, 400) or not url.startswith("/v1/")
        return None if is_fine else f"{url} is not documented and answers {status}"
    answer = _resolved(told["responses"].get(str(status)))
    if answer is None:
        return f"{method} {url} answers {status}, which is not documented"
    named = {name.lower(): _is_promised(name, status) for name in answer.get("headers", {})}
    missing = [name for name, is_promised in named.items() if is_promised and name not in headers]
    if missing or (headers.keys() - named.keys() - OF_HTTP):
        return f"{method} {url} {status} has not the headers {sorted(named)} but {sorted(headers)}"
    kind = headers.get("content-type", "").partition(";")[0]
    if kind not in answer.get("content", {}):
        return f"{method} {url} {status} has the content type {kind}, which is not documented"
    if kind != "application/json" or method == "HEAD":
        return None
    found = _validator(told["operationId"], str(status)).iter_errors(json.loads(body))
    return next((f"{method} {url} {status}: {error.message} at {error.instance_path}" for error in found), None)


def _is_promised(header: str, status: int) -> bool:
    """Headers of errors are always there; some of good answers only where they have something to say."""
    return status >= 400 or header == "request-id"


def _resolved(part: Json | None) -> Json | None:
    while part is not None and "$ref" in part:
        found: Any = document()
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


@cache
def _validator(operation_id: str, status: str) -> Any:
    told = next(
        told for methods in document()["paths"].values() for told in methods.values()
        if told["operationId"] == operation_id
    )  # fmt: skip
    answer = _resolved(told["responses"][status])
    assert answer is not None
    schema = answer["content"]["application/json"]["schema"]
    return jsonschema_rs.validator_for({**schema, "components": document()["components"]})

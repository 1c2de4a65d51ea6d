"""The OpenAPI document: valid, complete, and true of what the API answers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.api import app, urls
from memoryhub.api.declared import operations_of
from memoryhub.api.frame import needs
from memoryhub.models import Access
from tests.api import documented
from tests.api.harness import BY, Hub, new_agent, new_hub

Json = dict[str, Any]
METHODS = ("get", "post", "patch", "delete", "put")


@pytest.fixture(scope="module")
def document() -> Json:
    return documented.document()


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            yield method, path, told


def test_the_document_is_valid_and_served_without_a_key(document: Json, db: None) -> None:
    response = Client().get("/v1/openapi.json")
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    assert response.json() == json.loads(json.dumps(document))
    assert response.json()["openapi"] == "3.1.0"
    from schemathesis.specs.openapi.definitions import OPENAPI_31  # loading it takes a second

    errors = list(jsonschema_rs.validator_for(OPENAPI_31).iter_errors(response.json()))
    assert not errors, errors[0].message


def _addresses(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _addresses(pattern.url_patterns, here)
        elif here.startswith("v1/"):
            yield "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", here)


def test_every_address_is_in_it(document: Json) -> None:
    addresses = set(_addresses(get_resolver().url_patterns)) - {"/v1/benchmark/trivial"}
    assert len(addresses) > 15 and addresses == set(document["paths"])


def test_the_quick_way_finds_what_the_resolver_finds() -> None:
    assert len(app._BY_SHAPE) == len(app.ENDPOINTS), "two addresses look the same to it"
    for address, endpoint in app.ENDPOINTS.items():
        found = app.find(address.replace("{", "").replace("}", ""))
        names = re.findall(r"\{(\w+)\}", address)
        assert found is not None and found == (endpoint, {name: name for name in names})
    assert len(urls.urlpatterns) >= len(app.ENDPOINTS)
    for path in ("", "x", "memory_stores/", "memory_stores//archive", "memory_stores/x/archive/", "memory_stores/a/b"):
        assert app.find(path) is None, path


def test_every_operation_says_all_that_a_reader_needs(document: Json) -> None:
    ids = [told["operationId"] for _, _, told in operations(document)]
    assert len(ids) == len(set(ids))
    tags = {tag["name"] for tag in document["tags"]}
    for method, path, told in operations(document):
        where = f"{method} {path}"
        assert told["summary"] and told["description"], where
        assert set(told["tags"]) <= tags, where
        assert {"200", "405", "500"} <= set(told["responses"]), where
        for status, answer in told["responses"].items():
            content = documented._resolved(answer)["content"]  # type: ignore[index]
            assert content, f"{where} {status}"
            for kind, media in content.items():
                assert media["schema"], f"{where} {status}"
                if kind == "application/json" and path != "/v1/openapi.json":
                    assert "example" in media or "examples" in media or _examples(document, media["schema"]), where
        for parameter in told["parameters"]:
            assert documented._resolved(parameter)["description"], f"{where} {parameter}"  # type: ignore[index]


def _examples(document: Json, schema: Json) -> list[Any]:
    """The examples of a shape, or of those that it may be."""
    shape = documented._resolved(schema) or {}
    choices = [*shape.get("anyOf", []), *shape.get("oneOf", [])]
    return [*shape.get("examples", []), *(found for choice in choices for found in _examples(document, choice))]


def test_every_example_is_right(document: Json) -> None:
    checked = 0
    for name, schema in document["components"]["schemas"].items():
        validator = jsonschema_rs.validator_for({**schema, "components": document["components"]})
        for example in schema.get("examples", []):
            assert validator.is_valid(example), f"{name}: {next(validator.iter_errors(example)).message}"
            checked += 1
    for told in (*document["components"]["responses"].values(), *_contents(document)):
        for media in told["content"].values():
            validator = jsonschema_rs.validator_for({**media["schema"], "components": document["components"]})
            values = [item["value"] for item in media.get("examples", {}).values()]
            for example in [*values, *([media["example"]] if "example" in media else [])]:
                assert validator.is_valid(example), next(validator.iter_errors(example)).message
                checked += 1
    assert checked > 20


def _contents(document: Json) -> Iterator[Json]:
    for _, _, told in operations(document):
        if "requestBody" in told:
            yield told["requestBody"]
        yield from (answer for answer in told["responses"].values() if "content" in answer)


def test_what_an_operation_needs_is_in_its_errors(document: Json) -> None:
    found = {operation.name: operation for operation in operations_of(app.api)}
    for method, path, told in operations(document):
        asks = found[told["operationId"].removesuffix("_by_patch")].needs
        statuses = set(told["responses"])
        if isinstance(asks, needs):
            assert {"400", "401", "503"} <= statuses, path
            assert ("403" in statuses) >= (asks.access != Access.READ), path
        assert ("404" in statuses) >= ("{" in path), path
        assert ("415" in statuses) == (method in ("post", "patch")), path


def manager() -> Hub:
    """A store, and a key that may do everything."""
    hub = new_hub()
    hub.secret = keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.MANAGE, **BY)[1]
    return hub


def test_real_answers_are_as_the_document_says(db: None) -> None:
    hub = manager()
    here = f"/v1/memory_stores/{hub.store.id}"
    seen = []

    def ask(method: str, url: str, body: object = b"", **headers: str) -> Any:
        answer = hub.send(body, method=method, url=url, **headers)
        assert documented.problem(method, url, answer.status, answer.headers, answer.body) is None
        seen.append(answer.status)
        return answer.value if answer.headers["content-type"] == "application/json" else None

    ask("POST", here + "/tool_calls", hub.block(command="create", path="/memories/a.md", file_text="x"))
    ask("POST", here + "/tool_calls", hub.block(command="view", path="/memories/none.md"))
    ask("POST", here + "/tool_calls", {"role": "assistant", "content": [hub.block(command="view", path="/memories")]})
    ask("POST", here + "/tool_calls", {})
    made = ask("POST", here + "/memories", {"path": "/b/c.md", "content": "one"})
    ask("POST", here + "/memories", {"path": "/b/c.md", "content": "one"})
    one = f"{here}/memories/{made['id']}"
    ask("GET", one)
    ask("GET", one + "?view=basic")
    ask("POST", one, {"content": "two"})
    ask("PATCH", one, {"content": "3", "precondition": {"type": "content_sha256", "content_sha256": "0" * 64}})
    for query in ("", "?view=full", "?depth=1", "?path_prefix=/b/", "?depth=2"):
        ask("GET", f"{here}/memories{query}")
    versions = ask("GET", here + "/memory_versions")["data"]
    for version in versions:
        ask("GET", f"{here}/memory_versions/{version['id']}")
        ask("POST", f"{here}/memory_versions/{version['id']}/redact")
    for path in ("/search?query=two", "/audit_entries", "/audit_entries/1", "/memory_versions?limit=1"):
        ask("GET", here + path)
    ask("DELETE", one)
    for method, url in (("GET", here), ("GET", "/v1/memory_stores?limit=1"), ("GET", "/v1/memory_stores?limit=x"),
                        ("POST", here + "/archive"), ("PUT", here), ("DELETE", here), ("GET", here),
                        ("GET", "/v1/openapi.json")):  # fmt: skip
        ask(method, url)
    hub.secret = "mh_nobody"
    ask("GET", "/v1/memory_stores")
    assert {200, 400, 401, 404, 405, 409} <= set(seen)

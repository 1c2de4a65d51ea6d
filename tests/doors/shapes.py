"""The exact form of every object that the memory_stores API gives: its fields, their types, what may be null."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.api.harness import Answer

Check = Callable[[Any], bool]


def _id(prefix: str) -> Check:
    pattern = re.compile(prefix + "_[0-9A-HJKMNP-TV-Z]{26}")
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _moment(value: Any) -> bool:
    """RFC 3339 in UTC."""
    if not isinstance(value, str) or not value.endswith("Z"):
        return False
    return datetime.fromisoformat(value).tzinfo is not None


def _sha(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _path(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("/") and not value.endswith("/")


def _null(value: Any) -> bool:
    return value is None


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _pairs(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for pair in value.items() for each in pair)


def _is(expected: object) -> Check:
    return lambda value: value == expected


def _actor(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ACTORS and not _wrong(value, ACTORS[value["type"]])


def _items(value: Any) -> bool:
    return isinstance(value, list) and not any(of(item) for item in value)


def _is_agent(value: Any) -> bool:
    return isinstance(value, dict) and _id("agent")(value["id"]) and _text(value["name"]) and value["type"] == "agent"


RESOURCE: dict[str, Check] = {
    "type": _is("memory_store"), "memory_store_id": _id("memstore"), "name": _text, "description": _text,
    "instructions": _null, "access": lambda value: value in ("read_write", "read_only"), "mount_path": _path,
}  # fmt: skip

ACTORS: dict[str, dict[str, Check]] = {
    "api_actor": {"type": _text, "api_key_id": _id("apikey")},
    "session_actor": {"type": _text, "session_id": _text},
    "user_actor": {"type": _text, "user_id": _id("user")},
    "service_account_actor": {"type": _text, "service_account_id": _text},
}

OBJECTS: dict[str, dict[str, Check]] = {
    "memory_store": {
        "type": _text, "id": _id("memstore"), "name": _text, "description": _text, "metadata": _pairs,
        "created_at": _moment, "updated_at": _moment, "archived_at": _or_null(_moment),
    },
    "memory": {
        "type": _text, "id": _id("mem"), "memory_store_id": _id("memstore"), "memory_version_id": _id("memver"),
        "path": _path, "content": _or_null(_text), "content_sha256": _sha, "content_size_bytes": _size,
        "created_at": _moment, "updated_at": _moment,
    },
    "memory_prefix": {"type": _text, "path": lambda value: _text(value) and value[:1] == value[-1:] == "/"},
    "memory_version": {
        "type": _text, "id": _id("memver"), "memory_store_id": _id("memstore"), "memory_id": _id("mem"),
        "operation": lambda value: value in ("created", "modified", "deleted"), "path": _or_null(_path),
        "content": _or_null(_text), "content_sha256": _or_null(_sha), "content_size_bytes": _or_null(_size),
        "created_at": _moment, "created_by": _or_null(_actor), "redacted_at": _or_null(_moment),
        "redacted_by": _or_null(_actor),
    },
    "session": {
        "type": _text, "id": _id("sesn"), "title": _text, "agent": _is_agent, "status": _is("idle"),
        "resources": lambda value: isinstance(value, list) and not any(_wrong(one, RESOURCE) for one in value),
        "created_at": _moment, "updated_at": _moment, "archived_at": _null, "environment_id": _text,
        "deployment_id": _null, "budget": _null, "metadata": _pairs, "vault_ids": _is([]),
        "outcome_evaluations": _is([]), "stats": lambda value: value["duration_seconds"] >= 0, "usage": _is({}),
    },
    "memory_store_deleted": {"type": _text, "id": _id("memstore")},
    "memory_deleted": {"type": _text, "id": _id("mem")},
}  # fmt: skip

PAGE: dict[str, Check] = {
    "data": _items,
    "next_page": _or_null(lambda value: _text(value) and re.fullmatch(r"page_[\w.~-]+", value) is not None),
}


def of(value: Any) -> list[str]:
    """What the form of a good answer has wrong."""
    if not isinstance(value, dict):
        return [f"no object: {value!r}"]
    fields = OBJECTS.get(value.get("type", ""), PAGE)
    wrong = _wrong(value, fields)
    if value.get("type") == "memory_version":
        wrong += _of_version(value)
    return wrong


def _wrong(value: dict[str, Any], fields: dict[str, Check]) -> list[str]:
    if set(value) != set(fields):
        return [f"the fields are {sorted(value)} instead of {sorted(fields)}"]
    return [f"{name} may not be {value[name]!r:.300}" for name, check in fields.items() if not check(value[name])]


def _of_version(value: dict[str, Any]) -> list[str]:
    """What is null in a deleted version and in a redacted one."""
    redacted, deleted = value["redacted_at"] is not None, value["operation"] == "deleted"
    gone = {
        "path": redacted,
        "content_sha256": redacted or deleted,
        "content_size_bytes": redacted or deleted,
    }
    wrong = [f"{name} is {value[name]!r}" for name, null in gone.items() if (value[name] is None) != null]
    if (redacted or deleted) and value["content"] is not None:
        wrong.append("the text is still there")
    return wrong


def of_headers(answer: Answer) -> list[str]:
    """What every answer carries."""
    wrong = []
    if not re.fullmatch(r"req_\w+", answer.headers.get("request-id", "")):
        wrong.append("it carries no request-id")
    if answer.headers.get("content-type") != "application/json":
        wrong.append(f"its content type is {answer.headers.get('content-type')}")
    return wrong


def of_error(value: Any, answer: Answer, expected: str) -> list[str]:
    """What the envelope of an error has wrong, and the headers that the SDK's retries go by."""
    wrong = of_headers(answer)
    if set(value) != {"type", "error", "request_id"} or value["type"] != "error":
        return [*wrong, f"no envelope: {value!r}"]
    error = value["error"]
    taken = expected == "memory_path_conflict_error"
    more = {"conflicting_path": _path, "conflicting_memory_id": _id("mem")} if taken else {}
    wrong += _wrong(error, {"type": _is(expected), "message": lambda text: _text(text) and bool(text), **more})
    if value["request_id"] != answer.headers.get("request-id"):
        wrong.append("the request id of body and header differ")
    if answer.status == 409 and answer.headers.get("x-should-retry") != "false":
        wrong.append("the SDK would send it again: x-should-retry is not false")
    if answer.status == 405 and not answer.headers.get("allow"):
        wrong.append("Allow is missing")
    if answer.status == 429 and not answer.headers.get("retry-after"):
        wrong.append("retry-after is missing")
    return wrong

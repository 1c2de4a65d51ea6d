"""Cases of the memory_stores API as a table: what is asked, and what the specification says comes back."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.test import Client

from tests.api.harness import JSON, Answer
from tests.doors import shapes

_PLACE = re.compile(r"<([\w.]+)>")


class Absent:
    """In place of a body: there is none."""


ABSENT = Absent()


@dataclass(frozen=True, slots=True)
class Step:
    """One request and what its answer must be; `<name>` in strings stands for a value of the world's.

    `has` names values of the answer by their way through it (`data.0.path`); `keep` gives such values a name for the
    steps that follow. A `body` of bytes goes as it is.
    """

    method: str
    path: str
    body: object = ABSENT
    status: int = 200
    error: str = ""
    has: Mapping[str, object] = field(default_factory=dict)
    check: Callable[[Any], bool] | None = None
    key: str = "manage"
    headers: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence and the steps that show it."""

    name: str
    steps: tuple[Step, ...]


def case(name: str, *steps: Step) -> Case:
    return Case(name, steps)


def get(path: str, **options: Any) -> Step:
    return Step("GET", path, **options)


def post(path: str, body: object = ABSENT, **options: Any) -> Step:
    return Step("POST", path, body, **options)


def delete(path: str, **options: Any) -> Step:
    return Step("DELETE", path, **options)


INVALID: dict[str, Any] = {"status": 400, "error": "invalid_request_error"}
NO_KEY: dict[str, Any] = {"status": 401, "error": "authentication_error"}
FORBIDDEN: dict[str, Any] = {"status": 403, "error": "permission_error"}
NOT_FOUND: dict[str, Any] = {"status": 404, "error": "not_found_error"}
WRONG_METHOD: dict[str, Any] = {"status": 405, "error": "invalid_request_error"}
PATH_TAKEN: dict[str, Any] = {"status": 409, "error": "memory_path_conflict_error"}
CHANGED: dict[str, Any] = {"status": 409, "error": "memory_precondition_failed_error"}


def put_in(value: Any, names: Mapping[str, str]) -> Any:
    """The value with the world's values in the place of their names."""
    if isinstance(value, str):
        return _PLACE.sub(lambda found: names.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {put_in(key, names): put_in(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [put_in(each, names) for each in value]
    return value


def at(value: Any, way: str) -> Any:
    """What lies at the end of a way like `data.0.path`."""
    for name in way.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def run(case: Case, names: Mapping[str, str]) -> list[str]:
    """What is wrong with the answers, in sentences; whatever the case did is undone."""
    own = dict(names)
    client = Client(raise_request_exception=False)
    with transaction.atomic():
        for step in case.steps:
            answer = send(client, step, own)
            if wrong := mistakes(step, answer, own):
                break
            own |= {name: at(answer.value, way) for name, way in step.keep.items()}
        transaction.set_rollback(True)
    return [f"{case.name}: {step.method} {put_in(step.path, own)}: {each}" for each in wrong]


def send(client: Client, step: Step, names: Mapping[str, str]) -> Answer:
    """The answer to one step."""
    body = step.body
    data = body if isinstance(body, bytes) else b"" if body is ABSENT else json.dumps(put_in(body, names)).encode()
    secret = names[f"key.{step.key}"]
    headers = ({"authorization": f"Bearer {secret}"} if secret else {}) | put_in(step.headers, names)
    kind = headers.pop("content-type", JSON)
    response = client.generic(
        step.method, put_in(step.path, names), data, kind, headers=headers, CONTENT_LENGTH=str(len(data)),
        CONTENT_TYPE=kind,
    )  # fmt: skip
    return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)


def mistakes(step: Step, answer: Answer, names: Mapping[str, str]) -> list[str]:
    """What an answer has wrong: its status, its form, its values."""
    if answer.status != step.status:
        return [f"{answer.status} instead of {step.status}: {answer.body[:300]!r}"]
    value = answer.value
    if answer.status >= 400:
        wrong = shapes.of_error(value, answer, step.error)
    else:
        wrong = shapes.of(value) + shapes.of_headers(answer)
    for way, expected in put_in(step.has, names).items():
        try:
            found = at(value, way)
        except (KeyError, IndexError, TypeError, ValueError):
            wrong.append(f"there is no {way} in {json.dumps(value)[:400]}")
            continue
        if found != expected or type(found) is not type(expected):
            wrong.append(f"{way} is {found!r} instead of {expected!r}")
    if step.check is not None and not wrong and not step.check(value):
        wrong.append(f"the check fails for {json.dumps(value)[:600]}")
    return wrong

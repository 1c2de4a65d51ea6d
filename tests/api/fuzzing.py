"""Requests made up from the OpenAPI document, right ones and wrong ones, with ids that exist and ids that do not; each
answer has to be one that the document names."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import HUB, Access, AuditEntry, Memory, MemoryStore, MemoryVersion
from memoryhub.wsgi import application
from tests.api.harness import BY, Hub, new_agent, new_secret, new_store

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, allow_header_conformance,
]  # fmt: skip


@contextmanager
def _connection_kept() -> Iterator[None]:
    """Requests that come in without Django's test client would close the connection of the test's transaction."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)


PATHS = ("/a.md", "/notes/b.md", "/notes/new.md", "/notes", "/notes/deep/c.md", "/x/y/z.md", "/é.md", "/notes/", "")
KEPT = 6
"""So many stores there are to ask for; when one goes, another is made."""


@dataclass(slots=True)
class Fuzz:
    """A hub with stores to ask for, what it answered so far by operation and status, and what was wrong with that."""

    random: random.Random
    manager: str
    reader: str
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    pages: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begun(cls, number: int) -> "Fuzz":
        manager = keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.MANAGE, **BY)[1]
        reader = keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.READ, **BY)[1]
        return cls(random.Random(number), manager, reader)

    def run(self, requests: int) -> None:
        """Makes about so many requests, spread over all operations, half of them wrong on purpose."""
        with _connection_kept():
            schema = schemathesis.openapi.from_wsgi("/v1/openapi.json", application)
        operations: list[Any] = [result.ok() for result in schema.get_all_operations()]  # type: ignore[union-attr]
        share = max(1, requests // (2 * len(operations)))
        for number, (operation, mode) in enumerate(itertools.product(operations, GenerationMode)):
            self._fill()
            self._try(operation, mode, share, number)

    def told(self) -> str:
        """How often each operation answered what."""
        lines = [f"{count:6} {status} {operation}" for (operation, status), count in sorted(self.answers.items())]
        return "\n".join(["", *lines, f"{self.answers.total():6} in all", ""])

    def _try(self, operation: Any, mode: GenerationMode, share: int, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=share, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def once(case: Case) -> None:
            self.ask(case)

        try:
            once()
        except Exception as error:  # what cannot be wrong makes no wrong requests
            if "Unsatisfiable" not in type(error).__name__:
                raise

    def ask(self, case: Case) -> None:
        """Makes one request and looks at its answer."""
        self._make_real(case)
        with _connection_kept():
            response = case.call(headers=self._headers())
        self.answers[case.operation.label, response.status_code] += 1
        try:
            case.validate_response(response, checks=CHECKS)
        except (Failure, FailureGroup) as error:  # raised, it would be tried again, and the hub is another by then
            self.problems.setdefault(f"{case.operation.label} {response.status_code}", str(error)[:2000])
        if response.headers.get("content-type") == ["application/json"] and response.status_code == 200:
            page = response.json().get("next_page")
            if page:
                self.pages[case.operation.label] = page

    def _make_real(self, case: Case) -> None:
        """Most ids in the address become those of something that is there, most cursors and paths such as are known."""
        parts, query, body = case.path_parameters or {}, case.query or {}, case.body
        for name, id in self._there(parts).items():
            if name in parts and self.random.random() < 0.9:
                parts[name] = id
        if "page" in query and case.operation.label in self.pages and self.random.random() < 0.6:
            query["page"] = self.pages[case.operation.label]
        if isinstance(body, dict) and isinstance(body.get("path"), str) and self.random.random() < 0.7:
            body["path"] = self.random.choice(PATHS)

    def _there(self, parts: dict[str, Any]) -> dict[str, str]:
        """Ids that belong together."""
        if "seq" in parts:
            chain, seq = self.random.choice(AuditEntry.objects.exclude(chain=HUB).values_list("chain", "seq")[:200])
            return {"memory_store_id": chain, "seq": str(seq)}
        rows: Any = MemoryStore.objects.all()
        if "memory_id" in parts:
            rows = Memory.objects.filter(store__deleted_at=None, deleted_at=None)
        elif "memory_version_id" in parts:
            rows = MemoryVersion.objects.filter(store__deleted_at=None)
        row = rows.order_by("?").first()
        if row is None:
            return {}
        store = row.pk if isinstance(row, MemoryStore) else row.store_id
        return {"memory_store_id": store, "memory_id": row.pk, "memory_version_id": row.pk}

    def _headers(self) -> dict[str, str]:
        """Mostly the key that may do everything."""
        chance = self.random.random()
        if chance < 0.02:
            return {"x-api-key": "mh_nobody"}
        key = self.reader if chance < 0.1 else self.manager
        return {"Authorization": f"Bearer {key}"}

    def _fill(self) -> None:
        for _ in range(KEPT - MemoryStore.objects.active().filter(memory_count__gt=0).count()):
            limited = self.random.random() < 0.2
            store = new_store(limit_calls=20 if limited else None)
            hub = Hub(store, new_secret(store))
            for path in ("/memories/a.md", "/memories/notes/b.md", "/memories/notes/deep/c.md"):
                hub.call(command="create", path=path, file_text="one\ntwo\n")
            hub.call(command="str_replace", path="/memories/a.md", old_str="two", new_str="2")
            hub.call(command="delete", path="/memories/notes/b.md")

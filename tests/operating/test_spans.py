"""Spans of calls: they agree with the audit, belong to the trace of the caller, and wait while no one takes them."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from memoryhub import checks
from memoryhub.actions.core.audit import traced
from memoryhub.background.runner import Explained
from memoryhub.background.spans import BATCH, Spans
from memoryhub.models import HUB, AuditEntry, MemoryStore, User
from tests.operating.test_metrics import in_the_audit, load
from tests.support.fixtures import signed_in
from tests.support.long import tried

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass
class Collector:
    """A receiver of spans that can refuse them."""

    url: str = ""
    status: int = 200
    spans: list[Any] = field(default_factory=list)
    services: set[str] = field(default_factory=set)

    def took(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            named = [one.value.string_value for one in resource.resource.attributes if one.key == "service.name"]
            self.services.update(named)
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def attributes(self) -> list[dict[str, Any]]:
        return [
            {one.key: one.value.string_value or one.value.int_value for one in span.attributes} for span in self.spans
        ]


@pytest.fixture
def collector(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    here = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if here.status == 200:
                here.took(body)
            self.send_response(here.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", here.url)
    settings.MEMORYHUB_SPANS = True
    traced.take()
    yield here
    server.shutdown()
    server.server_close()


def send(spans: Spans) -> None:
    for _round in range(200):
        if spans.send(timezone.now()):
            return
    raise AssertionError("it does not end")


@pytest.mark.both_databases
def test_after_a_mixed_load_the_spans_are_the_audits_own_counts(
    store: MemoryStore, key: str, alice: User, collector: Collector
) -> None:
    """In the long form, some 10,000 calls."""
    spans = Spans()
    for number in range(tried(1_100, 3)):
        load(store, key, number)
        if number % 100 == 0:
            send(spans)
    signed_in(alice).get(f"/stores/{store.pk}")
    send(spans)
    found = collector.attributes()
    counted = Counter(
        ("other" if one["memoryhub.command"].startswith("dance") else one["memoryhub.command"], one["memoryhub.door"],
         one["memoryhub.outcome"])
        for one in found
    )  # fmt: skip
    expected = Counter({what: number for what, number in in_the_audit().items() if what[1] in ("tool", "api", "mcp")})
    assert counted == expected and counted.total() > 20
    assert {one["gen_ai.memory.store.id"] for one in found} == {store.pk} and collector.services == {"memoryhub"}
    entries = {entry.seq: entry for entry in AuditEntry.objects.exclude(chain=HUB).exclude(door="command")}
    for one, span in zip(found, collector.spans, strict=True):
        entry = entries.pop(one["memoryhub.audit.sequence"])
        assert one.get("gen_ai.memory.record.id") == entry.memory and one.get("gen_ai.tool.call.id") == entry.token
        assert span.end_time_unix_nano - span.start_time_unix_nano == entry.duration * 1_000
        assert span.start_time_unix_nano // 1_000 == round(entry.at.timestamp() * 1_000_000)
        assert (span.status.code == 2) == (not entry.ok)
        assert "notes" not in str(one), "a path says too much to another system"
    assert entries == {}


def view(store: MemoryStore, key: str, **headers: str) -> None:
    client = Client(headers={"Authorization": f"Bearer {key}", **headers})
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories"}}
    client.post(f"/v1/memory_stores/{store.pk}/tool_calls", block, content_type="application/json")


def test_a_span_belongs_to_the_trace_of_its_caller_or_begins_one(
    store: MemoryStore, key: str, collector: Collector
) -> None:
    spans = Spans()
    for headers in ({"traceparent": PARENT}, {}, {"traceparent": "nonsense"}, {"traceparent": PARENT[:-1] + "0"}):
        view(store, key, **headers)
    send(spans)
    one, two, three = collector.spans  # the caller of the last one did not want it
    assert one.trace_id.hex() == PARENT.split("-")[1] and one.parent_span_id.hex() == PARENT.split("-")[2]
    assert two.parent_span_id == three.parent_span_id == b"" and two.trace_id != three.trace_id
    assert one.name == "memory view"


def test_spans_that_nobody_takes_wait_and_are_sent_once(store: MemoryStore, key: str, collector: Collector) -> None:
    spans = Spans()
    collector.status = 400
    view(store, key)
    for _attempt in range(2):
        with pytest.raises(Explained, match="did not take"):
            spans.send(timezone.now())
    collector.status = 200
    send(spans)
    send(spans)
    assert len(collector.spans) == 1


@pytest.mark.both_databases
def test_more_calls_than_a_batch_wait_where_there_is_a_limit(
    store: MemoryStore, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans, at = Spans(), timezone.now()
    entry = AuditEntry.objects.of_chain(store.pk).get()
    monkeypatch.setattr("memoryhub.background.spans._entries", lambda places: dict.fromkeys(places, entry))
    for seq in range(3 * BATCH):
        traced.note(traced.Place(store.pk, seq, at), PARENT + "x" * 30_000)
    assert not spans.send(at) and not spans.noted and len(collector.spans) == BATCH
    send(spans)
    assert len(collector.spans) == 3 * BATCH and not collector.spans[0].parent_span_id
    assert not any(len(parent) > 200 for parent in traced.take().values())


def test_a_call_that_was_not_committed_has_no_span(store: MemoryStore, collector: Collector) -> None:
    spans, at = Spans(), timezone.now()
    traced.note(traced.Place(store.pk, 1, at), "")  # another entry has this seq
    spans.send(at)
    assert spans.noted
    spans.send(at + timedelta(minutes=1))
    assert not spans.noted and collector.spans == []


def test_without_the_variable_nothing_is_remembered(store: MemoryStore, key: str, settings: Any) -> None:
    settings.MEMORYHUB_SPANS = False
    traced.take()
    view(store, key, traceparent=PARENT)
    assert traced.take() == {}


def test_packages_that_are_missing_are_an_error_at_start(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_SPANS = True
    assert "memoryhub.E035" not in {message.id for message in checks.environment()}
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)  # as if it were not installed
    assert "memoryhub.E035" in {message.id for message in checks.environment()}

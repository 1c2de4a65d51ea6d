"""Sends a span of each call of an agent to OpenTelemetry, made from the committed audit entry of the call.

The standard variables of OpenTelemetry (`OTEL_…`) say where the spans go, and which are sampled.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memoryhub.actions.core.audit import traced
from memoryhub.actions.core.audit.traced import Place
from memoryhub.actions.transfer.streaming import outcome_of
from memoryhub.background.runner import Explained
from memoryhub.models import AuditEntry

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

BATCH = 500
"""The most spans that are sent at once, and the most entries that are read at once."""
PATIENCE = timedelta(seconds=30)
"""The time after which an entry that is still not committed is forgotten."""
NO_ERROR = ("ok", "proposed")


class Spans:
    """What this process has not sent yet: `noted` entries for which no span is made yet, and spans that are
    `waiting`."""

    def __init__(self) -> None:
        self.noted: dict[Place, str] = {}
        self.waiting: list[ReadableSpan] = []
        self.tracer: Any = None
        self.exporter: Any = None

    def send(self, now: datetime) -> bool:
        """Make spans of noted entries and send them. Return False if more spans are left to send.

        Raises Explained if OpenTelemetry's server did not accept the spans.
        """
        self.noted |= traced.take(BATCH - len(self.noted) if not self.waiting else 0)  # others wait where a limit is
        if not self.noted and not self.waiting:
            return True
        if self.tracer is None:
            self._begin()
        read = len(self.noted)
        if not self.waiting:
            self._read(now)
        if self.waiting and not self._export():
            raise Explained("The receiver of spans did not take them; the hub’s log has the details.")
        return not self.waiting and (read < BATCH or len(self.noted) == read)

    def _begin(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        resource = Resource.create()
        if str(resource.attributes["service.name"]).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "memoryhub"}))
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(_collector(self.waiting))
        self.tracer, self.exporter = provider.get_tracer("memoryhub"), OTLPSpanExporter()

    def _export(self) -> bool:
        from opentelemetry.sdk.trace.export import SpanExportResult

        if self.exporter.export(self.waiting[:BATCH]) is not SpanExportResult.SUCCESS:
            return False
        del self.waiting[:BATCH]
        return True

    def _read(self, now: datetime) -> None:
        """Make a span of each noted entry that is committed. Forget an entry that is older than PATIENCE and still
        not committed."""
        places = list(self.noted)[:BATCH]
        found = _entries(places)
        for place in places:
            entry = found.get(place)
            if entry is not None:
                self._add(entry, self.noted.pop(place))
            elif abs(now - place.at) > PATIENCE:
                del self.noted[place]

    def _add(self, entry: AuditEntry, parent: str) -> None:
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        begun = int(entry.at.timestamp()) * 1_000_000_000 + entry.at.microsecond * 1_000
        outcome = outcome_of(entry)
        span = self.tracer.start_span(
            f"memory {entry.command or 'other'}"[:100],
            context=extract({"traceparent": parent}),
            kind=SpanKind.SERVER,
            attributes=dict(_attributes(entry, outcome)),
            start_time=begun,
        )
        if outcome not in NO_ERROR:
            span.set_status(Status(StatusCode.ERROR, outcome))
        span.end(begun + entry.duration * 1_000)


def _collector(spans: "list[ReadableSpan]") -> Any:
    """Return a processor that collects the spans that have ended and are sampled."""
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

    class Collector(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if span.context is not None and span.context.trace_flags.sampled:
                spans.append(span)

    return Collector()


def _entries(places: Iterable[Place]) -> dict[Place, AuditEntry]:
    """Return {place: entry} for those of `places` whose entry is committed."""
    seqs: dict[str, list[int]] = {}
    for place in places:
        seqs.setdefault(place.chain, []).append(place.seq)
    return {
        Place(chain, entry.seq, entry.at): entry
        for chain, of_chain in seqs.items()
        for entry in AuditEntry.objects.of_chain(chain).of_seqs(of_chain).in_brief()
    }


def _attributes(entry: AuditEntry, outcome: str) -> Iterable[tuple[str, str | int]]:
    """Yield the attributes of a span: those that OpenTelemetry's conventions name, then the hub's own. No attribute
    has the text or the path of a memory."""
    yield "gen_ai.operation.name", "execute_tool"
    yield "gen_ai.tool.name", "memory"
    yield "gen_ai.memory.store.id", entry.chain
    named = {
        "gen_ai.memory.record.id": entry.memory,
        "gen_ai.tool.call.id": entry.token,
        "gen_ai.conversation.id": entry.session,
        "gen_ai.agent.id": entry.author_id,
        "gen_ai.agent.name": entry.label,
        "error.type": None if outcome in NO_ERROR else outcome,
    }
    yield from ((name, value) for name, value in named.items() if value)
    yield "memoryhub.command", (entry.command or "other")[:100]
    yield "memoryhub.door", entry.door
    yield "memoryhub.outcome", outcome
    yield "memoryhub.audit.sequence", entry.seq

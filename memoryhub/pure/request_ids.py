"""The id of the request that a thread answers, for its lines in the log, and the trace to which the request belongs."""

from contextvars import ContextVar

current: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request, which is also in the header `request-id` of the answer. It is empty in the background work."""

trace: ContextVar[str | None] = ContextVar("trace", default=None)
"""The header `traceparent` of the request (W3C Trace Context); empty if the request has none, None if the hub sends no
spans."""

"""The id of the request that a thread answers, for the log, and the trace that the request belongs to."""

from contextvars import ContextVar

current: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request. It is also in the header `request-id` of the answer, and empty in the background work."""

trace: ContextVar[str | None] = ContextVar("trace", default=None)
"""The header `traceparent` of the request (W3C Trace Context), empty if it has none. None: the hub sends no spans."""

"""What a thread knows of the request that it answers: the request's id, for the log, and its trace."""

from contextvars import ContextVar

current: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request, which is also in the header `request-id` of the answer. It is empty in the background work."""

trace: ContextVar[str | None] = ContextVar("trace", default=None)
"""The header `traceparent` of the request (W3C Trace Context); empty if the request has none, None if the hub sends no
spans."""

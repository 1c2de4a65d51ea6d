"""The id of the request that a thread answers, for its lines in the log."""

from contextvars import ContextVar

current: ContextVar[str] = ContextVar("request_id", default="")
"""The id is also in the header `request-id` of the answer. It is empty in the background work."""

"""The errors with which the doors for programs refuse a request."""

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.log import log_response

from memoryhub.actions.memories.calls import KeyRevoked, NotRun, TooManyAtOnce, TooManyCalls

_NO_RETRY = {"x-should-retry": "false"}
"""A header that stops clients from repeating a request by themselves after a 409, because it would fail again."""


class Problem(Exception):
    """A refused request: HTTP status, the error's type and message, headers, and further keys for the JSON of the
    error."""

    def __init__(
        self,
        status: int,
        type: str,
        message: str,
        headers: dict[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.type, self.message, self.headers = status, type, message, headers or {}
        self.details = details or {}

    @classmethod
    def invalid(cls, message: str, status: int = 400) -> "Problem":
        return cls(status, "invalid_request_error", message)

    @classmethod
    def too_large(cls) -> "Problem":
        """Return the error for a body larger than the hub's own limit."""
        return cls(
            413,
            "request_too_large",
            f"The body is larger than {settings.MEMORYHUB_BODY_BYTES} bytes, which is the limit.",
        )

    @classmethod
    def too_large_for_store(cls, limit: int) -> "Problem":
        return cls(
            413,
            "request_too_large",
            f"The body is larger than {limit} bytes, which is the limit of this memory store.",
        )

    @classmethod
    def not_run(cls, error: NotRun) -> "Problem":
        """Return the error for calls that were not run: the key is revoked, there are too many calls, or the audit is
        full."""
        if isinstance(error, KeyRevoked):
            return cls.no_key()
        if isinstance(error, TooManyCalls):
            return cls.too_many_calls(error.limit, error.wait)
        if isinstance(error, TooManyAtOnce):
            return cls.too_many_at_once(error.limit, error.calls)
        return cls.audit_full(error.limit)

    @classmethod
    def too_many_calls(cls, limit: int, wait: int) -> "Problem":
        """Return the error for a key that made too many calls. The key may call again after `wait` whole seconds."""
        message = (
            f"This key may make {limit} calls in 60 seconds to this memory store. Nothing was run; wait {wait} s. "
            "A message counts as many calls as it has tool_use blocks."
        )
        return cls(429, "rate_limit_error", message, {"Retry-After": str(wait)})

    @classmethod
    def too_many_at_once(cls, limit: int, calls: int) -> "Problem":
        """Return the error for a message with more `calls` than a key may make in 60 seconds (`limit`).

        It is no 429, because no retry could succeed.
        """
        message = (
            f"The message has {calls} memory calls, and a key may make {limit} in 60 seconds to this memory store. "
            f"Nothing was run: split the message; at most {limit} are taken in one."
        )
        return cls(400, "invalid_request_error", message, details={"most_calls": limit})

    @classmethod
    def audit_full(cls, limit: int) -> "Problem":
        """Return the error for a full audit. A call that cannot be recorded is not run, and a retry would fail too."""
        message = (
            f"The audit of this memory store has reached its limit of {limit} bytes. Nothing was run: an administrator "
            "can raise the limit, or let retention remove the oldest audit entries."
        )
        return cls(507, "api_error", message, _NO_RETRY)

    @classmethod
    def needs_second_person(cls) -> "Problem":
        """Return the error for an act that cannot be done with a key, because this hub wants a second person for it."""
        message = "This hub wants a second person for this. A person asks for it on a page of the hub; a key cannot."
        return cls(403, "permission_error", message)

    @classmethod
    def disk_full(cls) -> "Problem":
        message = "The disk is full: nothing can be stored. Reading and deleting still work."
        return cls(503, "overloaded_error", message, {"Retry-After": "30"})

    @classmethod
    def method(cls, allowed: str) -> "Problem":
        return cls(405, "invalid_request_error", f"This address answers {allowed} only.", {"Allow": allowed})

    @classmethod
    def no_key(cls, how: str = "") -> "Problem":
        """Return the error for a request without a valid key. `how` says how the key ended, if it was valid before."""
        needed = "A valid key is needed: `Authorization: Bearer mh_…` or `x-api-key: mh_…`."
        return cls(401, "authentication_error", f"{how} {needed}".strip(), {"WWW-Authenticate": "Bearer"})

    @classmethod
    def forbidden(cls, message: str) -> "Problem":
        return cls(403, "permission_error", message)

    @classmethod
    def plain_http(cls) -> "Problem":
        """Return the error for a plain http request to an https hub. The request is not redirected, because it may
        contain a key."""
        why = "The hub answers only over https. A key that was sent over http may have been read: revoke it."
        return cls.forbidden(why)

    @classmethod
    def not_found(cls, message: str) -> "Problem":
        return cls(404, "not_found_error", message)

    @classmethod
    def conflict(cls, type: str, message: str) -> "Problem":
        """Return the error for a request that conflicts with the current state, which a retry would not change."""
        return cls(409, type, message, _NO_RETRY)

    @classmethod
    def precondition(cls, message: str) -> "Problem":
        """Return the error for a memory whose text is not the text that the request expects."""
        return cls.conflict("memory_precondition_failed_error", message)

    @classmethod
    def path_conflict(cls, message: str, path: str | None, memory: str | None) -> "Problem":
        """Return the error for a path that is taken. `path` is the conflicting path; `memory` is the id of the memory
        there, or None."""
        details = {"conflicting_path": path, "conflicting_memory_id": memory}
        return cls(409, "memory_path_conflict_error", message, _NO_RETRY, details)

    @classmethod
    def no_store(cls) -> "Problem":
        return cls(404, "not_found_error", "There is no such memory store, or this key does not reach it.")


REUSED = "the id of the call was used before for another input"
"""The reason that the audit records for a request whose token was used before for another input."""


def reused(token: str) -> str:
    """Return the sentence for a token that was used before for another input."""
    return f"{json.dumps(token)} was used before for another input; nothing was run. Send a new call under a new id."


def log_refusal(request: HttpRequest, response: HttpResponse, request_id: str) -> None:
    """Log an answer with a status of 400 or more, with the request's id; Django then does not log it again."""
    if response.status_code >= 400:
        message = "%s: %s (%s)"
        log_response(message, response.reason_phrase, request.path_info, request_id, request=request, response=response)

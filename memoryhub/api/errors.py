"""The errors of the machines' door."""

from django.conf import settings


class Problem(Exception):
    """A request that is refused: HTTP status, the envelope's type and message, and headers of the answer."""

    def __init__(self, status: int, type: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.type, self.message, self.headers = status, type, message, headers or {}

    @classmethod
    def invalid(cls, message: str, status: int = 400) -> "Problem":
        return cls(status, "invalid_request_error", message)

    @classmethod
    def too_large(cls) -> "Problem":
        """For the hub's own limit, which no store's can pass."""
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
    def too_many_calls(cls, limit: int, wait: int) -> "Problem":
        """`wait`: after so many whole seconds they may be made."""
        message = (
            f"This key may make {limit} calls in 60 seconds to this memory store. Nothing was run; wait {wait} s. "
            "A message counts as many calls as it has tool_use blocks."
        )
        return cls(429, "rate_limit_error", message, {"Retry-After": str(wait)})

    @classmethod
    def method(cls, allowed: str) -> "Problem":
        return cls(405, "invalid_request_error", f"This address answers {allowed} only.", {"Allow": allowed})

    @classmethod
    def no_key(cls) -> "Problem":
        return cls(
            401, "authentication_error", "A valid key is needed: `Authorization: Bearer mh_…` or `x-api-key: mh_…`.",
            {"WWW-Authenticate": "Bearer"},
        )  # fmt: skip

    @classmethod
    def forbidden(cls, message: str) -> "Problem":
        return cls(403, "permission_error", message)

    @classmethod
    def no_store(cls) -> "Problem":
        return cls(404, "not_found_error", "There is no such memory store, or this key does not reach it.")

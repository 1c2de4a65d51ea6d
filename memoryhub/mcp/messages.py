"""JSON-RPC messages: parses one request or notification, and writes one result or error."""

from dataclasses import dataclass, field
from typing import Any

from memoryhub.pure import compact_json, strict_json

Json = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RATE_LIMITED = -32029
"""An error code from the range that JSON-RPC reserves for servers. Clients try again after it, but not after
INVALID_REQUEST."""
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

LONGEST_METHOD = 128

_encode = compact_json.writer()


class Refused(Exception):
    """An error of the protocol: code, message, HTTP status, and the headers of the answer."""

    def __init__(
        self,
        code: int,
        message: str,
        status: int = 400,
        *,
        data: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data, self.headers = code, message, status, data, headers or {}


@dataclass(frozen=True, slots=True)
class Message:
    """A valid message. `id` is None in a notification. `is_response` is true for a response, which the hub ignores."""

    method: str
    params: Json = field(default_factory=dict)
    id: str | int | None = None
    is_response: bool = False

    @property
    def meta(self) -> Json:
        """Return the protocol's own metadata (`_meta`) from the parameters; {} if there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def read(body: bytes) -> Message:
    """Return the message in a body; raises Refused."""
    try:
        value = strict_json.loads(body, is_request=True)
    except strict_json.Malformed as error:
        raise Refused(PARSE_ERROR, str(error)) from None
    if isinstance(value, list):
        raise Refused(INVALID_REQUEST, "Batches are not part of this protocol: send each message separately.")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'The body must be one JSON-RPC message: an object with "jsonrpc": "2.0".')
    if strict_json.may_be_doubtful(body) and strict_json.doubtful(_without_arguments(value)):
        raise Refused(INVALID_REQUEST, "A string outside the arguments has an unpaired surrogate or a NUL character.")
    if "method" not in value and ("result" in value or "error" in value):
        return Message("", is_response=True)
    return Message(_method(value), _params(value), _id(value) if "id" in value else None)


def _method(value: Json) -> str:
    method = value.get("method")
    if not isinstance(method, str) or not 1 <= len(method) <= LONGEST_METHOD:
        raise Refused(INVALID_REQUEST, f"A message needs a `method`: a string of 1 to {LONGEST_METHOD} characters.")
    return method


def _params(value: Json) -> Json:
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise Refused(INVALID_REQUEST, "The `params` of a message must be an object.")
    return params


def _id(value: Json) -> str | int:
    id = value["id"]
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise Refused(INVALID_REQUEST, "The `id` of a request must be a string or an integer.")
    return id


def _without_arguments(value: Json) -> Json:
    """Return a message without the tool's arguments. The tool itself checks its arguments for surrogates and NUL."""
    params = value.get("params")
    if not isinstance(params, dict):
        return value
    return {**value, "params": {key: item for key, item in params.items() if key != "arguments"}}


def result(id: str | int | None, value: Json) -> str:
    """Return the answer to a request, as JSON."""
    return _encode({"jsonrpc": "2.0", "id": id, "result": value})


def error(id: str | int | None, refused: Refused) -> str:
    """Return the answer to a refused request, as JSON; the id is null if it could not be read."""
    problem: Json = {"code": refused.code, "message": refused.message}
    if refused.data is not None:
        problem["data"] = refused.data
    return _encode({"jsonrpc": "2.0", "id": id, "error": problem})

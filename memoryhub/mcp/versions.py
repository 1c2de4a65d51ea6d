"""The supported versions of the protocol, and the headers that each requires of a request.

Up to version 2025-11-25, a client begins with `initialize`, and then names the agreed version in a header. Since
version 2026-07-28, nothing is agreed: each request names its version, its method and its tool in headers.
"""

import base64
import binascii
import re
from collections.abc import Mapping

from memoryhub.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Message,
    Refused,
)

STATELESS = "2026-07-28"
LATEST_AGREED = "2025-11-25"
AGREED = ("2025-06-18", LATEST_AGREED)
SUPPORTED = (STATELESS, *reversed(AGREED))

META = "io.modelcontextprotocol/"
VERSION_KEY = META + "protocolVersion"
CAPABILITIES_KEY = META + "clientCapabilities"
SERVER_KEY = META + "serverInfo"

_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


def version_of(headers: Mapping[str, str], message: Message) -> str:
    """Return the version of the protocol in which to answer a message. Raises Refused if the headers do not match the
    message.

    Without the header MCP-Protocol-Version, return the oldest version; raise Refused if the message shows that its
    version is newer.
    """
    header = headers.get("MCP-Protocol-Version")
    if header is None:
        if VERSION_KEY in message.meta or message.method == "server/discover":
            raise Refused(HEADER_MISMATCH, "The header MCP-Protocol-Version is missing.")
        return AGREED[0]
    if message.id is not None and header not in AGREED:
        _check_envelope(headers, header, message)
    if header not in SUPPORTED:
        raise unsupported(header)
    return header


def unsupported(requested: str) -> Refused:
    """Return the error for an unsupported version, with a list of the supported versions."""
    return Refused(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        data={"supported": list(SUPPORTED), "requested": requested[:64]},
    )


def status_of(refused: Refused, version: str) -> int:
    """Return the HTTP status for an error of a method.

    For versions before STATELESS, it is always 200: clients of these versions do not read the body of any other answer.
    """
    if version == STATELESS:
        return 404 if refused.code == METHOD_NOT_FOUND else refused.status
    return 200


def agreed_on(requested: object) -> str:
    """Return the version to answer `initialize` with: the `requested` one if it is in AGREED, else LATEST_AGREED."""
    return requested if isinstance(requested, str) and requested in AGREED else LATEST_AGREED


def _check_envelope(headers: Mapping[str, str], header: str, message: Message) -> None:
    """Raise Refused unless the headers of a stateless request match its message: intermediaries read only the
    headers."""
    if header == STATELESS or VERSION_KEY in message.meta:
        missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in message.meta]
        if missing:
            raise Refused(INVALID_PARAMS, f"`params._meta` lacks {' and '.join(missing)}.")
        if message.meta[VERSION_KEY] != header:
            raise Refused(HEADER_MISMATCH, "The header MCP-Protocol-Version is not the version in `params._meta`.")
        if headers.get("Mcp-Method") != message.method:
            raise Refused(HEADER_MISMATCH, "The header Mcp-Method is not the `method` of the message.")
        name = message.params.get("name")
        if message.method == "tools/call" and name is not None and decoded(headers.get("Mcp-Name")) != name:
            raise Refused(HEADER_MISMATCH, "The header Mcp-Name is not the `name` of the tool.")


def decoded(value: str | None) -> str | None:
    """Return a header's value, decoded if it has the form `=?base64?…?=`.

    Return None for None, and for a text in this form that is not canonical Base64 of UTF-8.
    """
    match = _ENCODED.fullmatch(value or "")
    if value is None or match is None:
        return value
    try:
        raw = base64.b64decode(match[1], validate=True)
        text = raw.decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if base64.b64encode(raw).decode() == match[1] else None

"""Signatures by the Standard Webhooks specification. The secrets are derived and never stored."""

import base64
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"


def secret_of(audit_key: bytes, webhook_id: str, generation: int) -> str:
    """Return the secret of a webhook, in the form that its receiver needs. Each rotation adds 1 to `generation`."""
    name = f"webhook secret\0{webhook_id}\0{generation}".encode()
    return PREFIX + base64.b64encode(hmac.digest(audit_key, name, "sha256")).decode()


def signature(secret: str, message_id: str, timestamp: int, body: str) -> str:
    """Return a signature: `v1,` and the base64 of an HMAC-SHA256 over the message's id, its time and its body.

    `timestamp` is the time in seconds.
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, f"{message_id}.{timestamp}.{body}".encode(), "sha256")).decode()


def headers(secrets: Sequence[str], message_id: str, timestamp: int, body: str) -> dict[str, str]:
    """Return the headers of a delivery, with a signature for each valid secret, so that a secret can be replaced
    without a gap."""
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(secret, message_id, timestamp, body) for secret in secrets),
    }

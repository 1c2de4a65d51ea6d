"""Codes of authenticator apps (RFC 6238): six digits from a secret and the time, a new code each half minute."""

import base64
import hashlib
import hmac
import secrets
from datetime import datetime
from urllib.parse import quote

PERIOD, DIGITS = 30, 6
AROUND = 1
"""The number of periods by which the clock of a person's authenticator app may be wrong."""


def new_secret() -> str:
    """Return a new secret in the form that people can type into an app."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code_of(secret: str, step: int) -> str:
    """Return the code of the period `step`. Periods of half a minute are numbered from 1970 on."""
    mac = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1)
    start = mac[-1] & 15
    number = int.from_bytes(mac[start : start + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def step_of(secret: str, code: str, at: datetime, after: int) -> int | None:
    """Return the period of a code.

    None if the code is wrong, or if its period is not after `after`, the period of the code that was used last.
    """
    now = int(at.timestamp()) // PERIOD
    for step in range(max(now - AROUND, after + 1), now + AROUND + 1):
        if hmac.compare_digest(code_of(secret, step).encode(), code.encode()):
            return step
    return None


def address_of(secret: str, account: str, issuer: str) -> str:
    """Return the `otpauth:` address that an authenticator app reads from a QR code."""
    return f"otpauth://totp/{quote(issuer)}:{quote(account)}?secret={secret}&issuer={quote(issuer)}"

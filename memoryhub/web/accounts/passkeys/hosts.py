"""Whether browsers offer passkeys at the address of the hub."""

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings


def are_on() -> bool:
    """Return whether the hub's address allows passkeys. Browsers offer no passkeys for an IP address."""
    host = urlsplit(settings.MEMORYHUB_URL).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(host)
    return False

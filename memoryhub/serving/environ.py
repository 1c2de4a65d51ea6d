"""A request as granian describes it, as the WSGI environment that Django reads."""

from functools import lru_cache
from typing import Any

UNREADABLE = "\x80"
"""Stands for the value of a header that is not ASCII: no check of a header lets it through."""


def environ_of(scope: Any) -> dict[str, Any]:
    """Everything but the body. A header that was sent several times has its values joined; one with an underscore in
    its name is left out, because Django could not tell it from the one with a hyphen."""
    server, _, port = scope.server.rpartition(":")
    environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "REMOTE_ADDR": address_of(scope.client),
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": "HTTP/" + scope.http_version,
        "wsgi.url_scheme": scope.scheme,
    }
    headers = scope.headers
    seen = set()
    for name, value in headers.items():
        key = _key_of(name)
        seen.add(name)
        if key in environ:
            environ[key] += ("; " if name == "cookie" else ",") + value
        else:
            environ[key] = value
    if len(seen) != len(headers):
        environ |= {_key_of(name): UNREADABLE for name in headers.keys() if name not in seen}  # noqa: SIM118
    environ.pop("", None)
    return environ


@lru_cache(maxsize=512)
def _key_of(name: str) -> str:
    """The variable of a header; "" for one that is left out."""
    if "_" in name:
        return ""
    variable = name.upper().replace("-", "_")
    return variable if variable in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_" + variable


def address_of(client: str) -> str:
    """The address without the port: `127.0.0.1:80` is 127.0.0.1, and `[::1]:80` is ::1."""
    return client.rpartition(":")[0].strip("[]")

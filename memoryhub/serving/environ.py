"""Turns granian's description of a request into the WSGI environment that Django reads."""

from functools import lru_cache
from typing import Any

MOST_OF_HEADERS = 32 * 1024
"""The most characters of all header values together. Django needs quadratic time to parse some headers."""
UNREADABLE = "\x80"
"""Replaces the value of a header that is not ASCII; every check of a header refuses it."""


def environ_of(scope: Any) -> dict[str, Any]:
    """Return the WSGI environment of a request, without the body.

    The values of a repeated header are joined. A header with an underscore in its name is left out.
    """
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
        # In the environment, a header with an underscore would have the name of one with a hyphen.
        key = _key_of(name)
        seen.add(name)
        if key in environ:
            environ[key] += ("; " if name == "cookie" else ",") + value
        else:
            environ[key] = value
    if "\\" in environ.get("HTTP_COOKIE", ""):
        environ["HTTP_COOKIE"] = _without_escapes(environ["HTTP_COOKIE"])
    if len(seen) != len(headers):
        environ |= {_key_of(name): UNREADABLE for name in headers.keys() if name not in seen}  # noqa: SIM118
    environ.pop("", None)
    return environ


def _without_escapes(cookies: str) -> str:
    """Return a Cookie header without the cookies that contain a backslash. No cookie of the hub contains one.

    Before Python 3.11.10 and 3.12.6, it takes minutes to parse such a cookie of 100 KB.
    """
    return ";".join(cookie for cookie in cookies.split(";") if "\\" not in cookie)


def is_too_large(environ: dict[str, Any]) -> bool:
    """Return whether the headers have more than MOST_OF_HEADERS characters, which no client needs."""
    address = len(environ["PATH_INFO"]) + len(environ["QUERY_STRING"])
    return sum(map(len, environ.values())) - address > MOST_OF_HEADERS


@lru_cache(maxsize=512)
def _key_of(name: str) -> str:
    """Return the name that a header has in the environment; "" for a header that is left out."""
    if "_" in name:
        return ""
    variable = name.upper().replace("-", "_")
    return variable if variable in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_" + variable


def address_of(client: str) -> str:
    """Return the address of a client without its port: 127.0.0.1 for `127.0.0.1:80`, and ::1 for `[::1]:80`."""
    return client.rpartition(":")[0].strip("[]")

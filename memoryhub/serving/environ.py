"""A request as granian describes it, as the WSGI environment that Django reads."""

from functools import lru_cache
from typing import Any

MOST_OF_HEADERS = 32 * 1024
"""Characters that all values of headers have together: Django reads some of them in time that grows with the square."""
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
    if "\\" in environ.get("HTTP_COOKIE", ""):
        environ["HTTP_COOKIE"] = _without_escapes(environ["HTTP_COOKIE"])
    if len(seen) != len(headers):
        environ |= {_key_of(name): UNREADABLE for name in headers.keys() if name not in seen}  # noqa: SIM118
    environ.pop("", None)
    return environ


def _without_escapes(cookies: str) -> str:
    """A Cookie header without the cookies that have a backslash in them: none of the hub's has one.

    Python before 3.11.10 and 3.12.6 takes time that grows with the square of the backslashes to read a quoted value:
    minutes for one header of 100 KB, before anybody has signed in.
    """
    return ";".join(cookie for cookie in cookies.split(";") if "\\" not in cookie)


def is_too_large(environ: dict[str, Any]) -> bool:
    """Whether the headers are more than anybody needs to send."""
    address = len(environ["PATH_INFO"]) + len(environ["QUERY_STRING"])
    return sum(map(len, environ.values())) - address > MOST_OF_HEADERS


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

"""Reads the URLs of the hub, of its database and of its mail server from the environment."""

from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import dj_database_url


def parts_of(url: str) -> SplitResult:
    """Return the parts of a URL. For an invalid URL all parts are empty; a system check reports it."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def database_of(url: str) -> dict[str, Any]:
    """Return Django's settings for the URL of a database.

    For a wrong URL, these settings name the dummy backend; a system check reports the URL.
    """
    try:
        database = dict(dj_database_url.parse(url)) if "," not in parts_of(url).netloc else _with_several_hosts(url)
    except (ValueError, KeyError):
        database = {"ENGINE": ""}
    if str(database["ENGINE"]).endswith("sqlite3") and database.get("NAME") in ("", ":memory:"):
        database = {"ENGINE": ""}  # the processes of a hub must share one database
    known = ("django.db.backends.sqlite3", "django.db.backends.postgresql")
    return database if database["ENGINE"] in known else {"ENGINE": "django.db.backends.dummy"}


def _with_several_hosts(url: str) -> dict[str, Any]:
    """Return Django's settings for a URL with several hosts, such as postgres://user@one:5432,two/name."""
    parts = parts_of(url)
    user, at, hosts = parts.netloc.rpartition("@")
    named = [host.rpartition(":")[::2] if ":" in host else (host, "") for host in hosts.split(",")]
    if not all(host and (port == "" or port.isdigit()) for host, port in named):
        raise ValueError
    database = dict(dj_database_url.parse(parts._replace(netloc=f"{user}{at}host").geturl()))
    ports = [port or "5432" for _, port in named]
    return database | {"HOST": ",".join(unquote(host) for host, _ in named), "PORT": ",".join(ports)}


MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465}
"""How a mail server is reached, with its usual port: without encryption, with STARTTLS, and with TLS from the start."""


def mail_server_of(url: str) -> dict[str, Any] | None:
    """Return Django's settings of the mail server in a URL; None for a wrong URL, which a system check reports."""
    parts = parts_of(url)
    try:
        port = parts.port or MAIL_PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        return None
    return {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "tls": parts.scheme == "smtp+tls",
        "ssl": parts.scheme == "smtp+ssl",
    }

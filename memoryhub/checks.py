"""System checks of the settings: a wrong value is an error with a hint at start."""

import ipaddress
import logging
import os
import re
from collections.abc import Iterator
from email.utils import parseaddr
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning as Concern

from memoryhub.addresses import parts_of
from memoryhub.background import stream_targets
from memoryhub.operating import private_files
from memoryhub.pure import group_roles

OWN = "memoryhub"
"""The tag of the hub's own check. Only this check runs before a command; Django's checks of the code need not."""

_HOST = re.compile(r"\*|\.?[a-z0-9-]+(\.[a-z0-9-]+)*|\[[a-f0-9]*:[a-f0-9.:]+\]", re.IGNORECASE)
"""A name as Django compares it with the `Host` of a request."""

_RECIPIENT = re.compile(r"age1[02-9ac-hj-np-z]{58}")

WRONG_DATABASE = "DATABASE_URL is not the address of a database that the hub runs on."  # which may hold a password
RIGHT_DATABASE = "For example postgres://user:password@host:5432/name, or sqlite:////path/to/memoryhub.sqlite3."


def environment(**_: object) -> list[CheckMessage]:
    """Check every value that comes from the environment."""
    of_the_place = (*_database(), *_cursors(), *_directory(), *_files())
    of_server = (*_hosts(), *_proxies(), *_connections(), *_log_level(), *_mail(), *_stream(), *_spans())
    return [
        *_url(),
        *_secrets(),
        *_backups(),
        *_sqlite(),
        *_copies(),
        *_limits(),
        *_claude(),
        *_sign_in(),
        *_provider(),
        *of_the_place,
        *of_server,
    ]


def _is_address(text: str) -> bool:
    """Return whether a text is a scheme, a host and perhaps a port, and nothing else."""
    try:
        url = urlsplit(text)
        more = url.path or url.query or url.fragment or url.username
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and not more
    except ValueError:
        return False


def _url() -> Iterator[CheckMessage]:
    if not _is_address(settings.MEMORYHUB_URL):
        yield Error(
            f"MEMORYHUB_URL is not the address of a hub: {settings.MEMORYHUB_URL!r}.",
            hint="Set it to scheme and host, for example https://hub.example.com.",
            id="memoryhub.E001",
        )


def _secrets() -> Iterator[CheckMessage]:
    if len(settings.MEMORYHUB_AUDIT_KEY) < 32:
        yield Error(
            "MEMORYHUB_AUDIT_KEY is shorter than 32 characters.",
            hint='Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))"',
            id="memoryhub.E002",
        )
    if len(settings.SECRET_KEY) < 32:
        yield Error(
            "SECRET_KEY is shorter than 32 characters: its signatures could be guessed.",
            hint='Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))". For a hub that ran with'
            " the short one, run manage.py accept_secret_key with the new one; everybody signs in again.",
            id="memoryhub.E022",
        )


def _backups() -> Iterator[CheckMessage]:
    passphrase, recipient = settings.MEMORYHUB_BACKUP_PASSPHRASE, settings.MEMORYHUB_BACKUP_RECIPIENT
    if passphrase and recipient:
        yield Error(
            "MEMORYHUB_BACKUP_PASSPHRASE and MEMORYHUB_BACKUP_RECIPIENT are both set: a backup has one of them.",
            hint="Leave out one of them.",
            id="memoryhub.E025",
        )
    if passphrase and len(passphrase) < 16:
        yield Error(
            "MEMORYHUB_BACKUP_PASSPHRASE is shorter than 16 characters: it could be guessed.",
            hint='Make one with: python -c "import secrets; print(secrets.token_urlsafe(24))"',
            id="memoryhub.E026",
        )
    if recipient and not _RECIPIENT.fullmatch(recipient):
        yield Error(
            "MEMORYHUB_BACKUP_RECIPIENT is not an age public key.",
            hint="An age public key begins with age1 and has 62 characters; age-keygen makes one with its secret key.",
            id="memoryhub.E027",
        )


def _sqlite() -> Iterator[CheckMessage]:
    if settings.SQLITE_SYNCHRONOUS not in settings.SQLITE_MODES:
        yield Error(
            f"MEMORYHUB_SQLITE_SYNCHRONOUS is not a mode the hub runs in: {settings.SQLITE_SYNCHRONOUS!r}.",
            hint="FULL (the default) keeps every acknowledged call through a power cut; NORMAL may lose the last ones.",
            id="memoryhub.E003",
        )


def _copies() -> Iterator[CheckMessage]:
    database, path = settings.DATABASES["default"], os.environ.get("SQLITE_TMPDIR") or ""
    is_own = Path(path) == Path(str(database.get("NAME"))).parent  # it is made at the first start
    if not path or is_own or not database["ENGINE"].endswith("sqlite3"):
        return
    if not (Path(path).is_dir() and os.access(path, os.W_OK | os.X_OK)):
        yield Error(
            f"SQLite cannot write to SQLITE_TMPDIR: {path!r}.",
            hint="Set it to an existing directory that the user of the hub may write to, with room for a copy of the"
            " database, or leave it out.",
            id="memoryhub.E023",
        )


def _limits() -> Iterator[CheckMessage]:
    calls = os.environ.get("MEMORYHUB_CALLS") or "none"
    if calls != "none" and not (calls.isascii() and calls.isdecimal() and int(calls)):
        yield Error(
            f"MEMORYHUB_CALLS is not a limit: {calls!r}.",
            hint="A whole number of calls that a key may make in any 60 seconds, or none.",
            id="memoryhub.E009",
        )
    for name, value in settings.MEMORYHUB_LIMITS.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            yield Error(f"The limit {name} is not a positive whole number: {value!r}.", id="memoryhub.E004")


def _sign_in() -> Iterator[CheckMessage]:
    for name in ("MEMORYHUB_SIGN_IN_HOURS", "MEMORYHUB_SIGN_IN_IDLE_HOURS", "MEMORYHUB_FRESH_MINUTES"):
        value = os.environ.get(name) or "1"
        is_number = value.isascii() and value.isdecimal() and int(value) > 0
        if not is_number and (value, name) != ("none", "MEMORYHUB_FRESH_MINUTES"):
            yield Error(f"{name} is not a time: {value!r}.", hint="A whole number from 1.", id="memoryhub.E040")


def _provider() -> Iterator[CheckMessage]:
    breached, issuer = settings.MEMORYHUB_BREACHED_PASSWORDS, settings.MEMORYHUB_OIDC_ISSUER
    if breached and not os.access(breached, os.R_OK):
        yield Error(
            f"MEMORYHUB_BREACHED_PASSWORDS cannot be read: {breached!r}.",
            hint="A file of SHA-1 digests in order, one a line, that the user of the hub may read.",
            id="memoryhub.E044",
        )
    if settings.MEMORYHUB_PROXY_EMAIL_HEADER and not settings.TRUSTED_PROXIES:
        yield Error(
            "MEMORYHUB_PROXY_EMAIL_HEADER is set and TRUSTED_PROXIES is empty: no proxy may name anyone.",
            hint="Set TRUSTED_PROXIES to the address of the proxy that authenticates people.",
            id="memoryhub.E045",
        )
    parts = parts_of(issuer)
    is_here = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if issuer and not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_here))):
        yield Error(
            f"MEMORYHUB_OIDC_ISSUER is not the address of an identity provider: {issuer!r}.",
            hint="It begins with https:// and is exactly the issuer that the provider names.",
            id="memoryhub.E041",
        )
    if issuer and not settings.MEMORYHUB_OIDC_CLIENT_ID:
        yield Error("MEMORYHUB_OIDC_CLIENT_ID is missing.", hint="The provider made it.", id="memoryhub.E042")
    try:
        group_roles.parsed(os.environ.get("MEMORYHUB_OIDC_ROLES", ""))
    except group_roles.BadMapping as error:
        yield Error(
            f"MEMORYHUB_OIDC_ROLES has an item that gives no role: {str(error)!r}.",
            hint="For example: support=curator@memstore_01…; hub-admins=administrator",
            id="memoryhub.E043",
        )


def _claude() -> Iterator[CheckMessage]:
    address = parts_of(settings.ANTHROPIC_BASE_URL)
    if address.scheme not in ("http", "https") or not address.hostname:
        yield Error(
            "ANTHROPIC_BASE_URL is not the address of an API.",  # which may hold a password
            hint="For example https://api.anthropic.com (the default).",
            id="memoryhub.E032",
        )
    for name in ("MEMORYHUB_CLAUDE_RUN_TOKENS", "MEMORYHUB_CLAUDE_DAY_TOKENS", "MEMORYHUB_CLAUDE_DAYS"):
        value = os.environ.get(name) or "1"
        is_number = value.isascii() and value.isdecimal() and int(value) > 0
        if not (is_number or (value == "none" and name != "MEMORYHUB_CLAUDE_DAYS")):
            yield Error(
                f"{name} is not a positive whole number: {value!r}.",
                hint="See docs/runs.md; leave it out for the default.",
                id="memoryhub.E033",
            )
    if unknown := set(settings.MEMORYHUB_EXPERIMENTAL) - {"dreams"}:
        yield Error(
            f"MEMORYHUB_EXPERIMENTAL names what this release does not have: {', '.join(sorted(unknown))}.",
            hint="It has `dreams`; see docs/runs.md.",
            id="memoryhub.E036",
        )


def _database() -> Iterator[CheckMessage]:
    if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.dummy":
        yield Error(
            WRONG_DATABASE,
            hint=RIGHT_DATABASE,
            id="memoryhub.E005",
        )


def _cursors() -> Iterator[CheckMessage]:
    if os.environ.get("DISABLE_SERVER_SIDE_CURSORS", "") not in ("", "0", "1"):
        yield Error(
            "DISABLE_SERVER_SIDE_CURSORS is neither 1 nor 0.",
            hint="Set it to 1 behind a pool that assigns a connection for each transaction, else leave it out.",
            id="memoryhub.E021",
        )


def _directory() -> Iterator[CheckMessage]:
    path: Path = settings.DATA_DIR
    there = next(place for place in (path, *path.parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        yield Error(
            f"The hub cannot write to its data directory {path}.",
            hint="Set MEMORYHUB_DATA_DIR to a directory that the user of the hub may write to.",
            id="memoryhub.E006",
        )


def _files() -> Iterator[CheckMessage]:
    for path in private_files.found():
        if private_files.is_open(path):
            yield Concern(
                f"Others than the owner may read or change {path}.",
                hint=f"Run: chmod go= {path}",
                id="memoryhub.W001",
            )


def _hosts() -> Iterator[CheckMessage]:
    for name in settings.ALLOWED_HOSTS:
        if not _HOST.fullmatch(name):
            yield Error(
                f"ALLOWED_HOSTS names something that is no host: {name!r}.",
                hint="List names without scheme and port, for example intranet,.example.org (with all names under it),"
                "[fd00::1].",
                id="memoryhub.E024",
            )


def _proxies() -> Iterator[CheckMessage]:
    for proxy in settings.TRUSTED_PROXIES:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            yield Error(
                f"TRUSTED_PROXIES names something that is no IP address and no range of them: {proxy!r}.",
                hint="List the addresses from which the proxies connect, for example 127.0.0.1,10.0.0.0/24.",
                id="memoryhub.E007",
            )
    if settings.MEMORYHUB_URL.startswith("https://") and not settings.TRUSTED_PROXIES:
        yield Info(
            "MEMORYHUB_URL is https and TRUSTED_PROXIES is empty: behind a proxy each page would redirect to itself.",
            hint="Set TRUSTED_PROXIES to the proxy's address, and let it send X-Forwarded-Proto and X-Forwarded-For.",
            id="memoryhub.I001",
        )


def _connections() -> Iterator[CheckMessage]:
    if settings.MEMORYHUB_CONNECTIONS_BY_ADDRESS < 1:
        yield Error(
            "MEMORYHUB_CONNECTIONS_BY_ADDRESS is not a positive whole number.",
            hint="How many connections one address may have to a worker process, for example 1000 (the default).",
            id="memoryhub.E020",
        )


def _mail() -> Iterator[CheckMessage]:
    server = settings.MEMORYHUB_MAIL_SERVER
    if os.environ.get("EMAIL_URL") and server is None:  # it may hold a password
        yield Error(
            "EMAIL_URL is not the address of a mail server.",
            hint="For example smtp+tls://user:password@mail.example.com:587 (STARTTLS), smtp+ssl://… (TLS), or"
            " smtp://127.0.0.1:25 (no encryption).",
            id="memoryhub.E028",
        )
    name, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    if server is not None and ("@" not in sender or not (name + sender).isprintable()):
        yield Error(
            "EMAIL_FROM is not an address from which the hub can send e-mail.",
            hint="For example: MemoryHub <memoryhub@example.com>",
            id="memoryhub.E029",
        )
    if server and server["password"] and not (server["tls"] or server["ssl"]):
        yield Concern(
            "EMAIL_URL sends a password without encryption.",
            hint="Use smtp+tls:// or smtp+ssl://.",
            id="memoryhub.W002",
        )


def _stream() -> Iterator[CheckMessage]:
    try:
        stream_targets.of(settings.MEMORYHUB_AUDIT_STREAM)
    except ValueError:
        yield Error(
            "MEMORYHUB_AUDIT_STREAM is not a place to which the audit can be written.",
            hint="stdout, the absolute path of a file, syslog (of this machine), or syslog://host:port (TCP).",
            id="memoryhub.E034",
        )


def _spans() -> Iterator[CheckMessage]:
    needed = ("opentelemetry.sdk", "opentelemetry.exporter")  # find_spec raises an error if what they are in is missing
    if settings.MEMORYHUB_SPANS and not all(find_spec(name) for name in needed):
        yield Error(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages that send spans are not installed.",
            hint="Run .venv/bin/python -m pip install -r requirements-tracing.txt, or leave out the variable.",
            id="memoryhub.E035",
        )


def _log_level() -> Iterator[CheckMessage]:
    if settings.MEMORYHUB_LOG_FORMAT not in ("text", "json"):
        yield Error(
            f"MEMORYHUB_LOG_FORMAT is not a format: {settings.MEMORYHUB_LOG_FORMAT!r}.",
            hint="text (the default), or json.",
            id="memoryhub.E030",
        )
    if 0 < len(settings.MEMORYHUB_METRICS_TOKEN) < 16:
        yield Error(
            "MEMORYHUB_METRICS_TOKEN is shorter than 16 characters: it could be guessed.",
            hint='Make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"',
            id="memoryhub.E031",
        )
    if settings.MEMORYHUB_LOG_LEVEL not in logging.getLevelNamesMapping():
        yield Error(
            f"MEMORYHUB_LOG_LEVEL is not a level: {settings.MEMORYHUB_LOG_LEVEL!r}.",
            hint="One of DEBUG, INFO, WARNING (the default), ERROR, CRITICAL.",
            id="memoryhub.E008",
        )

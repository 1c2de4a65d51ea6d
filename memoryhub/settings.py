"""Django's settings. Values that differ between installations come from the environment."""

import fcntl
import logging
import os
import secrets
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memoryhub.addresses import database_of, mail_server_of, parts_of
from memoryhub.database import pooled, sqlite_files
from memoryhub.environment import secret_in, text_of
from memoryhub.pure.group_roles import grants_of
from memoryhub.pure.limits import LIMITS

_installed = Path(__file__).resolve().parent / "beside"
IS_INSTALLED = _installed.is_dir()
"""Whether this program is the installed package of `make package`. Then it contains the files that are beside the
package in a checkout."""

BASE_DIR = _installed if IS_INSTALLED else Path(__file__).resolve().parent.parent
DATA_DIR = Path(
    os.environ.get("MEMORYHUB_DATA_DIR")
    or (Path.home() / ".local/share/memoryhub" if IS_INSTALLED else BASE_DIR / "data")
).resolve()

# A command that only uses a hub creates no files: with MEMORYHUB_DATA_DIR forgotten it would start a second hub. A
# secret that it cannot read is replaced by a random one for this process alone.
USES_A_HUB = Path(sys.argv[0]).name in ("manage.py", "memoryhub") and sys.argv[1:2] not in (["serve"], ["migrate"])

MEMORYHUB_ABSENT_SECRETS: dict[str, str] = {}
"""{variable of a secret that a command does not have: why, as a sentence}. Such a secret is random, not the hub's."""


def kept_secret(variable: str, file_name: str) -> str:
    """Return the value of an environment variable or, without it, the secret in a file of the data directory.

    If the file is missing, the first start of a hub creates it (mode 0600). A start does not create it beside a
    database, which needs its own secret, nor if a restore was interrupted, which has the secret; it raises SystemExit.

    A command that only uses a hub never creates the file. If the secret is absent, the command gets a random one and no
    error, because only the command knows whether it needs the secret. MEMORYHUB_ABSENT_SECRETS then says why.
    """
    if value := secret_in(variable):
        return value
    path, database = DATA_DIR / file_name, DATA_DIR / "memoryhub.sqlite3"
    problem, is_restored = f"{path} is not there, and {variable} is not set.", (DATA_DIR / "restore.new").exists()
    try:
        is_empty = not database.exists() or database.stat().st_size <= 4096  # without a table, it is one page long
        is_first = is_empty or os.environ.get("DATABASE_URL")
        if is_first and not (USES_A_HUB or is_restored or path.exists()):
            DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_secret(path)
        if path.exists():
            if value := path.read_bytes().decode(errors="replace").strip():
                return value
            problem = f"{path} is empty: put it back from a backup, or set {variable} to what it was."
    except OSError as error:
        problem = (
            f"{path} cannot be kept: {error.strerror}."
            " Set MEMORYHUB_DATA_DIR to a directory that the user of the hub may write to."
        )
    if not USES_A_HUB:
        raise SystemExit(f"{problem} A restore was interrupted: run `restore` again." if is_restored else problem)
    MEMORYHUB_ABSENT_SECRETS[variable] = problem
    return secrets.token_urlsafe(48)


def make_secret(path: Path) -> None:
    """Create a file with a new secret, unless the file exists. Several processes may do so at once."""
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        if not path.exists():
            descriptor = os.open(path.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as stream:
                stream.write(secrets.token_urlsafe(48))
                stream.flush()
                os.fsync(descriptor)
            path.with_suffix(".new").rename(path)
            os.fsync(directory)
    finally:
        os.close(directory)


def cookie_names(url: str) -> tuple[str, str]:
    """Return the names of the session and CSRF cookies of a hub at an address.

    On a loopback address, the names contain the port, unless it is 8000: browsers share cookies between ports, so two
    hubs would sign each other out.
    """
    parts = parts_of(url)
    try:
        port = parts.port or 8000
    except ValueError:
        port = 8000
    is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    suffix = f"_{port}" if is_local and port != 8000 else ""
    return f"sessionid{suffix}", f"csrftoken{suffix}"


def words(variable: str, default: str = "") -> list[str]:
    """Return the words of an environment variable, which are separated by commas."""
    return [word.strip() for word in os.environ.get(variable, default).split(",") if word.strip()]


def limit_of(variable: str, default: int) -> int | None:
    """Return a limit from the environment; None for `none`. For an invalid value, which a system check reports, return
    the default."""
    value = os.environ.get(variable) or str(default)
    if value == "none":
        return None
    return int(value) if value.isascii() and value.isdecimal() and int(value) else default


SECRET_KEY = kept_secret("SECRET_KEY", "secret_key")
MEMORYHUB_AUDIT_KEY = kept_secret("MEMORYHUB_AUDIT_KEY", "audit_key").encode()
MEMORYHUB_BACKUP_PASSPHRASE = secret_in("MEMORYHUB_BACKUP_PASSPHRASE").strip() or text_of(
    os.environ.get("MEMORYHUB_BACKUP_PASSPHRASE_FILE", "")
)
MEMORYHUB_BACKUP_RECIPIENT = os.environ.get("MEMORYHUB_BACKUP_RECIPIENT", "").strip()
MEMORYHUB_CHECKPOINT_FILE = DATA_DIR / "checkpoints.jsonl"
MEMORYHUB_URL = (os.environ.get("MEMORYHUB_URL", "").strip() or "http://127.0.0.1:8000").rstrip("/")
TRUSTED_PROXIES = words("TRUSTED_PROXIES")
_by_address = os.environ.get("MEMORYHUB_CONNECTIONS_BY_ADDRESS") or "1000"
MEMORYHUB_CONNECTIONS_BY_ADDRESS = int(_by_address) if _by_address.isdecimal() else 0

_hub = parts_of(MEMORYHUB_URL)
_secure = _hub.scheme == "https"

DEBUG = False
_host = _hub.hostname or "127.0.0.1"
ALLOWED_HOSTS = sorted(
    {f"[{_host}]" if ":" in _host else _host, "127.0.0.1", "[::1]", "localhost", *words("ALLOWED_HOSTS")}
)
ROOT_URLCONF = "memoryhub.urls"
WSGI_APPLICATION = "memoryhub.wsgi.application"
AUTH_USER_MODEL = "memoryhub.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "memoryhub",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
]

# The machines' door answers before the middleware for people, none of which it needs.
MIDDLEWARE = [
    "memoryhub.middleware.private_answers",
    "memoryhub.operating.metrics.metrics",
    "memoryhub.middleware.forwarded_headers",
    "memoryhub.middleware.machines_door",
    "memoryhub.middleware.request_id",
    "memoryhub.middleware.compressed_pages",
    "django.middleware.security.SecurityMiddleware",
    "memoryhub.middleware.content_security_policy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memoryhub.middleware.signed_in_browser",
    "memoryhub.middleware.time_zone",
    "memoryhub.middleware.final_slash",
    "memoryhub.middleware.no_nul",
    "memoryhub.middleware.no_keys",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "memoryhub.middleware.answers_to_htmx",
    "memoryhub.middleware.back_to_the_page",
    "memoryhub.middleware.wrong_methods",
    "memoryhub.middleware.recorded_views",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
        },
    }
]

# SQLite: FULL so that an acknowledged commit survives a power cut; secure_delete overwrites deleted content.
SQLITE_MODES = ("FULL", "NORMAL", "EXTRA")
SQLITE_SYNCHRONOUS = os.environ.get("MEMORYHUB_SQLITE_SYNCHRONOUS", "FULL").strip().upper()
_synchronous = SQLITE_SYNCHRONOUS if SQLITE_SYNCHRONOUS in SQLITE_MODES else "FULL"  # a system check reports it
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "factory": sqlite_files.Connection,
    "init_command": (
        f"PRAGMA journal_mode=WAL;PRAGMA synchronous={_synchronous};"
        "PRAGMA secure_delete=ON;PRAGMA cache_size=-65536;PRAGMA temp_store=MEMORY"
    ),
}

_default_database = f"sqlite:///{DATA_DIR / 'memoryhub.sqlite3'}"
# A lost server is noticed within two seconds: each connection of the pool is tested before a request gets it, and a
# connection that the network has lost is dropped. DATABASE_URL may override all of these except the pool.
POSTGRESQL_POOL = {"min_size": 2, "max_size": 20, "timeout": 1.8, "reconnect_timeout": 10}
POSTGRESQL_OPTIONS = {
    "connect_timeout": 2,
    "tcp_user_timeout": 2_000,
    "keepalives_idle": 10,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
DATABASES = {"default": database_of(os.environ.get("DATABASE_URL") or _default_database)}
_asked: dict[str, Any] = DATABASES["default"].get("OPTIONS", {})  # for example ?sslmode=verify-full
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"] |= {"CONN_MAX_AGE": None, "OPTIONS": _asked | SQLITE_OPTIONS}
    # VACUUM writes a copy of the database here and not in /tmp, which may be small and is shared with others.
    os.environ.setdefault("SQLITE_TMPDIR", str(Path(DATABASES["default"]["NAME"]).parent))
else:
    _by_transaction = os.environ.get("DISABLE_SERVER_SIDE_CURSORS") == "1"
    _asked = POSTGRESQL_OPTIONS | {"prepare_threshold": None if _by_transaction else 5} | _asked
    DATABASES["default"] |= {
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": _by_transaction,
        "OPTIONS": _asked | {"pool": POSTGRESQL_POOL | pooled.options()},
    }

# The limits of a memory store if neither the store nor the hub's settings set others; None means no limit.
MEMORYHUB_LIMITS = {limit.name: limit_of(limit.variable, limit.default) for limit in LIMITS.values()}
MEMORYHUB_BODY_BYTES = 1024 * 1024
# The largest import: uploaded bytes, unpacked bytes, memories, versions, and the compression ratio allowed for data
# that unpacks to more than a store holds. These exceed MEMORYHUB_LIMITS, because the export of a full store, with its
# trash and older versions, must be importable. A preview that no one starts is deleted after MEMORYHUB_IMPORT_HOURS.
MEMORYHUB_IMPORT = {
    "packed": 256 * 1024 * 1024,
    "unpacked": 512 * 1024 * 1024,
    "entries": 20_000,
    "versions": 200_000,
    "ratio": 100,
}
MEMORYHUB_IMPORT_HOURS = 24
MEMORYHUB_IDEMPOTENCY_DAYS = 7

# Claude runs: the key and the address of Claude's API, the models that people may choose (none: all that the API
# offers; the first is the default), the most tokens of a run and of all runs on a day (None: no limit), and after how
# many days a run is deleted.
ANTHROPIC_API_KEY = os.environ.get("ANTHROPIC_API_KEY", "").strip()
ANTHROPIC_BASE_URL = os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
MEMORYHUB_CLAUDE_MODELS = words("MEMORYHUB_CLAUDE_MODELS")
MEMORYHUB_CLAUDE_RUN_TOKENS = limit_of("MEMORYHUB_CLAUDE_RUN_TOKENS", 500_000)
MEMORYHUB_CLAUDE_DAY_TOKENS = limit_of("MEMORYHUB_CLAUDE_DAY_TOKENS", 5_000_000)
MEMORYHUB_CLAUDE_DAYS = limit_of("MEMORYHUB_CLAUDE_DAYS", 90) or 90
# What may still change in every release, and is off unless it is named: "dreams".
MEMORYHUB_EXPERIMENTAL = words("MEMORYHUB_EXPERIMENTAL")
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000  # a form with 100 path rules has more than 1,000, Django's default
FILE_UPLOAD_HANDLERS = [
    "memoryhub.web.common.uploads.OnlySoManyParts",
    "memoryhub.web.common.uploads.OnlySoLarge",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
MEMORYHUB_BREACHED_PASSWORDS = os.environ.get("MEMORYHUB_BREACHED_PASSWORDS", "")
if MEMORYHUB_BREACHED_PASSWORDS:
    AUTH_PASSWORD_VALIDATORS.append(
        {
            "NAME": "memoryhub.web.accounts.breached_passwords.NotBreached",
            "OPTIONS": {"file": MEMORYHUB_BREACHED_PASSWORDS},
        }
    )
# Hours that a person stays signed in, at most and without using the hub; minutes for which what was proved at the
# sign-in is enough for acts that cannot be undone.
MEMORYHUB_SIGN_IN_HOURS = limit_of("MEMORYHUB_SIGN_IN_HOURS", 14 * 24) or 14 * 24
MEMORYHUB_SIGN_IN_IDLE_HOURS = limit_of("MEMORYHUB_SIGN_IN_IDLE_HOURS", 7 * 24) or MEMORYHUB_SIGN_IN_HOURS
MEMORYHUB_FRESH_MINUTES = limit_of("MEMORYHUB_FRESH_MINUTES", 10)

# Single sign-on: the header in which a trusted proxy names the person; the identity provider, what its groups give (a
# system check reports a wrong mapping), and whether administrators alone may sign in with a password.
MEMORYHUB_PROXY_EMAIL_HEADER = os.environ.get("MEMORYHUB_PROXY_EMAIL_HEADER", "").strip()
MEMORYHUB_OIDC_ISSUER = os.environ.get("MEMORYHUB_OIDC_ISSUER", "").strip()
MEMORYHUB_OIDC_CLIENT_ID = os.environ.get("MEMORYHUB_OIDC_CLIENT_ID", "").strip()
MEMORYHUB_OIDC_CLIENT_SECRET = os.environ.get("MEMORYHUB_OIDC_CLIENT_SECRET", "").strip()
MEMORYHUB_OIDC_NAME = os.environ.get("MEMORYHUB_OIDC_NAME", "").strip()
MEMORYHUB_OIDC_SCOPES = os.environ.get("MEMORYHUB_OIDC_SCOPES") or "openid profile email"
MEMORYHUB_OIDC_GROUPS = os.environ.get("MEMORYHUB_OIDC_GROUPS") or "groups"
MEMORYHUB_OIDC_ROLES = grants_of(os.environ.get("MEMORYHUB_OIDC_ROLES", ""))
MEMORYHUB_OIDC_TRUSTS_EMAIL = os.environ.get("MEMORYHUB_OIDC_TRUSTS_EMAIL") == "1"
MEMORYHUB_OIDC_ONLY = os.environ.get("MEMORYHUB_OIDC_ONLY") == "1" and bool(MEMORYHUB_OIDC_ISSUER)
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "today"
LOGOUT_REDIRECT_URL = "sign_in"

LANGUAGE_CODE = "en"
LOCALE_PATHS = [Path(__file__).resolve().parent / "locale"]
TIME_ZONE = "UTC"
USE_TZ = USE_I18N = True

# Without EMAIL_URL the hub sends no e-mail: links are copied and passed on by hand.
MEMORYHUB_MAIL_SERVER = mail_server_of(os.environ.get("EMAIL_URL") or "")
MEMORYHUB_SENDS_MAIL = MEMORYHUB_MAIL_SERVER is not None
_mail = MEMORYHUB_MAIL_SERVER or dict.fromkeys(("host", "port", "user", "password", "tls", "ssl"))
EMAIL_HOST, EMAIL_PORT = _mail["host"] or "localhost", _mail["port"] or 25
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["user"] or "", _mail["password"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = bool(_mail["tls"]), bool(_mail["ssl"])
EMAIL_BACKEND = "memoryhub.background.smtp.EmailBackend"
EMAIL_TIMEOUT = 20
_domain = _host if any(letter.isalpha() for letter in _host) and ":" not in _host else "localhost"
DEFAULT_FROM_EMAIL = os.environ.get("EMAIL_FROM") or f"MemoryHub <memoryhub@{_domain}>"
PASSWORD_RESET_TIMEOUT = 4 * 3600

STATIC_URL = "/static/"
_default_static = DATA_DIR / "static" if IS_INSTALLED else BASE_DIR / "staticfiles"
STATIC_ROOT = Path(os.environ.get("MEMORYHUB_STATIC_ROOT") or _default_static)
# Ninja brings files for the page about the API. It is no installed app: every command would load it, with pydantic.
_ninja = find_spec("ninja")
STATICFILES_DIRS = [BASE_DIR / "static", *([Path(_ninja.origin).parent / "static"] if _ninja and _ninja.origin else [])]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "memoryhub.web.common.assets.JoinedStaticFilesStorage"},
}
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"

SESSION_ENGINE = "memoryhub.sessions"
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = cookie_names(MEMORYHUB_URL)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _secure
SESSION_COOKIE_AGE = MEMORYHUB_SIGN_IN_HOURS * 3600
CSRF_FAILURE_VIEW = "memoryhub.web.common.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = [f"{_hub.scheme}://{_hub.netloc}"] if _secure else []
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = _secure
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _secure else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _secure
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _secure and TRUSTED_PROXIES else None
SECURE_REDIRECT_EXEMPT = [r"^(livez|readyz|healthz)$"]

MEMORYHUB_METRICS_TOKEN = secret_in("MEMORYHUB_METRICS_TOKEN").strip()

# Where every audit entry is written, too, as an event of OCSF: stdout, a file, or a syslog server.
MEMORYHUB_AUDIT_STREAM = os.environ.get("MEMORYHUB_AUDIT_STREAM", "").strip()

# Spans of calls are sent where the standard variables of OpenTelemetry say.
MEMORYHUB_SPANS = any(
    os.environ.get(name) for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
)

MEMORYHUB_LOG_LEVEL = os.environ.get("MEMORYHUB_LOG_LEVEL", "WARNING").upper()
MEMORYHUB_LOG_FORMAT = os.environ.get("MEMORYHUB_LOG_FORMAT") or "text"
_log_level = MEMORYHUB_LOG_LEVEL if MEMORYHUB_LOG_LEVEL in logging.getLevelNamesMapping() else "WARNING"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "memoryhub.operating.logs.lines.WithoutTokens",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"class": "memoryhub.operating.logs.lines.Json"},
    },
    "filters": {
        "once_per_minute": {"()": "memoryhub.operating.logs.filters.OncePerMinute"},
        "refusals": {"()": "memoryhub.operating.logs.filters.RefusalsInOneLine"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "json" if MEMORYHUB_LOG_FORMAT == "json" else "line",
            "filters": ["once_per_minute", "refusals"],
        }
    },
    "root": {"handlers": ["stderr"], "level": _log_level},
    # At lower levels the SDK and what it uses write whole requests, with the texts of memories.
    "loggers": {name: {"level": "WARNING"} for name in ("anthropic", "httpx", "httpx2", "httpcore", "httpcore2")},
}

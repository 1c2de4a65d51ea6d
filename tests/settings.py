"""The hub's settings as the tests need them: nothing of the machine's own environment, a directory that goes away.

`MEMORYHUB_TEST_DATABASE` chooses the database: `sqlite` (the default), `postgres` for a private cluster that
`tests/support/cluster.py` starts, or the URL of a PostgreSQL server on which databases may be made.
"""

import os
from urllib.parse import quote

from tests.support.directory import run_directory

DIRECTORY = run_directory()
_OWN = (
    "SECRET_KEY", "MEMORYHUB_AUDIT_KEY", "MEMORYHUB_URL", "MEMORYHUB_SQLITE_SYNCHRONOUS", "ALLOWED_HOSTS",
    "TRUSTED_PROXIES", "DATABASE_URL", "MEMORYHUB_CALLS", "DISABLE_SERVER_SIDE_CURSORS",
    "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MEMORYHUB_CLAUDE_MODELS", "MEMORYHUB_CLAUDE_RUN_TOKENS",
    "MEMORYHUB_CLAUDE_DAY_TOKENS", "MEMORYHUB_CLAUDE_DAYS", "SSL_CERT_FILE", "MEMORYHUB_SIGN_IN_HOURS",
    "MEMORYHUB_SIGN_IN_IDLE_HOURS", "MEMORYHUB_FRESH_MINUTES", "MEMORYHUB_OIDC_ISSUER", "MEMORYHUB_OIDC_ROLES",
    "MEMORYHUB_OIDC_ONLY",
)  # fmt: skip
_database = os.environ.get("MEMORYHUB_TEST_DATABASE") or "sqlite"

for _name in _OWN:
    os.environ.pop(_name, None)
os.environ["MEMORYHUB_DATA_DIR"] = str(DIRECTORY / "data")
os.environ["MEMORYHUB_STATIC_ROOT"] = str(DIRECTORY / "static")
# A client of HTTP reads each certificate that the machine trusts, which takes it 35 ms. Tests ask this machine alone.
os.environ["SSL_CERT_DIR"] = str(DIRECTORY)
# Playwright runs an event loop in the thread of the test, and Django would refuse to talk to the database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
if _database == "postgres":
    os.environ["DATABASE_URL"] = f"postgres://memoryhub@{quote(str(DIRECTORY / 'cluster'), safe='')}:5432/memoryhub"
elif _database != "sqlite":
    os.environ["DATABASE_URL"] = _database

from memoryhub.settings import *  # noqa: E402, F403  (only now is the environment the tests' own)

# A database in the file system, as it is shipped: one in memory has other locks.
if _database == "sqlite":
    DATABASES["default"]["TEST"] = {"NAME": str(DIRECTORY / "test.sqlite3")}  # noqa: F405
    # Tests end processes, never the power: the machine keeps what was written, and no commit has to wait for the disk.
    DATABASES["default"]["OPTIONS"]["init_command"] += ";PRAGMA synchronous=OFF"  # noqa: F405

MEMORYHUB_LIMITS = MEMORYHUB_LIMITS | {"calls": None}  # noqa: F405  (tests call as quickly as they can; those of the limit set one)

STATIC_ROOT.mkdir(exist_ok=True)  # noqa: F405
STORAGES["staticfiles"] = {"BACKEND": "tests.support.static_files.NotCollected"}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick; its strength is Django's to test

"""Checks outside of the database: the settings, the files and their owner, the disk, and the hub's address."""

import http.client
import os
import shutil
import ssl
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks as django_checks

from memoryhub import checks
from memoryhub.actions.backups import make, restore
from memoryhub.doctor.findings import ERROR, WARNING, Finding, error, warning
from memoryhub.operating import private_files

LEAST_FREE = 1_000_000_000
"""Bytes of free disk space below which a person should act."""
LEAST_SHARE = 0.05
SECONDS = 3.0
"""How long the hub's address has to answer."""


def environment(_: datetime) -> Iterator[Finding]:
    """Report the results of the system checks of the settings and of the files' modes."""
    for message in checks.environment():
        level = ERROR if message.level >= django_checks.ERROR else WARNING
        yield Finding("settings", level, str(message.msg), str(message.hint or "Correct the variable."))


def owners(_: datetime) -> Iterator[Finding]:
    """Report private files that belong to another user than the data directory does: the hub could not read them."""
    directory: Path = settings.DATA_DIR
    if not directory.is_dir():
        return
    owner = directory.stat().st_uid
    for path in private_files.found():
        if path.stat().st_uid != owner:
            yield error("files", f"{path} belongs to another user than {directory}.", f"Run: chown {owner} {path}")


def leftovers(_: datetime) -> Iterator[Finding]:
    """Report unencrypted copies that were left by a killed backup or restore."""
    for name in (make.WORK, restore.WORK):
        path = settings.DATA_DIR / name
        if path.exists() and not make.is_running():
            do = f"Run the backup or the restore again, or remove it: rm -r {path}"
            yield warning("files", f"{path} was left by a backup or a restore that was killed.", do)


def disk(_: datetime) -> Iterator[Finding]:
    """Report a disk that is nearly full."""
    file = private_files.database_file()
    for directory in {settings.DATA_DIR, *([file.parent] if file else [])}:
        if not directory.is_dir():
            continue
        found = shutil.disk_usage(directory)
        if found.free < max(LEAST_FREE, LEAST_SHARE * found.total):
            said = f"Only {found.free // 1_000_000:,} MB are free on the disk of {directory}."
            yield error("disk", said, "Free some space, or move the data directory to a larger disk.")
        files = os.statvfs(directory)
        if files.f_files and files.f_favail < 1000:
            said = f"The disk of {directory} has room for {files.f_favail} more files only."
            yield error("disk", said, "Delete files that no one needs on that disk.")


def secrets(_: datetime) -> Iterator[Finding]:
    """Report secrets that are missing or cannot be read."""
    for said in settings.MEMORYHUB_ABSENT_SECRETS.values():
        yield error("secrets", said, "If it is lost, put it back from a backup. Without it the hub does not start.")


def address(_: datetime) -> Iterator[Finding]:
    """Report if the hub does not answer at MEMORYHUB_URL.

    Report, too, if the proxy there does not pass on that a request used https.
    """
    if not os.environ.get("MEMORYHUB_URL"):
        return
    url = urlsplit(settings.MEMORYHUB_URL)
    try:
        status, location = _asked("/livez")
        if status != 200:
            do = "Check that the proxy passes every path to the hub, and that the hub runs."
            yield error("address", f"{settings.MEMORYHUB_URL}/livez answers {status}, not 200.", do)
            return
        status, location = _asked("/sign-in")
    except ssl.SSLError as failure:
        do = "Renew the certificate of the proxy, or correct its name."
        yield error("address", f"The certificate of {url.hostname} is not valid: {failure.reason or failure}.", do)
        return
    except (OSError, http.client.HTTPException) as failure:
        do = "Start the hub and its proxy; if they run, correct MEMORYHUB_URL or the name's address."
        yield error("address", f"{settings.MEMORYHUB_URL} does not answer: {failure}.", do)
        return
    if status in (301, 302, 307, 308) and location.startswith(settings.MEMORYHUB_URL):
        do = "Let the proxy send X-Forwarded-Proto, and name its address in TRUSTED_PROXIES."
        yield error("address", f"{settings.MEMORYHUB_URL}/sign-in redirects to itself.", do)


def _asked(path: str) -> tuple[int, str]:
    """Return (status, header `Location`) of the answer to a GET request for `path` at the hub's address."""
    url = urlsplit(settings.MEMORYHUB_URL)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location") or ""
    finally:
        connection.close()

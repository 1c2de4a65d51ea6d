"""Starts the hub: database, static assets, web server and background work."""

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, Error, OperationalError, connection
from django.utils import timezone
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from memoryhub.actions.accounts import people
from memoryhub.actions.core import sql
from memoryhub.actions.verification import checkpoints
from memoryhub.background.runner import sentence
from memoryhub.database import pooled
from memoryhub.operating import starting
from memoryhub.serving import answers, listening, options, steps
from memoryhub.serving.connections import room_for_connections
from memoryhub.serving.processes import KILLED_AFTER, Server
from memoryhub.settings import cookie_names
from memoryhub.web.common import assets

BACKLOG = 4096


class Command(BaseCommand):
    requires_system_checks: Any = ()  # they run after the files are prepared
    help = "Migrates the database and serves the hub with its background work until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--demo", action="store_true", help="fill an empty hub with demo data first")
        parser.add_argument("--threads", type=int, help="calls at once in one worker (default 16; 4 on PostgreSQL)")

    def handle(self, *, host: str, port: int, demo: bool, threads: int | None, **_: Any) -> None:
        settle_address(host, port)
        address = listening.address_of(host, port)
        reserved = listening.reserve(address, port)
        with database_errors_in_sentences():
            self._prepare(demo)
        sqlite = connection.vendor == "sqlite"
        connection.close()
        if not sqlite:
            connection.close_pool()  # type: ignore[attr-defined]  # workers are forked and may not share a connection
        options.for_workers(port, threads or (16 if sqlite else 4))
        server = Server(
            "memoryhub.rsgi:application",
            address=address,
            port=port,
            interface=Interfaces.RSGI,
            http=HTTPModes.http1,
            websockets=False,
            loop=steps.LOOP,
            workers=1 if sqlite else os.cpu_count() or 1,
            backlog=BACKLOG,
            backpressure=room_for_connections(),
            respawn_failed_workers=True,
            workers_kill_timeout=KILLED_AFTER,
            log_level=LogLevels.error,
        )
        self.stdout.write(f"MemoryHub answers at {listening.url_of(host, port)} (Ctrl+C stops it)")
        if line := starting.line_for_commands():
            self.stdout.write(line)
        self.stdout.flush()
        with reserved:
            server.serve()
        write_last_checkpoint()

    def _prepare(self, demo: bool) -> None:
        starting.before_migrating()
        answers.remove_left(settings.DATA_DIR / answers.NAME)
        call_command("check", fail_level="ERROR")
        require_writable()
        self.stdout.write("Preparing the database. After an upgrade, this can take up to a minute.")
        self.stdout.flush()
        call_command("migrate", interactive=False, verbosity=0)
        starting.after_migrating()
        collect_assets()
        if demo:
            call_command("load_demo")
        token = people.first_administrator_link(at=timezone.now())
        if token is not None:
            self.stdout.write("Make the first administrator with this link, which works once:")
            self.stdout.write(f"  {settings.MEMORYHUB_URL}/invitations/{token}")


@contextmanager
def database_errors_in_sentences() -> Iterator[None]:
    """Raise CommandError, in one sentence, if the database does not answer or its file is damaged."""
    try:
        yield
    except OperationalError as error:
        raise CommandError(f"The database does not answer, or refuses: {pooled.reason_of(error)}") from error
    except DatabaseError as error:
        if type(error) is not DatabaseError:  # a fault of the hub; SQLite raises the class itself for its file
            raise
        file = settings.DATABASES["default"]["NAME"]
        raise CommandError(
            f"{file} is damaged, or is not a database ({error}). Put a backup in its place, as the README says."
        ) from error


def collect_assets() -> None:
    """Collect the static assets that have changed. Raise CommandError if their directory cannot be made, read or
    written."""
    if assets.are_collected():
        return
    try:
        call_command("collectstatic", interactive=False, verbosity=0)
    except OSError as error:
        raise CommandError(
            f"The static assets cannot be collected in {settings.STATIC_ROOT}: {error.strerror or error}. Set"
            " MEMORYHUB_STATIC_ROOT to a directory that the user of the hub may write to."
        ) from error


def write_last_checkpoint() -> None:
    """Write a last checkpoint when the server stops. Raise CommandError if that fails: the hub then writes a checkpoint
    at its next start."""
    try:
        checkpoints.append(settings.MEMORYHUB_CHECKPOINT_FILE, timezone.now())
    except (Error, OSError) as error:
        raise CommandError(f"The hub has stopped without its last checkpoint. {sentence(error)}") from error


def require_writable() -> None:
    """Raise CommandError if the database is a replica or read-only: a hub writes with every call."""
    if not sql.is_writable():
        raise CommandError(
            "The database takes no writes: it is a replica, or read-only. Name the primary in DATABASE_URL, or all"
            " hosts with ?target_session_attrs=read-write."
        )


def settle_address(host: str, port: int) -> None:
    """If MEMORYHUB_URL is not set, derive it from a local `host` and the port. It is also put into the environment, for
    the workers."""
    names = {host: host for host in ("127.0.0.1", "::1", "localhost")} | {"0.0.0.0": "127.0.0.1", "::": "::1"}
    if os.environ.get("MEMORYHUB_URL") or host not in names:
        return
    settings.MEMORYHUB_URL = os.environ["MEMORYHUB_URL"] = listening.url_of(names[host], port)
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = cookie_names(settings.MEMORYHUB_URL)

"""Exports a memory store, or a directory of it, to a disk or a pipe."""

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.transfer import exporting
from memoryhub.actions.verification import checkpoints
from memoryhub.models import Door
from memoryhub.operating.starting import HubCommand

PIPE = "-"
STEP = 1000
"""How many versions are written between two lines of progress."""


class Command(HubCommand):
    help = "Exports a memory store as it is now, with the history of its memories, and prints the size of the export."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store", help="the memory store's id")
        parser.add_argument("--format", choices=exporting.FORMATS, default="zip", help="default: zip")
        parser.add_argument("--path", default="", help="a directory, such as /notes (default: the whole store)")
        parser.add_argument("--no-history", action="store_true", help="only the newest versions of live memories")
        parser.add_argument(
            "--governance",
            action="store_true",
            help="with proposals, comments and path rules (jsonl, or zip with history)",
        )
        parser.add_argument("--output", help="where to write, - for standard output (default: a name from the store's)")
        parser.add_argument("--force", action="store_true", help="replace the output if it is a file")

    def handle(
        self,
        *,
        store: str,
        format: str,
        path: str,
        no_history: bool,
        governance: bool,
        output: str | None,
        force: bool,
        **_: Any,
    ) -> None:
        if output is not None:
            _require_free(output, force)
        directory = exporting.directory_of(path)
        wanted = exporting.Wanted(format, directory, history=not no_history, governance=governance)
        if governance and not (wanted.has_governance or wanted.has_comments):
            raise CommandError("--governance needs --format jsonl, or zip without --no-history.")
        act = Act(Actor.system("export_store"), Door.COMMAND, timezone.now())
        try:
            export = exporting.begin(store, wanted, act)
        except NoSuchStore:
            raise CommandError(f"There is no memory store {store}.") from None
        except exporting.NotDone:
            raise CommandError(f"There is no directory {path} in {store}.") from None
        target = output or export.name
        _require_free(target, force)
        size = self._write(export, target)
        counts = export.counts
        counted = f"{counts.memories} memories, " if counts.memories else ""
        self.stderr.write(f"{counted}{counts.versions} versions, {size} bytes: {target}")

    def _write(self, export: exporting.Export, target: str) -> int:
        """Write the export, which shows the store at one moment. Return the number of bytes."""
        size = 0
        try:
            with snapshot(), _opened(target) as written:
                for piece in self._with_progress(export, export.body()):
                    written.write(piece)
                    size += len(piece)
        except OSError as error:
            raise CommandError(f"{target}: {error.strerror or error}") from None
        return size

    def _with_progress(self, export: exporting.Export, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of the export unchanged, and print a line of progress after every STEP versions."""
        last = 0
        for piece in pieces:
            yield piece
            if export.counts.versions >= last + STEP:
                last = export.counts.versions
                self.stderr.write(f"{last} versions …")


def _require_free(target: str, force: bool) -> None:
    """Raise CommandError if something is at `target`, unless it is a file and `force` allows to replace it."""
    path = Path(target)
    if target == PIPE or not os.path.lexists(path):
        return
    if path.is_symlink() or not path.is_file():
        raise CommandError(f"{target} is not a file, so it is not replaced. Use --output - to write to a pipe.")
    if not force:
        raise CommandError(f"{target} exists already. Use --force to replace it.")


@contextmanager
def _opened(target: str) -> Iterator[BinaryIO]:
    """Open the output; only its owner may read it. A file gets its final name only when it is complete and on the
    disk."""
    if target == PIPE:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    descriptor, name = tempfile.mkstemp(".partial", f"{path.name}.", path.parent)  # its own, beside another export
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as written:
            yield written
            written.flush()
            os.fsync(descriptor)
        partial.replace(target)
        checkpoints.keep_names(Path(target))
    except BaseException:
        partial.unlink(missing_ok=True)
        raise

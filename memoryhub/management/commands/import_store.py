"""Imports memories into a memory store from a directory, an archive, a stream or another store."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.transactions import pace
from memoryhub.actions.core.tree import NoSuchStore
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import Brought, api_source, sources
from memoryhub.actions.transfer.importing.preview import RULES, TAKE
from memoryhub.models import Door, Import, ImportItem, ImportState
from memoryhub.operating.starting import HubCommand
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.plain import for_api, without_root
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Bounds
from memoryhub.pure.transfer.tree_read import NEVER, Exclude

ASK, CHOICES = "ask", {"skip": "skip", "replace": "take", "beside": "beside"}
WIDTH = 40


def positive(text: str) -> int:
    """Return the whole number above 0 that was typed. Raises ArgumentTypeError for any other text."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "store": {"help": "the memory store's id"},
    "source": {
        "help": "a directory, a ZIP archive, JSON Lines, a git stream or a text (- for standard input), or the address"
        " of another hub or of Anthropic's API"
    },
    "--place": {"default": "", "metavar": "/DIRECTORY", "help": "the directory into which they are imported"},
    "--only-memory-files": {
        "action": "store_true",
        "help": "import only a project's CLAUDE.md, MEMORY.md, AGENTS.md and the memories in .claude",
    },
    "--exclude": {
        "action": "append", "default": [], "metavar": "PATTERN",
        "help": "ignore names like this (such as *.log), or places (drafts/*); may be given several times, and"
        " adds to .git, .obsidian, node_modules, databases and the like",
    },
    "--include-all": {"action": "store_true", "help": "ignore only what --exclude says"},
    "--max-bytes": {"type": positive, "metavar": "N", "help": "the most bytes, packed and unpacked"},
    "--max-memories": {"type": positive, "metavar": "N", "help": "the most memories"},
    "--max-versions": {"type": positive, "metavar": "N", "help": "the most versions"},
    "--on-conflict": {
        "choices": [ASK, *CHOICES], "default": ASK,
        "help": "if the path has another text: ask (default), skip, replace it, or import under another name (beside)",
    },
    "--path-rules": {"action": "store_true", "help": "take over the path rules, after those that the store has"},
    "--dry-run": {"action": "store_true", "help": "show the preview and import nothing"},
    "--from-store": {"metavar": "ID", "help": "the other store's id, if the source is an address"},
    "--key-env": {
        "metavar": "NAME",
        "help": "the environment variable that holds the key for the address (for Anthropic's API: ANTHROPIC_API_KEY)",
    },
}  # fmt: skip


OWN_KEY = "ANTHROPIC_API_KEY"
"""The environment variable that has the key for Anthropic's API. This key is sent to no other host unless `--key-env`
names the variable."""


def _bounds(more: dict[str, Any]) -> Bounds:
    """Return the bounds of an import. An option of the command replaces the value from the settings."""
    usual, given = importing.bounds(), more["max_bytes"]
    return usual._replace(
        packed=given or usual.packed,
        unpacked=given or usual.unpacked,
        entries=more["max_memories"] or usual.entries,
        versions=more["max_versions"] or usual.versions,
    )


def printable(line: str) -> str:
    """Return a line without control characters, which a terminal could interpret as commands."""
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


class Command(HubCommand):
    help = "Imports memories into a memory store: shows how each compares with the store, then imports them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, options in ARGUMENTS.items():
            parser.add_argument(name, **options)

    def handle(self, *, store: str, source: str, place: str, on_conflict: str, dry_run: bool, **more: Any) -> None:
        act = Act(Actor.system("import_store"), Door.COMMAND, timezone.now())
        if (place.strip("/") + "/").startswith("memories/"):
            self.stderr.write("--place has no /memories at its beginning: agents will see /memories/memories.")
        try:
            brought = self._brought(source, more)
            job = importing.prepare(store, brought, place, act)
        except NoSuchStore:
            raise CommandError(f"There is no memory store {store}.") from None
        except ToolError as error:
            raise CommandError(for_api(error.message)) from None
        except Refused as refused:
            raise CommandError(f"Nothing was imported. {refused}") from None
        self._go_on(job)
        self._show(job)
        if dry_run:
            importing.cancel(job.pk, self._now())
            self.stdout.write("Nothing was imported: this was a rehearsal.")
            return
        if more["path_rules"]:
            rules = ImportItem.objects.filter(job=job, found=RULES).values_list("number", flat=True)
            importing.choose(job.pk, TAKE, list(rules), governs=True)
        self._decide(job, on_conflict)
        try:
            importing.start(job.pk, self._now())
        except ToolError as error:
            raise CommandError(without_root(error.message)) from None
        self._go_on(job)
        self._result(job)

    def _brought(self, source: str, more: dict[str, Any]) -> Brought:
        store, key_env = more["from_store"], more["key_env"]
        if source.startswith(("https://", "http://")):
            key_env = key_env or (OWN_KEY if urlsplit(source)[:2] == ("https", "api.anthropic.com") else "")
            key = os.environ.get(key_env, "")
            if not store or not key:
                raise CommandError(
                    "An address needs --from-store ID, and its key in the environment as"
                    f" {key_env or 'the variable that --key-env names'}."
                )
            return api_source.of_store(api_source.Source(source, store, key, private=True), told=self._heard)
        bounds = _bounds(more)
        how: dict[str, Any] = {
            "only_memory_files": more["only_memory_files"],
            "bounds": bounds,
            "exclude": Exclude((*(() if more["include_all"] else NEVER), *more["exclude"])),
        }
        try:
            if source == "-":
                return sources.of_stream(sys.stdin.buffer, "-", **how)
            path = Path(source)
            if path.is_dir():
                return sources.of_directory(path, **how)
            if path.is_file() and (size := path.stat().st_size) > bounds.packed:
                raise Refused(f"It has {size:,} bytes; at most {bounds.packed:,} are allowed (--max-bytes).")
            with path.open("rb") as stream:
                return sources.of_stream(stream, path.name, **how)
        except OSError as error:
            raise CommandError(f"{source} cannot be read: {error.strerror or error}") from None

    def _heard(self, count: int) -> None:
        if count % 500 == 0:
            self.stderr.write(f"{count} memories and versions have come …")

    def _now(self) -> Act:
        return Act(Actor.system("import_store"), Door.COMMAND, timezone.now())

    def _go_on(self, job: Import) -> None:
        """Continue the import until it waits for a decision or ends. On a terminal, show a progress bar."""
        more = True
        while more:
            with pace.giving_way(to_other_processes=True):
                more = importing.step(job.pk, timezone.now())
            job.refresh_from_db()
            if sys.stderr.isatty() and job.memory_count:
                done = min(WIDTH, WIDTH * job.done_count // job.memory_count)
                self.stderr.write(f"\r[{'#' * done:{WIDTH}}] {job.done_count}/{job.memory_count}", ending="")
        if sys.stderr.isatty():
            self.stderr.write("")

    def _show(self, job: Import) -> None:
        """Print the preview: one line per memory, then the number of memories per outcome."""
        found: Counter[str] = Counter()
        for item in ImportItem.objects.filter(job=job).order_by("number").defer("content", "history"):
            found[item.found] += 1
            why = f"  {without_root(item.reason)}" if item.reason else ""
            why += f"  {len(item.history)} path rules" if item.found == RULES else ""
            line = f"{item.found:9} {item.size:>8}  {item.version_count:>4} versions  {item.path}{why}"
            self.stdout.write(printable(line))
        self.stdout.write(", ".join(f"{count} {name}" for name, count in sorted(found.items())) + ".")

    def _decide(self, job: Import, on_conflict: str) -> None:
        conflicts = ImportItem.objects.filter(job=job, found="conflict").order_by("number")
        if on_conflict != ASK:
            importing.choose(job.pk, CHOICES[on_conflict])
            return
        numbers = list(conflicts.values_list("number", "path"))
        if numbers and not sys.stdin.isatty():
            importing.cancel(job.pk, self._now())
            meet = "1 memory meets" if len(numbers) == 1 else f"{len(numbers):,} memories meet"
            raise CommandError(f"{meet} another text. Nothing was imported; say --on-conflict skip, replace or beside.")
        for number, path in numbers:
            answer = ""
            while answer not in CHOICES:
                answer = self._asked(job, printable(f"{path} has another text: skip, replace or beside? "))
            importing.choose(job.pk, CHOICES[answer], [number])

    def _asked(self, job: Import, question: str) -> str:
        """Return what the person types as the answer to `question`. If nothing can be read, cancel the import and raise
        CommandError."""
        try:
            return input(question).strip()
        except EOFError:
            importing.cancel(job.pk, self._now())
            raise CommandError("Nothing was imported.") from None

    def _result(self, job: Import) -> None:
        if job.state != ImportState.DONE:
            raise CommandError(f"The import is {job.state}. {without_root(job.problem)}".strip())
        outcomes = Counter(ImportItem.objects.filter(job=job).values_list("outcome", flat=True))
        items = ImportItem.objects.filter(job=job).order_by("number")
        for path, why in items.filter(outcome="refused").values_list("path", "reason"):
            self.stdout.write(printable(": ".join(filter(None, ("refused", path, without_root(why))))))
        for why in items.filter(found=RULES, outcome__in=("taken", "same")).values_list("reason", flat=True):
            self.stdout.write(printable(f"path rules taken over. {why}".strip()))
        summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        self.stdout.write(f"Import {job.pk}: {summary}.")

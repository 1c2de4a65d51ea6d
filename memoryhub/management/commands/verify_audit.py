"""Verifies the audit."""

import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import installation
from memoryhub.actions.verification import checkpoints as checkpoint_files, missing, older_keys, runs, verify
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.models import AuditEntry, Door
from memoryhub.operating.starting import HubCommand, require_own_secrets

LONGEST_REASON = 1_000


class Command(HubCommand):
    needs = ("MEMORYHUB_AUDIT_KEY",)
    not_done = 2
    help = (
        "Verifies every audit entry, every version and the checkpoints. Names the first wrong entry, and reports how"
        " much was redacted or removed by recorded acts. The hub's audit records what a run over all chains reported."
        " Exits with 0 if everything is right, 1 if something is wrong, and 2 if nothing could be verified, which says"
        " nothing about the audit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--chain", help="one memory store's id, or hub (default: all)")
        parser.add_argument(
            "--accept-missing",
            metavar="REASON",
            help="record in the hub's audit why entries of the checkpoints are missing, for example after a restore",
        )

        parser.add_argument(
            "--checkpoints",
            type=Path,
            metavar="DIRECTORY",
            help="the directory of older checkpoint segments that were moved out of the data directory",
        )

    def handle(self, *, chain: str | None, accept_missing: str | None, checkpoints: Path | None, **_: Any) -> None:
        if checkpoints is not None and not checkpoints.is_dir():
            raise CommandError(f"{checkpoints} is no directory.", returncode=self.not_done)
        if accept_missing is None:
            self._verify(chain, checkpoints)
        else:
            self._accept(accept_missing.strip())

    def _accept(self, reason: str) -> None:
        if not reason or len(reason) > LONGEST_REASON:
            raise CommandError(f"A reason has 1 to {LONGEST_REASON} characters.")
        require_own_secrets()
        act = Act(Actor.system("verify_audit"), Door.COMMAND, timezone.now())
        found = missing.accept(settings.MEMORYHUB_CHECKPOINT_FILE, reason, act)
        for one in found:
            self.stdout.write(f"{one.chain}: entries {one.kept + 1} to {one.last}")
        result = "That these are missing was accepted, with the reason" if found else "Nothing is missing"
        self.stdout.write(f"{result}. Now verify the audit.")

    def _verify(self, chain: str | None, archive: Path | None) -> None:
        begun = time.monotonic()
        written = checkpoint_check.check(settings.MEMORYHUB_CHECKPOINT_FILE, archive=archive)
        if written.files or written.problems:
            installation.require_current_key()
        is_complete = bool(written.chains or written.files) and not written.absent
        if written.absent:
            self.stdout.write(_absent(len(written.absent)))
        elif not is_complete:
            self.stdout.write(_none())
        known = verify.chains(written.chains)
        if chain and chain not in known and not AuditEntry.objects.of_chain(chain).exists():
            raise CommandError(f"There is no chain {chain}, and there never was.", returncode=self.not_done)
        total, problems = self._verify_chains([chain] if chain else known, written.problems)
        lost = [older_keys.missing(name) for name in sorted(written.lost)]
        if chain is None:
            wrong = [*(["checkpoints"] if written.files else []), *(problem.chain for problem in problems), *lost]
            self._record(_took(begun), entries=total, wrong=wrong, checkpoints_complete=is_complete)
        if written.files or problems or lost:
            is_unknown = not written.files and all(problem.is_unknown for problem in problems)
            said = [*written.files, *map(str, problems), *(f"checkpoints cannot be verified: {one}" for one in lost)]
            raise CommandError("\n".join(said), returncode=self.not_done if is_unknown else 1)
        self.stdout.write(f"All {total} entries are right.")

    def _verify_chains(
        self, names: Sequence[str], by_chain: Mapping[str, tuple[int | None, str]]
    ) -> tuple[int, list[verify.Problem]]:
        """Verify chains, and print a line about each. Return how many entries they have, and the problems.

        `by_chain` has the problems that checkpoints show in a chain.
        """
        problems, total = [], 0
        for name in names:
            count, problem = verify.verify(name)
            if problem is None and name in by_chain:
                problem = verify.Problem(name, *by_chain[name])
            total += count
            explained = "; ".join(str(one) for one in missing.accepted(name))
            about = ", ".join(filter(None, [f"{count} entries", str(verify.removed(name)), explained]))
            self.stdout.write(f"{name}: {problem.what if problem else about}")
            if problem:
                problems.append(problem)
        return total, problems

    def _record(self, elapsed: Callable[[], int], **details: Any) -> None:
        """Record the run in the hub's audit. If the database takes no writes, print that the run was not recorded."""
        act = Act(Actor.system("verify_audit"), Door.COMMAND, timezone.now(), elapsed=elapsed)
        try:
            runs.record(act, **details)
        except DatabaseError as error:
            self.stdout.write(f"The hub's audit could not record this run: {error}")


def _took(begun: float) -> Callable[[], int]:
    """Return a function that returns the microseconds since `begun`."""
    return lambda: int((time.monotonic() - begun) * 1_000_000)


def _none() -> str:
    return (
        f"checkpoints: there are none in {settings.DATA_DIR}, so nothing shows whether the newest entries were cut off."
        " A hub that has run for a minute has written some: if no one moved them, someone removed them."
    )


def _absent(last: int) -> str:
    first, end = (checkpoint_files.segment_of(settings.MEMORYHUB_CHECKPOINT_FILE, one).name for one in (1, last))
    named = first if last == 1 else f"{first} to {end}"
    return (
        f"checkpoints: {named} not found, and not verified. Where they are kept elsewhere, name the directory with"
        " --checkpoints; if no one moved them, someone removed them."
    )

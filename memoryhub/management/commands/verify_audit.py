"""Verifies the audit."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from memoryhub.actions import verification


class Command(BaseCommand):
    help = (
        "Verifies every audit entry, every version and the checkpoints; names the first entry that is wrong, and says"
        " how much has been redacted or removed by acts that the audit tells. Ends with code 0 where all is right, 1"
        " where something is not, and 2 where the database refused to answer, which says nothing about the audit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--chain", help="one memory store's id, or hub (default: all)")

    def handle(self, *, chain: str | None, **_: Any) -> None:
        try:
            self._verify(chain)
        except DatabaseError as error:
            raise CommandError(f"The database refused to answer: {error}", returncode=2) from error

    def _verify(self, chain: str | None) -> None:
        path = settings.MEMORYHUB_CHECKPOINT_FILE
        problems = [f"{path} line {number} was changed" for number in verification.unreadable_checkpoints(path)]
        total = 0
        for name in [chain] if chain else verification.chains(path):
            count, problem = verification.verify(name, path)
            total += count
            told = ", ".join(filter(None, [f"{count} entries", str(verification.removed(name))]))
            self.stdout.write(f"{name}: {problem.what if problem else told}")
            if problem:
                problems.append(str(problem))
        if problems:
            raise CommandError("\n".join(problems))
        self.stdout.write(f"All {total} entries are right.")

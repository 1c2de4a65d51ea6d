"""Makes a backup of the whole hub."""

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from memoryhub.actions.backups import make, schedule
from memoryhub.actions.backups.databases import Failed
from memoryhub.actions.backups.targets import target as target_of
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.models import Door
from memoryhub.operating.starting import HubCommand
from memoryhub.pure.backups.rotation import Keep


class Command(HubCommand):
    older_schema = True
    help = (
        "Writes one encrypted file with the database, its secrets and the audit's checkpoints, while the hub runs. The"
        " file gets its name only after the copy was verified and the file was read back. The last line is its address."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", help="a directory that exists, or s3://BUCKET/PREFIX")
        parser.add_argument(
            "--keep",
            metavar="NEWEST,WEEKLY,MONTHLY",
            help="then delete this hub's older backups there, except the newest ones and one for each of some weeks and"
            " months, for example 7,4,6",
        )

    def handle(self, *, target: str, keep: str | None, **_: Any) -> None:
        keys = schedule.keys()
        if not keys.is_there:
            raise CommandError(str(schedule.NO_KEYS))
        os.nice(5)  # calls come first
        act = Act(Actor.system("backup"), Door.COMMAND, timezone.now())
        try:
            made = make.make(target_of(target), keys, act, keep_of(keep) if keep else None)
        except Failed as error:
            code = schedule.RUNNING if isinstance(error, make.Running) else self.not_done
            raise CommandError(str(error), returncode=code) from error
        said = made.verdict.problem or f"all {made.verdict.entries} audit entries are right"
        self.stdout.write(f"{made.size / 1_000_000:,.1f} MB, read back; {said}")
        if made.deleted:
            self.stdout.write(f"Older backups deleted: {made.deleted}")
        self.stdout.write(made.address)


def keep_of(text: str) -> Keep:
    """Return how many newest, weekly and monthly backups to keep: the three numbers in `text`, parted by commas.

    Raises CommandError for any other text, and if the first number is 0.
    """
    counts = text.split(",")
    if len(counts) != 3 or not all(count.isascii() and count.isdecimal() for count in counts) or int(counts[0]) < 1:
        raise CommandError("--keep has three whole numbers, the first of them at least 1, for example 7,4,6.")
    return Keep(*map(int, counts))

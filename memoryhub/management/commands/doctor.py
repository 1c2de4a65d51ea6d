"""Examines the hub and says what to do."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from memoryhub.doctor.examine import examine
from memoryhub.doctor.findings import ERROR
from memoryhub.operating.starting import allow_every_character, explained


class Command(BaseCommand):
    requires_system_checks: Any = ()  # they are a part of the examination
    help = (
        "Examines the hub: settings, secrets, files, disk, database, clock, address, background work, checkpoints,"
        " backups and the newest audit entries. It changes nothing, and the hub may run. Each finding says what to do."
        " Exits with 1 if there is an error, and with 0 if there are only warnings."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def execute(self, *args: Any, **options: Any) -> str | None:
        allow_every_character()
        with explained(1):
            return super().execute(*args, **options)

    def handle(self, *, json: bool, **_: Any) -> None:
        found = examine(timezone.now())
        if json:
            self.stdout.write(as_json([asdict(one) for one in found]))
        else:
            for one in found:
                self.stdout.write(f"{one.level}: {one.check}: {one.says}\n    {one.do}")
            errors = sum(one.level == ERROR for one in found)
            self.stdout.write(f"{errors} errors, {len(found) - errors} warnings" if found else "Nothing is wrong.")
        self.stdout.flush()
        if any(one.level == ERROR for one in found):
            raise SystemExit(1)


def as_json(found: list[dict[str, str]]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=1)

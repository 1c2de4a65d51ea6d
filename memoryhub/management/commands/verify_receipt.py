"""Verifies the signature of an erasure's receipt."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memoryhub.actions.erasure import receipts
from memoryhub.starting import HubCommand


class Command(HubCommand):
    needs = ("MEMORYHUB_AUDIT_KEY",)
    not_done = 2
    help = "Checks that this hub wrote the receipt of an erasure, and that no one has changed it since."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the receipt as it was downloaded (- for the standard input)")

    def handle(self, *, file: str, **_: Any) -> None:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
            is_right = receipts.is_right(text)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
        except receipts.Malformed as error:
            raise CommandError(f"{file} is not a receipt: {error}") from error
        if not is_right:
            raise CommandError("This hub did not write this receipt, or somebody changed it.")
        self.stdout.write("The receipt is valid: this hub wrote it, and nobody has changed it.")

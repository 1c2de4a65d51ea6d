"""Verifies the signature of a receipt of an erasure, or of a certificate of retention."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memoryhub.actions.core import documents
from memoryhub.starting import HubCommand


class Command(HubCommand):
    needs = ("MEMORYHUB_AUDIT_KEY",)
    not_done = 2
    help = "Checks that this hub wrote a receipt or a certificate of retention, and that no one has changed it since."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the document as it was downloaded (- for the standard input)")

    def handle(self, *, file: str, **_: Any) -> None:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
            is_right = documents.is_right(text)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
        except documents.Malformed as error:
            raise CommandError(f"{file} is no receipt and no certificate: {error}") from error
        if not is_right:
            raise CommandError("This hub did not write this document, or somebody changed it.")
        self.stdout.write("The document is valid: this hub wrote it, and nobody has changed it.")

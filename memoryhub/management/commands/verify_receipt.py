"""Verifies the signature of a receipt of an erasure, or of a certificate of retention."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memoryhub.actions.core.audit import documents
from memoryhub.actions.core.audit.documents import Verdict
from memoryhub.operating.starting import HubCommand


class Command(HubCommand):
    needs = ("MEMORYHUB_AUDIT_KEY",)
    not_done = 2
    help = "Checks that this hub wrote a receipt or a certificate of retention, and that no one has changed it since."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the document as it was downloaded (- for the standard input)")

    def handle(self, *, file: str, **_: Any) -> None:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
            verdict = documents.check(text)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}", returncode=self.not_done) from error
        except documents.Malformed as error:
            raise CommandError(f"{file} is no receipt and no certificate: {error}") from error
        if verdict is Verdict.LOST:
            said = "It may be signed with an older audit key, which is missing: nothing can be said about it."
            raise CommandError(f"{said} Put the key back with rotate_audit_key --put-back.", returncode=self.not_done)
        if verdict is Verdict.UNCONFIRMED:
            raise CommandError(
                "The document is signed with an older audit key, and the audit no longer has the entry that would "
                "confirm it. Anyone who has that key could have written the document.",
                returncode=self.not_done,
            )
        if verdict is not Verdict.RIGHT:
            raise CommandError("This hub did not write this document, or somebody changed it.")
        self.stdout.write("The document is valid: this hub wrote it, and nobody has changed it.")

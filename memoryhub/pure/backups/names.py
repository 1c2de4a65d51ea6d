"""The names of backups. A name has the moment (UTC) and the mark of its hub, so that several hubs can share a
directory."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"memoryhub-([0-9a-f]{8})-(\d{8}T\d{6}Z)(-unverified)?\.backup")


@dataclass(frozen=True, slots=True)
class Name:
    """The parts of a backup's name: the mark of its hub, its moment, and whether its audit verified (`is_verified`).

    If the audit did not verify, the name ends with `-unverified`.
    """

    hub: str
    at: datetime
    is_verified: bool = True

    def __str__(self) -> str:
        end = "" if self.is_verified else "-unverified"
        return f"memoryhub-{self.hub}-{self.at.astimezone(UTC).strftime(STAMP)}{end}.backup"


def parsed(text: str) -> Name | None:
    """Return the parts of a backup's name; None if a text is no such name."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    try:
        at = datetime.strptime(found[2], STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return Name(found[1], at, found[3] is None)

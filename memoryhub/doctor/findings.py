"""What an examination finds: each finding says in one line what is wrong, and in one line what to do."""

from dataclasses import dataclass

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a check. An `error` needs a person soon; a `warning` can be a deliberate choice."""

    check: str
    level: str
    says: str
    do: str


def error(check: str, says: str, do: str) -> Finding:
    return Finding(check, ERROR, says, do)


def warning(check: str, says: str, do: str) -> Finding:
    return Finding(check, WARNING, says, do)

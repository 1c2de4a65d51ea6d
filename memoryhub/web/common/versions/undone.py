"""What undid an import, a merge or a retention run, as pages say it."""

from dataclasses import dataclass

from memoryhub.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Undone:
    """The newest entry in force that undid it, and in how many `of` its memories."""

    entry: AuditEntry
    count: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.count == self.of

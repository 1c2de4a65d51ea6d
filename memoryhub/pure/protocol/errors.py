"""The tool's error, and its subclasses that programs distinguish."""


class ToolError(Exception):
    """An error of the tool. `message` is the whole sentence. The other attributes are the parameters that were accepted
    before the error."""

    def __init__(
        self, message: str, *, command: str | None = None, path: str | None = None, new_path: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.command, self.path, self.new_path = message, command, path, new_path


class PathConflict(ToolError):
    """A memory is in the way of a change: at its path, under it or above it. The attributes are the path and the id of
    this memory."""

    def __init__(self, message: str, conflicting_path: str, conflicting_memory_id: str) -> None:
        super().__init__(message)
        self.conflicting_path, self.conflicting_memory_id = conflicting_path, conflicting_memory_id


class PreconditionFailed(ToolError):
    """The memory's text differs from the one that a write expects."""


class RefusedByRule(ToolError):
    """A path rule of the store refuses the change to this agent."""


class ProposedByRule(RefusedByRule):
    """A path rule holds the change back. The change is stored as a proposal, about which a person decides."""

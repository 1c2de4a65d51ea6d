"""The tool's refusal, and those of its kinds that programs tell apart."""


class ToolError(Exception):
    """A tool error: `message` is the whole sentence; the rest is what had been accepted when it was refused."""

    def __init__(
        self, message: str, *, command: str | None = None, path: str | None = None, new_path: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.command, self.path, self.new_path = message, command, path, new_path


class PathConflict(ToolError):
    """A memory or directory stands in the way: of a directory, `conflicting_path` is a memory beneath it."""

    def __init__(self, message: str, conflicting_path: str, conflicting_memory_id: str) -> None:
        super().__init__(message)
        self.conflicting_path, self.conflicting_memory_id = conflicting_path, conflicting_memory_id


class PreconditionFailed(ToolError):
    """The memory's text is another than the one that a write expects."""

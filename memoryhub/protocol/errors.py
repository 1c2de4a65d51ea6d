"""The tool's refusal."""


class ToolError(Exception):
    """A tool error: `message` is the whole sentence; the rest is what had been accepted when it was refused."""

    def __init__(
        self, message: str, *, command: str | None = None, path: str | None = None, new_path: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.command, self.path, self.new_path = message, command, path, new_path

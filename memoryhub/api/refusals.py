"""Refusals of a memory store as errors of the API, with the API's paths and error types."""

from memoryhub.machines.errors import Problem
from memoryhub.pure.protocol.errors import PathConflict, PreconditionFailed, RefusedByRule, ToolError
from memoryhub.pure.protocol.plain import for_api


def problem_of(error: ToolError) -> Problem:
    """Return the API's error: 409 if the path is taken or the text is not the expected one, 403 if a path rule refuses
    the change, else 400."""
    message = for_api(error.message)
    if not message.endswith("."):
        message += "."
    if isinstance(error, PathConflict):
        return Problem.path_conflict(message, error.conflicting_path, error.conflicting_memory_id)
    if isinstance(error, PreconditionFailed):
        return Problem.precondition(message)
    if isinstance(error, RefusedByRule):
        return Problem.forbidden(message)
    return Problem.invalid(message)

"""The work on Claude runs. Each run that waits gets a thread. A turn is one answer of Claude, with its tool calls."""

"""The work on Claude runs. One thread starts a thread for each run that waits. A run has turns: an answer of Claude,
and the tool calls in it."""

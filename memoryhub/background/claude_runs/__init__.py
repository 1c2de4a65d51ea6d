"""The work on Claude runs. One thread starts a thread for each run that waits. Each turn of a run is one answer of
Claude, with the tool calls in it."""

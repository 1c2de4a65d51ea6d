"""The work on Claude runs: a thread takes those that wait, and each turn is an answer of Claude with its calls."""

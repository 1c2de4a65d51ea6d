"""Calls of the memory tool that a person tries by hand, and recorded sessions that are replayed, without effect."""

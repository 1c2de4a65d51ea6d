"""Calls of the memory tool that a person tries, and recorded sessions that are replayed, both without effect."""

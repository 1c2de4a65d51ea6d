"""Calls of the memory tool that a person tries, and sessions that are replayed, both without effect."""

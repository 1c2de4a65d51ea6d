"""The state of the background work."""

"""Shared parts of the machines' doors: strict JSON, keys, cursors, and the errors of refused requests."""

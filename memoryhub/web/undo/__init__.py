"""Undo and restore, after a preview."""

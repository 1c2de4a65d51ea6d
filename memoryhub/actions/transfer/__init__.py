"""Exports and imports of memories."""

"""Backups of the whole hub: making, checking, keeping and restoring them."""

"""Examines a hub: its settings, files, disk, database, background work, backups and audit. It changes nothing."""

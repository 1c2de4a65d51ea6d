"""Backups as files: their names, which of them are kept, and what is in one."""

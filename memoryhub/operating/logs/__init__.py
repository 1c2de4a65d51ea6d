"""Logging: filters of the records and the format of a line."""

"""Redaction and erasure."""

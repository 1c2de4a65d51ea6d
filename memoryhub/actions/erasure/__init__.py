"""Redaction of versions, and erasure of texts."""

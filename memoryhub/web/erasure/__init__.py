"""Redaction, erasure and receipts."""

"""Web pages of redaction, erasure and receipts."""

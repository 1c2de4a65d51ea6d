"""Verification of the audit, and its checkpoints."""

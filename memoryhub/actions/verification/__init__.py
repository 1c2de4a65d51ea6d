"""The verification of the audit, and its checkpoints."""

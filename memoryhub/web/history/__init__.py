"""Versions, comparisons, blame, changes and past moments."""

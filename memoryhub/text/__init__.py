"""Texts compared, matched, merged and folded: pure functions."""

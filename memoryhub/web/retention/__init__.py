"""Retention policies, rehearsals, runs, and legal holds."""

"""Policies, rehearsals and runs."""

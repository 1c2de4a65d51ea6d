"""Retention policies, rehearsals and runs, and the deletion of old rows."""

"""Webhooks without their rows: events, times of attempts, signatures."""

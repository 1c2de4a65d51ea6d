"""Web pages of agents' sessions, and of who has seen a version."""

"""Web pages of agents and their keys."""

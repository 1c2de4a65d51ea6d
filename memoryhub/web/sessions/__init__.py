"""Sessions of agents and who has seen what."""

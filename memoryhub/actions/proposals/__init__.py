"""Proposals of agents: what they would change now, and the decision of a person."""

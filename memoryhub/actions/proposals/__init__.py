"""Proposals of agents: what they would change in the current memories, and a person's decision about them."""

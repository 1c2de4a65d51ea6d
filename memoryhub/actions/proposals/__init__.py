"""Proposals of agents: their effect on the current memories, and the decisions of people about them."""

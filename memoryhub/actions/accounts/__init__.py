"""Acts on people, roles, agents, keys, passwords and sign-ins."""

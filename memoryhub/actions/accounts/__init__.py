"""People, roles, keys, passwords and sign-ins."""

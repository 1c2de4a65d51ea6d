"""Web pages for signing in, the person's own account, and the people of the hub."""

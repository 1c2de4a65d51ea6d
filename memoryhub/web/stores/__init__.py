"""Memory stores, their members, limits and deletion."""

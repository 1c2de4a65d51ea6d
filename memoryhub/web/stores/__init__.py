"""Web pages of memory stores, their members, limits and deletion."""

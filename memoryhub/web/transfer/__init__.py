"""Web pages of exports and imports."""

"""Web pages of search, the path finder, the palette and saved views."""

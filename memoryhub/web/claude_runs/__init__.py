"""Web pages on which people run Claude with a memory store, and see what it does."""

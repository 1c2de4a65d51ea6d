"""Web pages of proposals: the list of a memory store, and the page of one proposal."""

"""Web pages of proposals: the list of a memory store, and the page on which a person decides about one."""

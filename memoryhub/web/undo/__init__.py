"""Web pages of undo and restore, with a preview."""

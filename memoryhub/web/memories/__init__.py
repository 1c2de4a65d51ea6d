"""Web pages of memories and directories: the tree, one memory, selections and the trash."""

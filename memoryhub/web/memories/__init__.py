"""Memories and directories: the tree, a memory, selections, the trash."""

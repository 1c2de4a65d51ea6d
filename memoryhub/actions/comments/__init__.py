"""People's comments on memories: writing and resolving them, and finding their lines in later versions."""

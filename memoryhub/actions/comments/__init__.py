"""People's comments on memories: writing and resolving them, and the lines that they are on in later versions."""

"""The home page: what is dangerous, what awaits review, and what changed by itself."""

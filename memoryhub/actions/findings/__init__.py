"""Acts on sensitive text: the rules for it, its findings, and scans of the history."""

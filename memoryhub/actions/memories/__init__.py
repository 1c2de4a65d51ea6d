"""Acts on memories: tool calls, edits, the API, selections."""

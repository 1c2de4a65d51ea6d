"""Acts on memories: tool calls, edits by people, the API, selections."""

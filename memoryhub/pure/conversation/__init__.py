"""A conversation with Claude as data: its options, the guidance in its system prompt, and the messages to send."""

"""The MCP door: the memory tool, search and history for clients of the Model Context Protocol."""

"""Search and saved views."""

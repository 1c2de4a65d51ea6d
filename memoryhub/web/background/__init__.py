"""Web page of the background work."""

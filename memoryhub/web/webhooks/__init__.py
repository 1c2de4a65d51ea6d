"""Web pages of webhooks and their deliveries."""

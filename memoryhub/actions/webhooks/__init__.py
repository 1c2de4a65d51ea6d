"""Acts on webhooks, and their deliveries."""

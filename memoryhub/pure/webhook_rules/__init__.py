"""Rules of webhooks that need no database: events, the times of attempts, and signatures."""

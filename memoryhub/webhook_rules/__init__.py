"""Rules of webhooks that need no database: events, times of attempts, signatures."""

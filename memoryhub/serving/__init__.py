"""The web server around Django: reads bodies, runs whole requests in a bounded pool of threads, and sends answers."""

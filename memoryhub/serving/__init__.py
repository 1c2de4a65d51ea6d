"""The web server around Django: bodies in, whole requests to a bounded pool of threads, answers out."""

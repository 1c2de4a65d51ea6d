"""The web server around Django. It reads bodies, runs complete requests in a bounded pool of threads, and sends
answers."""

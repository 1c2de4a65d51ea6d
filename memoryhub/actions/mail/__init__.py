"""E-mail: what each person gets, what is due, and the outbox."""

"""E-mail: the messages that each person chose, the messages that are due, and the outbox."""

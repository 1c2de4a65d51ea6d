"""E-mail: the choice of messages, unsubscribing with one click, and the outbox for administrators."""

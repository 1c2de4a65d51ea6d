"""E-mail: the choice of messages that a person gets, unsubscribing with one click, and the outbox for
administrators."""

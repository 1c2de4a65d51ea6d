"""E-mail: what a person gets, ending it with one press, and the outbox for administrators."""

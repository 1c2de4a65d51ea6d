"""People: signing in, their account, who there is."""

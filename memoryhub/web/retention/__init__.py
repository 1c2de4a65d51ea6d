"""Web pages of retention policies, rehearsals, runs and legal holds."""

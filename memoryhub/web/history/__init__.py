"""Web pages of versions, comparisons, blame, changes and past moments."""

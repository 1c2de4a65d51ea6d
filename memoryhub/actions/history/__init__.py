"""Past states, blame, and the plans for restoring and undoing."""

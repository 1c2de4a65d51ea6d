"""Pure functions that compare, match, merge and fold texts."""

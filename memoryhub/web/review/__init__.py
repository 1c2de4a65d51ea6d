"""Web pages of the review inbox and its decisions."""

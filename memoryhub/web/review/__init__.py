"""The review inbox and its decisions."""

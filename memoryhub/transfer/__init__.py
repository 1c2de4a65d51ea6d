"""Formats in which memories move between hubs: the data they carry, and a writer and a reader for each."""

"""The formats in which memories move between hubs: the data they contain, and a writer and a reader for each."""

"""The audit: lists, entries, sentences, export."""

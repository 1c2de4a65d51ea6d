"""Web pages of the audit: lists of entries, one entry, sentences, export."""

"""Memories on their way between hubs: what is carried, how each format writes it and how it is read again."""

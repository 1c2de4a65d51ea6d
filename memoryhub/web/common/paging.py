"""The error for an invalid link to further rows, shared by the pages of all long lists."""


class BadPlace(ValueError):
    """A link to the further rows of a list names an invalid position. The links that the hub makes never do so."""

"""What the pages of every long list share."""


class BadPlace(ValueError):
    """The value of a link to further rows is not a place that a page has returned."""

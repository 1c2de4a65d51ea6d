"""The error that the pages of all long lists share."""


class BadPlace(ValueError):
    """The place in a link to further rows is invalid: the hub itself does not write such a place."""

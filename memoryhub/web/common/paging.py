"""The error that the pages of all long lists share."""


class BadPlace(ValueError):
    """The place in a link to further rows is invalid: no page has returned it."""

"""Code that the doors for programs share: the checks of a request, its key, cursors, and the errors of refused
requests."""

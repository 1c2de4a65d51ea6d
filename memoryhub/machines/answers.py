"""The JSON answers of the doors for programs."""

from http.cookies import SimpleCookie
from typing import Any

from django.http import BadHeaderError, HttpResponse
from django.http.response import ResponseHeaders


class _OwnHeaders(ResponseHeaders):
    """Headers that the hub itself writes. They are ASCII, so Django need not encode them."""

    def __init__(self, content_type: str) -> None:
        self._store = {"content-type": ("Content-Type", content_type)}

    def __setitem__(self, key: str, value: str | bytes | int) -> None:
        self._store[key.lower()] = key, _checked(value)

    def setdefault(self, key: str, value: str | bytes | int) -> None:
        self._store.setdefault(key.lower(), (key, _checked(value)))

    def items(self) -> Any:
        return self._store.values()


def _checked(value: str | bytes | int) -> str:
    text = str(value)
    if not (text.isascii() and text.isprintable()):
        raise BadHeaderError(f"A header has letters that are not ASCII, or a line end: {text!r}")
    return text


class JsonAnswer(HttpResponse):
    """JSON in ASCII. Values of headers must be ASCII text of the hub itself, never of the request."""

    def __init__(self, body: str) -> None:
        self.headers = _OwnHeaders("application/json")
        self._container = [body.encode()]
        self._charset = self._reason_phrase = self._handler_class = None
        self._resource_closers: list[Any] = []
        self.cookies, self.closed = SimpleCookie(), False

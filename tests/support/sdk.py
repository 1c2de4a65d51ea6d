"""Anthropic's SDK, unmodified, on the hub in this process."""

from typing import Any

import httpx2
from anthropic import Anthropic
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections


class InProcess(httpx2.WSGITransport):
    """The hub in this process. The connection to the database is the test's: a request must not close it."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        signals = (request_started, request_finished)
        for signal in signals:
            signal.disconnect(close_old_connections)
        try:
            response = super().handle_request(request)
            response.read()
            return response
        finally:
            for signal in signals:
                signal.connect(close_old_connections)


def sdk(secret: str, **options: Any) -> Anthropic:
    own = httpx2.Client(transport=InProcess(get_wsgi_application()))
    return Anthropic(base_url="http://testserver", api_key=secret, http_client=own, max_retries=0, **options)

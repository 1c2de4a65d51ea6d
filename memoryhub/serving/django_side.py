"""What a thread of the pool does with a request: Django answers it, and granian is given the answer."""

import logging
import sys
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import InterfaceError, OperationalError
from django.http import HttpResponseBase, parse_cookie
from django.urls import set_script_prefix

from memoryhub.serving import refusals
from memoryhub.serving.answers import Answers, NoRoom, headers_of_own
from memoryhub.serving.bodies import Body
from memoryhub.serving.known_keys import KnownKeys

logger = logging.getLogger(__name__)


class DjangoSide:
    """Runs in the threads of the pool; everything that it needs of the client is there already."""

    def __init__(self, answers: Answers) -> None:
        self.keys = KnownKeys()
        self._answers = answers
        self._handler = WSGIHandler()

    def answer(
        self, protocol: Any, environ: dict[str, Any], body: Body | None, finished: Callable[[], None], too_late: bool
    ) -> None:
        """Answers one request; `too_late` says that it waited so long for a thread that nobody may be left to hear."""
        try:
            if too_late:
                refuse(protocol, environ, refusals.BUSY)
                return
            environ["wsgi.input"] = BytesIO() if body is None else body.stream()
            environ["wsgi.errors"] = sys.stderr
            self._send(protocol, environ, self._response(environ))
        except NoRoom:
            logger.error("There is not enough disk space for the answer to %s", environ["PATH_INFO"])
            refuse(protocol, environ, refusals.NO_ROOM)
        except (OperationalError, InterfaceError):
            logger.exception("The database did not answer while an answer was made: %s", environ["PATH_INFO"])
            refuse(protocol, environ, refusals.NO_DATABASE)
        except Exception:
            logger.exception("An answer could not be made: %s", environ["PATH_INFO"])
            refuse(protocol, environ, refusals.FAILED)
        finally:
            finished()

    def is_signed_in(self, environ: dict[str, Any]) -> bool:
        """Whether the request's cookie is that of somebody's session."""
        session = parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
        store = import_module(settings.SESSION_ENGINE).SessionStore
        return session is not None and SESSION_KEY in store(session)

    def _response(self, environ: dict[str, Any]) -> HttpResponseBase:
        set_script_prefix("/")
        signals.request_started.send(sender=WSGIHandler, environ=environ)
        return self._handler.get_response(WSGIRequest(environ))

    def _send(self, protocol: Any, environ: dict[str, Any], response: HttpResponseBase) -> None:
        try:
            self._answers.send(protocol, response, is_head=environ["REQUEST_METHOD"] == "HEAD")
        finally:
            response.close()


def refuse(protocol: Any, environ: dict[str, Any], reason: refusals.Reason) -> None:
    """Answers without Django, and lets go of the connection; nothing happens where an answer was sent already."""
    response = refusals.refusal(environ["PATH_INFO"], reason)
    headers = [*headers_of_own(response), ("connection", "close")]
    protocol.response_bytes(response.status_code, headers, response.content)

"""The work of a pool thread on a request: Django answers it, and the answer is handed to granian."""

import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import Any, NoReturn

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponseBase, parse_cookie
from django.urls import set_script_prefix
from django.utils.functional import cached_property

from memoryhub.actions.core.hub.availability import is_unavailable
from memoryhub.actions.core.transactions import NotTogether, answer_together, watch
from memoryhub.database.watch import TookTooMuch
from memoryhub.doors import door_at
from memoryhub.machines import requests
from memoryhub.middleware import forwarded_headers, machines_door, private_answers
from memoryhub.pure import proxies
from memoryhub.serving import refusals
from memoryhub.serving.answers import Answers, NoRoom, headers_of_own
from memoryhub.serving.bodies import Body
from memoryhub.serving.connections import group_of
from memoryhub.serving.known import Known, KnownKeys
from memoryhub.serving.pool import Pool

logger = logging.getLogger(__name__)


class ProgramsRequest(HttpRequest):
    """A tool call as its door reads it: Django's request without the parts that only pages need."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self.environ = self.META = environ
        self.method, self.path_info = environ["REQUEST_METHOD"], environ["PATH_INFO"]

    @cached_property
    def body(self) -> bytes:
        content: bytes = self.environ["wsgi.input"].read()
        return content

    def _get_scheme(self) -> str:
        scheme: str = self.environ["wsgi.url_scheme"]
        return scheme


def _no_page(request: HttpRequest) -> NoReturn:
    raise LookupError(f"{request.path_info} belongs to no door of programs")


answer_program = private_answers(forwarded_headers(machines_door(_no_page)))
"""What Django's handler does for a program's request, without its signals and its checks for pages. A test compares the
answers with those of Django's handler."""


class DjangoSide:
    """Answers requests in threads of the pool, which never wait for a client."""

    def __init__(self, answers: Answers) -> None:
        self.keys, self.people = KnownKeys(), Known()
        self._answers = answers
        self._handler = WSGIHandler()

    def answer(
        self,
        protocol: Any,
        environ: dict[str, Any],
        body: Body | None,
        finished: Callable[[], None],
        longest_work: float,
        too_late: bool,
    ) -> None:
        """Answer one request, or stop it after `longest_work` seconds.

        If `too_late`, the request waited too long for a thread; it is refused, because its client may be gone.
        """
        try:
            if too_late:
                refuse(protocol, environ, refusals.BUSY)
            else:
                watch.run(partial(self._answer, protocol, environ, body), longest_work)
        except TookTooMuch as stopped:
            refuse(protocol, environ, reason_of(stopped, environ))
        except Exception as error:
            refuse(protocol, environ, reason_of(error, environ))
            close_old_connections()  # without a response, no signal does it
        finally:
            finished()

    def _answer(self, protocol: Any, environ: dict[str, Any], body: Body | None) -> None:
        if door_at(environ["PATH_INFO"]):
            response = self._response_to_program(_with_body(environ, body))
        else:
            response = self._response(_with_body(environ, body))
        self._send(protocol, environ, response)

    def answer_together(
        self, protocol: Any, environ: dict[str, Any], body: Body, finished: Callable[[], None], pool: Pool
    ) -> bool:
        """Offer a tool call to the committer. Return False if the committer does not take it.

        If the committer takes the call but cannot answer it together with others, the call is offered to the pool.
        """
        offered, whose = time.monotonic(), self.whose(environ)

        def work() -> HttpResponseBase | None:
            if time.monotonic() - offered > pool.longest_wait:
                return None
            return answer_program(ProgramsRequest(_with_body(environ, body)))

        def done(response: HttpResponseBase | None, error: BaseException | None) -> None:
            answer = partial(self.answer, protocol, environ, body, finished, pool.longest_work)
            if isinstance(error, NotTogether) and pool.offer(answer, whose):
                return
            try:
                if error is None and response is not None:
                    self._answers.send(protocol, response, is_head=False)
                elif error is None or isinstance(error, NotTogether):
                    refuse(protocol, environ, refusals.BUSY)
                else:
                    refuse(protocol, environ, reason_of(error, environ))
            except Exception as unsent:  # for example no disk space for a large answer
                refuse(protocol, environ, reason_of(unsent, environ))
            finally:
                finished()

        return answer_together(work, done, whose=whose, most_waiting=pool.most_waiting)

    def whose(self, environ: dict[str, Any]) -> object:
        """Return the id of the key or the person that sent a request. If neither was seen recently, return the group of
        the client's address.

        So a client that guesses keys does not use up the turns of a real key.
        """
        if secret := requests.secret_in(environ):
            known = self.keys.id_of(secret)
        else:
            session = _session_of(environ)
            known = session and self.people.id_of(session)
        return known or ("address", group_of(proxies.client_of(environ, settings.TRUSTED_PROXIES), ()))

    def is_signed_in(self, environ: dict[str, Any]) -> bool:
        """Return whether the request's cookie names the session of a signed-in person."""
        session = _session_of(environ)
        store = import_module(settings.SESSION_ENGINE).SessionStore
        return session is not None and SESSION_KEY in store(session)

    def _response_to_program(self, environ: dict[str, Any]) -> HttpResponseBase:
        request = WSGIRequest(environ)
        response = answer_program(request)
        if response.status_code < 500:
            self._note_who_asked(request)
        return response

    def _response(self, environ: dict[str, Any]) -> HttpResponseBase:
        set_script_prefix("/")
        signals.request_started.send(sender=WSGIHandler, environ=environ)
        request = WSGIRequest(environ)
        response = self._handler.get_response(request)
        if response.status_code < 500:  # with an error the database may not know the caller
            self._note_who_asked(request)
        return response

    def _note_who_asked(self, request: WSGIRequest) -> None:
        if key := request.META.get(requests.PROVEN):
            self.keys.note(requests.secret_of(request), key)
        session = getattr(request, "session", None)
        if session is not None and session.accessed and SESSION_KEY in session:
            self.people.note(session.session_key, session[SESSION_KEY])

    def _send(self, protocol: Any, environ: dict[str, Any], response: HttpResponseBase) -> None:
        try:
            self._answers.send(protocol, response, is_head=environ["REQUEST_METHOD"] == "HEAD")
        finally:
            response.close()


def _session_of(environ: dict[str, Any]) -> str | None:
    """Return the session key in the request's cookie; None if there is no such cookie."""
    return parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)


def _with_body(environ: dict[str, Any], body: Body | None) -> dict[str, Any]:
    """Return a copy of the environment with the body.

    Each attempt to answer a request needs its own copy, because an attempt changes the environment.
    """
    return {**environ, "wsgi.input": BytesIO() if body is None else body.stream(), "wsgi.errors": sys.stderr}


def reason_of(error: BaseException, environ: dict[str, Any]) -> refusals.Reason:
    """Log an error that occurred outside Django. Return the reason with which to refuse the request."""
    if isinstance(error, TookTooMuch):
        logger.error("A request took too much and was stopped: %s", environ["PATH_INFO"], exc_info=error)
        return refusals.STOPPED_LATE if error.has_committed else refusals.TOO_MUCH
    if isinstance(error, NoRoom):
        logger.error("There is not enough disk space for the answer to %s", environ["PATH_INFO"])
        return refusals.NO_ROOM
    if is_unavailable(error):
        logger.error("The database did not answer while an answer was made: %s", environ["PATH_INFO"], exc_info=error)
        return refusals.NO_DATABASE
    logger.error("An answer could not be made: %s", environ["PATH_INFO"], exc_info=error)
    return refusals.FAILED


def refuse(protocol: Any, environ: dict[str, Any], reason: refusals.Reason) -> None:
    """Send a refusal without Django, and close the connection. Do nothing if an answer was already sent."""
    response = refusals.refusal(environ["PATH_INFO"], reason)
    headers = [*headers_of_own(response), ("connection", "close")]
    protocol.response_bytes(response.status_code, headers, response.content)

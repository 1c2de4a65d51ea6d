"""Liveness (`/livez`: the process answers) and readiness (`/readyz`, `/healthz`: a call could be served and
audited)."""

import asyncio
import threading
import time

from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from memoryhub.actions.core import transactions
from memoryhub.actions.core.audit import keys
from memoryhub.actions.core.hub import availability, disk_space

FRESH_FOR = 1.0
FULL_FOR = 5.0
ANSWERED_WITHIN = 2.0
SILENT = "the database does not answer"
FULL = "the disk of the database is full"


def unready() -> str | None:
    """Return the reason why no call could be served now; None if one could.

    If a write found the disk full within the last FULL_FOR seconds, that is the reason. If a commit succeeded within
    the last FRESH_FOR seconds, there is no reason. Otherwise, a write is tried.
    """
    if time.monotonic() - transactions.Last.full < FULL_FOR:
        return FULL
    if time.monotonic() - transactions.Last.committed < FRESH_FOR:
        return None
    try:
        availability.prove_commit()
    except keys.Replaced:
        return "the audit key was rotated, and this process has the older one"
    except availability.ReadOnly:
        return "the database cannot be written to"
    except Error:
        return SILENT
    return None


def ready(reason: str | None) -> JsonResponse:
    """Return the response of a readiness probe. It is an error if there is a `reason` why no call can be served.

    Otherwise it is no error, but has a warning if the disk is full.
    """
    return answer(reason, FULL if disk_space.is_full() else None)


def answer(reason: str | None, warning: str | None = None) -> JsonResponse:
    """Return a response: 200 if `reason` is None, with the `warning` if there is one; otherwise 503 with the reason."""
    if reason is None:
        response = JsonResponse({"status": "ok"} | ({"warning": warning} if warning else {}))
    else:
        response = JsonResponse({"status": "error", "reason": reason}, status=503, headers={"Retry-After": "1"})
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    return answer(None)


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    return ready(unready())


class Readiness:
    """Tells an event loop whether the hub is ready. A thread asks the database at most once a second.

    If the thread gets no answer within ANSWERED_WITHIN seconds, the reason is SILENT.
    """

    def __init__(self) -> None:
        self._wanted = threading.Event()
        self._known: tuple[float, str | None] = (float("-inf"), SILENT)
        self._waiting: list[asyncio.Future[str | None]] = []

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        threading.Thread(target=self._run, name="readiness", daemon=True).start()

    async def reason(self) -> str | None:
        """Return the reason why no call could be served now; None if one could."""
        at, reason = self._known
        if time.monotonic() - at < FRESH_FOR:
            return reason
        answer: asyncio.Future[str | None] = self._loop.create_future()
        self._waiting.append(answer)
        self._wanted.set()
        try:
            return await asyncio.wait_for(answer, ANSWERED_WITHIN)
        except TimeoutError:
            return SILENT

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            try:
                reason = unready()
            except Exception:
                reason = SILENT
            self._known = (time.monotonic(), reason)
            if connection.vendor != "sqlite":
                connection.close()
            self._loop.call_soon_threadsafe(self._answer_waiting, reason)

    def _answer_waiting(self, reason: str | None) -> None:
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            if not answer.done():
                answer.set_result(reason)

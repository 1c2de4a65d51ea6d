"""Requests are read in granian's thread, answered by a pool of threads, and sent by granian.

granian's thread never waits for the database, and a thread of the pool never waits for a client. A request holds a
thread only while Django answers it. The coroutine of a request is run by `Steps`.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseNotAllowed

from memoryhub.actions.core import transactions
from memoryhub.api.app import TOOL_CALLS, find
from memoryhub.api.door import PREFIX
from memoryhub.background import tasks
from memoryhub.doors import door_at
from memoryhub.machines import requests
from memoryhub.operating import health
from memoryhub.serving import answers, heavy, processes, refusals
from memoryhub.serving.answers import Answers, headers_of_own
from memoryhub.serving.bodies import Body, End
from memoryhub.serving.connections import Guard, Limits, room_for_connections
from memoryhub.serving.django_side import DjangoSide, reason_of, refuse
from memoryhub.serving.environ import environ_of, is_too_large
from memoryhub.serving.options import Options
from memoryhub.serving.pool import Pool
from memoryhub.serving.steps import result_of
from memoryhub.web.common.uploads import DRAINED

logger = logging.getLogger(__name__)

MOST_IN_MEMORY = 128 * 1024 * 1024
MOST_ON_DISK = 2 * 1024 * 1024 * 1024
"""The most bytes, in memory and on the disk, of all bodies together that are being read or wait for a thread."""
FORM = 4 * 1024 * 1024
"""The most bytes of a form, not counting a file in it."""
SMALL = 64 * 1024
"""The largest body of a tool call that the committer may answer: to read a larger one would delay the other calls."""
TICK = 0.25
STOPPING_FOR = 10.0
"""Seconds after which a server that is stopping closes the remaining connections."""
PROBES = {"/livez": False, "/readyz": True, "/healthz": True}


class Unasked(Exception):
    """It could not be decided whether a body may be read: no thread was free, or the database did not answer."""

    def __init__(self, reason: refusals.Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class Application:
    """The RSGI callable. There is one in each worker process."""

    def __init__(self) -> None:
        self.options = Options.of_environment()
        self.pool, self.heavy = Pool(self.options.threads), heavy.pool()
        self.readiness = health.Readiness()
        self.answers = Answers(settings.DATA_DIR / answers.NAME)
        self.django = DjangoSide(self.answers)
        self.in_hand: dict[str, object] = {}
        self.bodies: set[Body] = set()
        self.reading: set[Body] = set()
        self.stopping = False
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------------------------- granian's calls

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        processes.end_with_parent()
        tasks.start(threading.Event())
        limits = Limits(room_for_connections(), self.options.by_address, self.options.trusted)
        self.guard = Guard(self.options.port, limits, self.in_hand, lambda: _wake(loop, self._stop))
        self.pool.start()
        self.heavy.start()
        transactions.watch.start()
        self.guard.start()
        self.readiness.start(loop)
        loop.call_later(TICK, self._tick)

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        path, client, request = scope.path, scope.client, object()
        if path in PROBES:
            await self._probe(protocol, scope.method, must_be_ready=PROBES[path])
            return
        with self._lock:
            self.in_hand[client] = request
        try:
            await self._serve(scope, protocol, path)
        finally:
            with self._lock:
                if self.in_hand.get(client) is request:  # the next request may have come on the same connection
                    del self.in_hand[client]

    # ------------------------------------------------------------------------------------------------------ a request

    async def _serve(self, scope: Any, protocol: Any, path: str) -> None:
        environ = environ_of(scope)
        if is_too_large(environ):
            refuse(protocol, environ, refusals.LARGE_HEADERS)
            return
        announced = environ.get("CONTENT_LENGTH", "0")
        length = int(announced) if announced.isdecimal() else 0
        if not length and "HTTP_TRANSFER_ENCODING" not in environ:
            await self._run(protocol, environ, None)
            return
        machines = door_at(path) is not None
        body = Body(protocol, length or None, settings.MEMORYHUB_BODY_BYTES if machines else FORM)
        self.bodies.add(body)
        try:
            if not machines:
                await self._make_room_for_file(environ, body)
            elif (length > body.most) or not await self._is_welcome(environ, path):
                await self._run(protocol, environ, None)
                await self._reading(body, body.drain())
                return
            await self._read_and_run(protocol, environ, body)
        except Unasked as unasked:  # without its body the request might get a wrong answer
            refuse(protocol, environ, unasked.reason)
        finally:
            self.bodies.discard(body)
            body.close()

    async def _read_and_run(self, protocol: Any, environ: dict[str, Any], body: Body) -> None:
        """Read the body and have the request answered.

        Of a body that is too large, one byte more than the limit is kept. The code that uses the body then notices that
        it is too large, and refuses the request.
        """
        end = await self._reading(body, body.read())
        if end is End.BROKEN:
            refuse(protocol, environ, refusals.BROKEN)
        elif end is End.CUT:
            refuse(protocol, environ, self._why_cut(body))
        else:
            await self._run(protocol, environ, body, await self._pool_of(environ))
            if end is End.TOO_LARGE:
                await self._reading(body, body.drain())

    async def _is_welcome(self, environ: dict[str, Any], path: str) -> bool:
        """Return whether to read the body of a program's request. It is read if the key is valid, and also if no
        operation of the API has this address."""
        if path.startswith(PREFIX) and find(path[len(PREFIX) :]) is None:
            return True
        keys, secret = self.django.keys, requests.secret_in(environ)
        return keys.id_of(secret) is not None or await self._ask(environ, partial(keys.look_up, secret))

    async def _make_room_for_file(self, environ: dict[str, Any], body: Body) -> None:
        """Allow a larger body, with a file, if a signed-in person sends the request. Anyone else may only send a
        form."""
        if body.length is not None and body.length <= FORM:
            return
        is_form = environ.get("CONTENT_TYPE", "").startswith("multipart/form-data")
        if is_form and await self._ask(environ, partial(self.django.is_signed_in, environ)):
            body.most += settings.MEMORYHUB_IMPORT["packed"]
            body.drained = DRAINED * settings.MEMORYHUB_IMPORT["packed"]

    async def _pool_of(self, environ: dict[str, Any]) -> Pool:
        """Return the pool that answers a request with a body: a separate pool for a heavy request of a signed-in person
        or a valid key."""
        path = environ["PATH_INFO"]
        if not heavy.is_heavy(path):
            return self.pool
        if door_at(path):  # for a known address the key was checked before the body was read
            may = path.startswith(PREFIX) and find(path[len(PREFIX) :]) is not None
        else:
            may = await self._ask(environ, partial(self.django.is_signed_in, environ))
        return self.heavy if may else self.pool

    async def _ask(self, environ: dict[str, Any], question: Callable[[], bool]) -> bool:
        """Have a thread of the pool answer a question about a request.

        Raises Unasked if too many requests wait, if this one waited too long, or if the question fails.
        """
        result: Future[bool | refusals.Reason] = Future()

        def job(too_late: bool) -> None:
            answer: bool | refusals.Reason = refusals.BUSY
            try:
                answer = answer if too_late else question()
            except Exception as error:
                answer = reason_of(error, environ)
            finally:
                result.set_result(answer)

        taken = self.pool.offer(job, self.django.whose(environ))
        answer = await result_of(result) if taken else refusals.BUSY
        if not isinstance(answer, bool):
            raise Unasked(answer)
        return answer

    async def _reading(self, body: Body, work: Coroutine[Any, Any, End | None]) -> End | None:
        """Run `work`, which reads a body; return how the reading ended.

        `_tick` ends the reading of a body that is too slow or too large.
        """
        self.reading.add(body)
        try:
            return await work
        except asyncio.CancelledError:
            return End.CUT
        except OSError:
            logger.exception("A body could not be stored")
            return End.CUT
        except (RuntimeError, StopAsyncIteration):  # granian raises these when the client has gone
            return End.BROKEN
        finally:
            self.reading.discard(body)

    async def _run(self, protocol: Any, environ: dict[str, Any], body: Body | None, pool: Pool | None = None) -> None:
        """Have a thread answer the request. The thread hands the answer to granian, and then continues this coroutine.

        If no thread takes the request, it is refused.
        """
        answered: Future[None] = Future()
        done = partial(answered.set_result, None)
        taken = False
        if body is not None and is_tool_call(environ, body):
            taken = self.django.answer_together(protocol, environ, body, done, self.pool)
        pool = pool or self.pool
        answer = partial(self.django.answer, protocol, environ, body, done, pool.longest_work)
        if taken or pool.offer(answer, self.django.whose(environ)):
            await result_of(answered)
        else:
            refuse(protocol, environ, refusals.BUSY)

    def _why_cut(self, body: Body) -> refusals.Reason:
        if self.stopping:
            return refusals.STOPPING
        return refusals.SLOW if body.is_too_slow(self.loop.time()) else refusals.BUSY

    # ------------------------------------------------------------------------------------------------------- the clock

    def _tick(self) -> None:
        """Refuse requests that waited too long for a thread, and cut bodies that are too slow.

        If all bodies together are too large, cut first those that are large and have paused long.
        """
        self.loop.call_later(TICK, self._tick)
        self.answers.forget()
        self.pool.refuse_late()
        self.heavy.refuse_late()
        now, bodies, reading = self.loop.time(), list(self.bodies), list(self.reading)
        memory = sum(body.in_memory for body in bodies) - MOST_IN_MEMORY
        disk = sum(body.on_disk for body in bodies) - MOST_ON_DISK
        for body in sorted(reading, key=lambda one: -one.kept * (now - one.last)):
            is_too_much = (memory > 0 and body.in_memory) or (disk > 0 and body.on_disk)
            if self.stopping or is_too_much or body.is_too_slow(now):
                body.cut()
                memory, disk = memory - body.in_memory, disk - body.on_disk

    def _stop(self) -> None:
        """Begin the shutdown. Call this when granian no longer accepts connections.

        Threads may finish their answers for STOPPING_FOR seconds. Then all connections are closed.
        """
        self.stopping = True
        self.loop.call_later(STOPPING_FOR, self.guard.cut, {"*"})

    # ------------------------------------------------------------------------------------------------------ its health

    async def _probe(self, protocol: Any, method: str, *, must_be_ready: bool) -> None:
        if method not in ("GET", "HEAD"):
            response: HttpResponse = HttpResponseNotAllowed(["GET", "HEAD"])
        else:
            response = health.ready(await self._reason()) if must_be_ready else health.answer(None)
        protocol.response_bytes(response.status_code, headers_of_own(response), response.content)

    async def _reason(self) -> str | None:
        return await result_of(asyncio.run_coroutine_threadsafe(self.readiness.reason(), self.loop))


def is_tool_call(environ: dict[str, Any], body: Body) -> bool:
    """Return whether a request is a tool call of at most SMALL bytes, which the committer may answer."""
    path = environ["PATH_INFO"]
    if body.kept > SMALL or environ["REQUEST_METHOD"] != "POST" or not path.startswith(PREFIX) or not path.isascii():
        return False
    found = find(path[len(PREFIX) :])
    return found is not None and found[0] is TOOL_CALLS


def _wake(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(call)

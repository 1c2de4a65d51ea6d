"""Divides each request into steps, none of which blocks its thread.

When a request must wait for a result, its step ends, and the thread is free for other requests. The thread that brings
the result then runs the next step of the request, so no other thread has to be woken. An event loop would have to wake
its own thread for each step.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextvars import Context
from types import coroutine
from typing import Any, TypeVar

from granian import loops

T = TypeVar("T")


class Steps:
    """The coroutine of one request.

    A call of this object runs the coroutine up to the next future that has no result yet. When that future has its
    result, the future calls the object again, in the thread that brought the result. The coroutine may await granian's
    futures and, with `result_of`, futures of `concurrent.futures`.
    """

    __slots__ = ("_coroutine",)

    def __init__(self, of: Coroutine[Any, None, None]) -> None:
        self._coroutine = of

    def __call__(self, awaited: Any = None) -> None:
        try:
            while awaited is None or awaited.done():
                if awaited is not None and awaited.cancelled():
                    awaited = self._coroutine.throw(asyncio.CancelledError())
                else:
                    awaited = self._coroutine.send(None)
        except StopIteration:
            return
        awaited.add_done_callback(self)


@coroutine
def result_of(future: Future[T]) -> Generator[Future[T], None, T]:
    """Wait for a future in the coroutine of a request."""
    if not future.done():
        yield future
    return future.result()


class Loop(asyncio.SelectorEventLoop):
    """The event loop of a worker process. It runs timers, but no requests."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle | None:
        """Run the first or the next steps of a request at once, in granian's thread.

        A coroutine with a context is a new request, because only granian passes a context here.
        """
        if isinstance(callback, Steps):
            callback(*args)
        elif context is not None and asyncio.iscoroutine(args[0]):
            Steps(args[0])()
        else:
            return super().call_soon_threadsafe(callback, *args, context=context)
        return None

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle | None:
        """Run the next steps of a request at once if the future for which it waits has its result or was cancelled."""
        if isinstance(callback, Steps):
            callback(*args)
            return None
        return super().call_soon(callback, *args, context=context)


class LoopName(str):
    """The name under which granian knows `Loop`. A worker process that unpickles it imports this module, which
    registers the name."""

    __slots__ = ()


LOOP = LoopName("memoryhub")


@loops.register(LOOP)
def _new_loop() -> Loop:
    loop = Loop()
    asyncio.set_event_loop(loop)
    return loop

"""Asks Claude's API for one answer with the official SDK, in a thread of its own.

The SDK sends a request again after 429, 500, 529 and lost connections. If these tries fail too, the SDK raises an
error, which becomes a `Failed`. The SDK is imported only when it is needed, because it is large.
"""

import logging
import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memoryhub.pure.conversation.messages import about_tokens

logger = logging.getLogger(__name__)

RETRIES = 3
"""How often the SDK sends a request again."""
TIMEOUT = 120.0
"""Seconds that the API may be silent: it sends a sign every few seconds while it answers."""

CODES = {400: "bad_request", 401: "wrong_key", 403: "forbidden", 404: "no_model", 413: "too_large",
         429: "rate_limited", 529: "overloaded"}  # fmt: skip
"""{status of the API's answer: the problem in one word}."""
_OF_TYPES = {"overloaded_error": "overloaded", "rate_limit_error": "rate_limited"}


class Failed(Exception):
    """The API sent no answer, or broke it off. `code` is one word, `detail` what the API said."""

    def __init__(self, code: str, detail: str = "", status: int | None = None) -> None:
        super().__init__(code)
        self.code, self.detail, self.status = code, detail, status

    @property
    def is_refusal(self) -> bool:
        """Return whether the API refused the request. A refused request used no tokens."""
        return self.status is not None and self.status >= 400

    def as_problem(self, secret: str) -> dict[str, Any]:
        """Return the content of the event that records the failure, without the key of the API (`secret`)."""
        detail = self.detail.replace(secret, "…") if secret else self.detail
        return {"code": self.code, **({"detail": detail[:2_000]} if detail else {})}


@dataclass(frozen=True, slots=True)
class Tick:
    """No part of the answer has arrived for `Api.tick` seconds."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the answer, as far as it has arrived. `index` is the block's place in the answer."""

    index: int
    block: dict[str, Any]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """The answer has begun. It is made from `input_tokens` tokens."""

    input_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer: its blocks, why it ended, the tokens that it used, and the edits that the API made to the
    context."""

    blocks: list[dict[str, Any]]
    stop_reason: str
    usage: dict[str, Any]
    edits: list[dict[str, Any]]


def context_of(usage: dict[str, Any]) -> int:
    """Return the number of tokens from which an answer was made, including tokens read from a cache."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def total_of(usage: dict[str, Any]) -> int:
    """Return how many tokens an answer used, including the tokens of a summary that the API made.

    If the API made a summary, each part of `iterations` has the usage of one step.
    """
    parts = usage.get("iterations") or [usage]
    return sum(context_of(part) + (part.get("output_tokens") or 0) for part in parts)


class Api:
    """Claude's API, at an address and with a key."""

    def __init__(self, key: str, address: str, tick: float) -> None:
        self.key, self.address, self.tick = key, address, tick
        self._client: Any = None

    def count(self, parameters: dict[str, Any]) -> Iterator[Tick | int]:
        """Yield ticks, and then the number of tokens in a request. If the API does not count them, yield an estimate.

        Raises Failed if the API cannot be reached or refuses the key.
        """
        asked = {name: value for name, value in parameters.items() if name != "cache_control"}
        try:
            yield from self._aside(lambda put: put(self._client.beta.messages.count_tokens(**asked).input_tokens))
        except Failed as failed:
            if failed.code in ("wrong_key", "forbidden", "unreachable"):
                raise
            yield about_tokens([asked["messages"], asked.get("system", "")]) + 1_000

    def models(self) -> list[dict[str, Any]]:
        """Return the models that the API offers, newest first, as dictionaries of the SDK. Raises Failed."""
        self._have_client()
        try:
            return [model.to_dict() for model in self._client.beta.models.list(limit=1_000)]
        except Exception as error:
            raise _failed(error) from error

    def answer(self, parameters: dict[str, Any]) -> Iterator[Tick | Begun | Block | Answer]:
        """Yield the parts of an answer as they arrive, with ticks in between; the last item is the Answer. Raises
        Failed.

        To stop, close the iterator.
        """
        yield from self._aside(lambda put: _read(self._client, parameters, put))

    def _aside(self, ask: Callable[[Callable[[Any], None]], None]) -> Iterator[Any]:
        """Run `ask`, which waits for the API, in another thread.

        `ask` gets a function. Yield each item that `ask` passes to this function, and ticks in between.
        """
        came: queue.SimpleQueue[Any] = queue.SimpleQueue()
        given_up = threading.Event()

        def put(item: Any) -> None:
            if given_up.is_set():
                raise _GivenUp
            came.put(item)

        def work() -> None:
            try:
                self._have_client()
                ask(put)
                came.put(_END)
            except _GivenUp:
                pass
            except BaseException as error:
                came.put(_failed(error))

        threading.Thread(target=work, name="claude-answer", daemon=True).start()
        try:
            while (item := _next(came, self.tick)) is not _END:
                if isinstance(item, Failed):
                    raise item
                yield item
        finally:
            given_up.set()

    def _have_client(self) -> None:
        import anthropic

        if self._client is None:
            self._client = anthropic.Anthropic(
                api_key=self.key, base_url=self.address, max_retries=RETRIES, timeout=TIMEOUT
            )


class _GivenUp(Exception):
    """No one waits for the answer any more."""


_END = object()


def _next(came: "queue.SimpleQueue[Any]", tick: float) -> Any:
    try:
        return came.get(timeout=tick)
    except queue.Empty:
        return Tick()


def _read(client: Any, parameters: dict[str, Any], put: Callable[[Any], None]) -> None:
    """Read one streamed answer, and pass each part to `put`."""
    with client.beta.messages.stream(**parameters) as stream:
        usage: dict[str, Any] = {}
        edits: list[dict[str, Any]] = []
        for event in _events(stream):
            if event.type == "message_start":
                usage = _counts(event.message.usage.to_dict())
                put(Begun(context_of(usage)))
            elif event.type in ("content_block_start", "content_block_delta", "content_block_stop"):
                block = stream.current_message_snapshot.content[event.index].to_dict()
                put(Block(event.index, _plain(block), event.type != "content_block_stop"))
            elif event.type == "message_delta":
                told = _counts(event.usage.to_dict())
                usage |= {name: value for name, value in told.items() if value is not None}
                if event.context_management is not None:
                    edits = [edit.to_dict() for edit in event.context_management.applied_edits]
        if not usage:  # it ended before it began
            raise Failed("broke_off")
        message = stream.get_final_message()
        if message.stop_reason is None:
            raise Failed("broke_off")
        blocks = [_plain(block.to_dict()) for block in message.content]
        put(Answer(blocks, message.stop_reason, usage, edits))


def _events(stream: Any) -> Iterator[Any]:
    """Yield the events of a stream. Raises Failed if an event is not JSON.

    The SDK's own error is not raised, because it would quote the answer.
    """
    try:
        yield from stream
    except ValueError:
        raise Failed("unreadable") from None


def _counts(told: Any) -> Any:
    """Return the usage that the API has sent. Negative numbers become 0, because they would increase a budget."""
    if isinstance(told, dict):
        return {name: _counts(value) for name, value in told.items()}
    if isinstance(told, list):
        return [_counts(one) for one in told]
    return max(0, told) if isinstance(told, int | float) else told


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "parsed_output"}


def _failed(error: BaseException) -> Failed:
    """Return an error of the SDK in the hub's own words."""
    import anthropic

    if isinstance(error, Failed):
        return error
    if isinstance(error, anthropic.APIStatusError):
        return _refused(error.status_code, error.body, error.message)
    if isinstance(error, anthropic.APITimeoutError):
        return Failed("timed_out")
    if isinstance(error, anthropic.APIConnectionError):
        return Failed("unreachable", str(error.__cause__ or ""))
    is_of_connection = type(error).__module__.startswith(("httpx", "httpcore", "anthropic"))
    if is_of_connection or isinstance(error, ValueError):  # ValueError: what came is no JSON
        return Failed("broke_off")
    # Not the message of the error: it may quote the answer.
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("An answer of Claude could not be read: %s\n%s", type(error).__name__, where)
    return Failed("hub_error")


def _refused(status: int, body: Any, message: str) -> Failed:
    told = body.get("error") if isinstance(body, dict) else None
    told = told if isinstance(told, dict) else {}
    detail, kind = str(told.get("message") or message), str(told.get("type") or "")
    if status < 400:  # an error in the middle of an answer that had begun
        return Failed(_OF_TYPES.get(kind, "broke_off"), detail, status)
    return Failed(CODES.get(status, "api_error" if status >= 500 else "bad_request"), detail, status)

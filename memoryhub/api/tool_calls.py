"""The tool's endpoint: takes a `tool_use` block or an assistant message and returns what to send back to the model."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from ninja import Router

from memoryhub import tool
from memoryhub.actions.core import tree
from memoryhub.actions.core.rules.limits import Usage
from memoryhub.actions.core.transactions import my_turn, require_own_thread
from memoryhub.actions.memories import calls
from memoryhub.actions.memories.calls import Caller
from memoryhub.actions.memories.refusals import Refusal
from memoryhub.api.openapi.tool import TOOL_CALLS
from memoryhub.machines import requests
from memoryhub.machines.answers import JsonAnswer
from memoryhub.machines.errors import REUSED, Problem, reused
from memoryhub.models import Door
from memoryhub.pure import compact_json, strict_json
from memoryhub.tool import ToolResult, ToolUse

router = Router()

TOOL_NAME = "memory"
LONGEST_ID = 128
MOST_BLOCKS = 100
LONGEST_IDEMPOTENCY_KEY = 255

_encode = compact_json.writer()


class Incoming(NamedTuple):
    """A valid request: the blocks to run in order, and whether they came as an assistant message."""

    tool_uses: list[ToolUse]
    is_message: bool
    session: str | None


@router.post(
    "/memory_stores/{memory_store_id}/tool_calls", auth=None, summary="Run memory tool calls",
    openapi_extra=TOOL_CALLS,
)  # fmt: skip
def tool_calls(request: HttpRequest, memory_store_id: str) -> HttpResponse:
    """Runs the calls of one `tool_use` block or of an assistant message, and returns what to send back to the model.

    Each block runs in its own transaction and has its own audit entry. An error of the tool, such as a write with a key
    that may only read, is 200 with `is_error`: it is an answer for the model. A block sent again with the same `id` (or
    `Idempotency-Key`) within 7 days gets the same answer and changes nothing.
    """
    elapsed = requests.stopwatch()
    body = requests.body_of(request)
    requests.require_method(request, "POST")
    at = requests.moment_of(request)
    with my_turn():
        caller = requests.caller_of(request, memory_store_id, at)
        requests.require_size(body, caller)
        incoming = _incoming(request, body)
        if len(incoming.tool_uses) > 1:
            require_own_thread()
        try:
            results = _run(memory_store_id, incoming, caller, at, elapsed)
        except calls.TokenReused as error:
            token = str(error)
            refusal = Refusal(memory_store_id, 422, REUSED, token=token)
            requests.note_refusal(request, caller, refusal, door=Door.TOOL, at=at)
            raise Problem.invalid(reused(token), 422) from None
        return _answer(results, incoming.is_message)


def _incoming(request: HttpRequest, body: bytes) -> Incoming:
    value = requests.json_of(request, body)
    session = requests.session_of(request)
    key = requests.visible_header(request, "Idempotency-Key", LONGEST_IDEMPOTENCY_KEY)
    if value.get("type") == "tool_use":
        blocks, is_message = [_block(value)], False
    elif value.get("role") == "assistant":
        blocks, is_message = _blocks_of_message(value), True
    else:
        raise Problem.invalid('The body must be a block of type "tool_use" or a message of role "assistant".')
    if strict_json.may_be_doubtful(body) and strict_json.doubtful(_without_inputs(value)):
        raise Problem.invalid("A string outside `input` has an unpaired surrogate or a NUL character.")
    tool_uses = [
        ToolUse.of(block["id"], block["input"], None if key is None else f"{key}#{position}")
        for position, block in enumerate(blocks)
    ]
    return Incoming(tool_uses, is_message, session)


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Return the block if it is valid; raises Problem (400)."""
    id = block.get("id")
    if not isinstance(id, str) or not 1 <= len(id) <= LONGEST_ID:
        raise Problem.invalid(f"A tool_use block needs an `id`: a string of 1 to {LONGEST_ID} characters.")
    if block.get("name") != TOOL_NAME:
        raise Problem.invalid(f'The `name` of a tool_use block must be "{TOOL_NAME}".')
    if not isinstance(block.get("input"), dict):
        raise Problem.invalid("A tool_use block needs an `input`: an object.")
    return block


def _blocks_of_message(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise Problem.invalid("The `content` of a message must be a list of blocks.")
    blocks = [_block(block) for block in content if _is_call(block)]
    if not blocks:
        raise Problem.invalid(f'The message has no tool_use block named "{TOOL_NAME}".')
    if len(blocks) > MOST_BLOCKS:
        raise Problem.invalid(f"The message has {len(blocks)} memory calls; {MOST_BLOCKS} are the most in one.")
    if len({block["id"] for block in blocks}) < len(blocks):
        raise Problem.invalid("Two tool_use blocks of the message have the same `id`.")
    return blocks


def _is_call(block: dict[str, Any]) -> bool:
    """Return whether a block of a message calls the memory tool."""
    return block.get("type") == "tool_use" and block.get("name") == TOOL_NAME


def _without_inputs(value: dict[str, Any]) -> dict[str, Any]:
    """Return a block or message without the inputs of its calls of the memory tool."""
    if value.get("type") == "tool_use":
        return {key: item for key, item in value.items() if key != "input"}
    return {**value, "content": [_without_inputs(block) if _is_call(block) else block for block in value["content"]]}


def _refuse_reused_tokens(store_id: str, caller: Caller, tool_uses: list[ToolUse]) -> None:
    """Raise TokenReused if one of the blocks has run before with another input. This is checked before any block
    runs."""
    for tool_use in tool_uses:
        if calls.is_reused(store_id, caller.key, tool_use.token, tool_use.digest):
            raise calls.TokenReused(tool_use.token)


def _run(
    store_id: str, incoming: Incoming, caller: Caller, at: datetime, elapsed: Callable[[], int]
) -> list[ToolResult]:
    if len(incoming.tool_uses) > 1:
        _refuse_reused_tokens(store_id, caller, incoming.tool_uses)
    try:
        return [
            tool.execute(
                store_id,
                tool_use,
                caller=caller,
                at=at,
                session=incoming.session,
                elapsed=elapsed,
                counts=0 if position else len(incoming.tool_uses),
            )
            for position, tool_use in enumerate(incoming.tool_uses)
        ]
    except calls.NotRun as error:
        raise Problem.not_run(error) from None
    except tree.NoSuchStore:
        raise Problem.no_store() from None


def _answer(results: list[ToolResult], is_message: bool) -> HttpResponse:
    blocks = [result.block() for result in results]
    body = {"role": "user", "content": blocks} if is_message else blocks[0]
    response = JsonAnswer(_encode(body))
    if any(result.replayed for result in results):
        response.headers["Idempotent-Replay"] = "true"
    response.headers["Memoryhub-Usage"] = _usage(results[-1].usage, results[0].usage.calls)
    return response


def _usage(usage: Usage, calls: int | None) -> str:
    """Return the store's usage as a dictionary of RFC 8941: each count, with its limit if one is set."""
    limits = usage.limits
    figures = [_figure("memories", usage.memories, limits.memories)] if usage.memories is not None else []
    if usage.total_bytes is not None:
        figures.append(_figure("bytes", usage.total_bytes, limits.total_bytes))
    if calls is not None:
        figures.append(_figure("calls", calls, limits.calls))
    return ", ".join(figures)


def _figure(name: str, count: int, limit: int | None) -> str:
    return f"{name}={count}" if limit is None else f"{name}={count};limit={limit}"

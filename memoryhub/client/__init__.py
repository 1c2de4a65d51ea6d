"""Claude's memory tool with its memories in a MemoryHub, for the tool runner of Anthropic's SDK.

The modules in this package are also installed separately, without the hub, so they import only the SDK.
"""

import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast
from urllib.parse import quote

import anthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

__all__ = ["AsyncHubMemoryTool", "HubError", "HubMemoryTool", "ToolError"]

TIMEOUT = 60.0
"""Seconds that one attempt may take."""
MOST_DELETES = 100
"""How many tool calls the hub accepts in one request."""
_UNLISTED = "/memories/.anthropic-memory-store"
"""A path that the memory_stores API never lists: only the tool reaches a memory with the name of the SDK's marker."""
_LAST = {"command": "delete", "path": _UNLISTED}
ENVIRONMENT = {
    "url": "MEMORYHUB_URL",
    "key": "MEMORYHUB_KEY",
    "store": "MEMORYHUB_STORE",
    "session": "MEMORYHUB_SESSION",
}

_VISIBLE = re.compile(r"[!-~]+")
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode

Block = dict[str, Any]
CacheControl = BetaCacheControlEphemeralParam


class HubError(Exception):
    """The hub refused a call, or the outcome of the call is unknown. An error of the tool itself is a ToolError
    instead.

    `status` and `type` are from the hub's answer; they are None if no answer came. `request_id` names the request in
    the hub's log. If a message had too many calls, `most_calls` is how many the memory store allows in one message.
    """

    most_calls: int | None = None

    def __init__(
        self, message: str, status: int | None = None, type: str | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.type, self.request_id = message, status, type, request_id


class HubMemoryTool(BetaAbstractMemoryTool):
    """The memory tool on one memory store of a hub.

    `session` names the agent's run in the audit (1 to 128 visible ASCII characters). The client retries as the SDK
    does; a call whose answer was lost runs only once. No redirect is followed: only the hub may receive a memory.
    """

    def __init__(
        self,
        url: str,
        key: str,
        store: str,
        *,
        session: str | None = None,
        cache_control: CacheControl | None = None,
        timeout: float | anthropic.Timeout | None = TIMEOUT,
        max_retries: int = anthropic.DEFAULT_MAX_RETRIES,
        http_client: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._hub = _Hub(url, key, store, session)
        self._client = anthropic.Anthropic(
            base_url=self._hub.url,
            api_key=key,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client or anthropic.DefaultHttpxClient(follow_redirects=False),
        )
        _forget_environment(self._client)

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """Return a tool from MEMORYHUB_URL, MEMORYHUB_KEY, MEMORYHUB_STORE and MEMORYHUB_SESSION; `options` override
        them."""
        return cls(**_with_environment(options))

    def call(self, input: object) -> str:
        """Run one command as the model sent it. The hub checks the command."""
        return self._run(_plain(input))

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        return self._run(_plain(command))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._run(_plain(command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._run(_plain(command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self._run(_plain(command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self._run(_plain(command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._run(_plain(command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._run(_plain(command))

    def clear_all_memory(self) -> str:
        """Delete all memories, until the root is empty. They can be restored on the hub.

        Raises ToolError with the hub's sentence if the hub does not delete a memory, for example because of a legal
        hold. Other memories may have been deleted before.
        """
        sent, most = dict[str, str](), MOST_DELETES
        while paths := _paths(self._hub, self._get(self._hub.at_root)):
            _raise_if_again(sent, paths)
            try:
                sent = _answers(self._hub, paths[:most], self._post(_message(paths[:most])))
            except HubError as error:
                most = _fewer(error, most)
        _raise_unless_gone(self._hub, self._post(_block(_LAST)))
        return "All memory cleared"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, input: object) -> str:
        return _outcome(self._hub, self._post(_block(input)))

    def _post(self, body: Block) -> object:
        token = _token(body)
        try:
            return self._client.post(
                self._hub.tool_calls, cast_to=object, content=_encode(body).encode(), options=self._hub.options(token)
            )
        except anthropic.APIError as error:
            raise _hub_error(self._hub, error) from error

    def _get(self, address: str) -> object:
        try:
            return self._client.get(address, cast_to=object, options=self._hub.options())
        except anthropic.APIError as error:
            raise _hub_error(self._hub, error) from error


class AsyncHubMemoryTool(BetaAsyncAbstractMemoryTool):
    """HubMemoryTool for the async tool runner."""

    def __init__(
        self,
        url: str,
        key: str,
        store: str,
        *,
        session: str | None = None,
        cache_control: CacheControl | None = None,
        timeout: float | anthropic.Timeout | None = TIMEOUT,
        max_retries: int = anthropic.DEFAULT_MAX_RETRIES,
        http_client: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._hub = _Hub(url, key, store, session)
        self._client = anthropic.AsyncAnthropic(
            base_url=self._hub.url,
            api_key=key,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client or anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        _forget_environment(self._client)

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """Return a tool configured by the environment, as HubMemoryTool.from_env does."""
        return cls(**_with_environment(options))

    async def call(self, input: object) -> str:
        """Run one command as the model sent it. The hub checks the command."""
        return await self._run(_plain(input))

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        return await self._run(_plain(command))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._run(_plain(command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._run(_plain(command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._run(_plain(command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self._run(_plain(command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._run(_plain(command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._run(_plain(command))

    async def clear_all_memory(self) -> str:
        """Delete all memories, as HubMemoryTool.clear_all_memory does."""
        sent, most = dict[str, str](), MOST_DELETES
        while paths := _paths(self._hub, await self._get(self._hub.at_root)):
            _raise_if_again(sent, paths)
            try:
                sent = _answers(self._hub, paths[:most], await self._post(_message(paths[:most])))
            except HubError as error:
                most = _fewer(error, most)
        _raise_unless_gone(self._hub, await self._post(_block(_LAST)))
        return "All memory cleared"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, input: object) -> str:
        return _outcome(self._hub, await self._post(_block(input)))

    async def _post(self, body: Block) -> object:
        token = _token(body)
        try:
            return await self._client.post(
                self._hub.tool_calls, cast_to=object, content=_encode(body).encode(), options=self._hub.options(token)
            )
        except anthropic.APIError as error:
            raise _hub_error(self._hub, error) from error

    async def _get(self, address: str) -> object:
        try:
            return await self._client.get(address, cast_to=object, options=self._hub.options())
        except anthropic.APIError as error:
            raise _hub_error(self._hub, error) from error


# ------------------------------------------------------------------------------------------------ text in, text out


class _Hub:
    """The hub's addresses for the tool's requests, and their headers. Raises ValueError for invalid arguments."""

    def __init__(self, url: str, key: str, store: str, session: str | None) -> None:
        for name, value in (("url", url), ("key", key), ("store", store)):
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"`{name}` is missing: HubMemoryTool(url, key, store)")
        if not re.match(r"https?://[^/]", url):
            raise ValueError(f"`url` is not the address of a hub, such as https://hub.example.com: {url}")
        if session is not None and not (len(session) <= 128 and _VISIBLE.fullmatch(session)):
            raise ValueError("`session` must have 1 to 128 visible ASCII characters")
        self.url, self._key, self._session = url.rstrip("/"), key.strip(), session
        of_store = f"/v1/memory_stores/{quote(store.strip(), safe='')}"
        self.tool_calls = f"{of_store}/tool_calls"
        self.at_root = f"{of_store}/memories?path_prefix=/&depth=1&limit={MOST_DELETES}"

    def options(self, token: str | None = None) -> Any:
        """Return the SDK's options for a request: headers, which override those that the SDK sets."""
        headers = {"Authorization": f"Bearer {self._key}"}
        if self._session is not None:
            headers["Memoryhub-Session"] = self._session
        if token is not None:
            headers |= {"Idempotency-Key": token, "Content-Type": "application/json"}
        return {"headers": headers}


def _forget_environment(client: anthropic.Anthropic | anthropic.AsyncAnthropic) -> None:
    """Drop headers that the environment sets for Anthropic's API: they must not be sent to the hub."""
    client._custom_headers = {}


def _with_environment(options: dict[str, Any]) -> dict[str, Any]:
    found = {name: os.environ[variable] for name, variable in ENVIRONMENT.items() if os.environ.get(variable)}
    missing = [ENVIRONMENT[name] for name in ("url", "key", "store") if name not in {**found, **options}]
    if missing:
        raise ValueError(f"Set {', '.join(missing)} in the environment")
    return {**found, **options}


def _plain(command: object) -> object:
    """Return a command as the model sent it, even if the SDK has parsed it into an object."""
    if hasattr(command, "model_dump"):
        return command.model_dump(mode="json", exclude_unset=True)
    return dict(command) if isinstance(command, Mapping) else command


def _block(input: object) -> Block:
    """Return a tool_use block with a fresh id, because the runner does not pass the model's id to a tool."""
    return {"type": "tool_use", "id": f"toolu_hub_{uuid.uuid4().hex}", "name": "memory", "input": input}


def _message(paths: Sequence[str]) -> Block:
    """Return the assistant message that deletes `paths`, which are paths of the API: without `/memories`."""
    deletes = [_block({"command": "delete", "path": f"/memories{path}"}) for path in paths]
    return {"role": "assistant", "content": deletes}


def _token(body: Block) -> str:
    return str(body["id"] if "id" in body else body["content"][0]["id"])


def _outcome(hub: _Hub, answer: object) -> str:
    """Return the text of a tool_result block. Raises ToolError with that text if the block is an error."""
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), str) or "is_error" not in answer:
        raise _no_hub(hub)
    if answer["is_error"]:
        raise ToolError(answer["content"])
    return cast(str, answer["content"])


def _paths(hub: _Hub, page: object) -> list[str]:
    """Return the paths in one page of the root's listing, without the final `/` of directories.

    Raises HubError if `page` is no such listing: then no hub is at the tool's address."""
    if not isinstance(page, dict) or not isinstance(page.get("data"), list):
        raise _no_hub(hub)
    return [str(item["path"]).rstrip("/") for item in page["data"]]


def _answers(hub: _Hub, paths: Sequence[str], answer: object) -> dict[str, str]:
    """Return {path: the hub's answer about the deletion of this path}."""
    results = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(paths):
        raise _no_hub(hub)
    return {path: str(result["content"]) for path, result in zip(paths, results, strict=True)}


def _raise_if_again(sent: Mapping[str, str], paths: Sequence[str]) -> None:
    """Raise ToolError, with the hub's answer, if one of `paths` is still listed after its deletion was sent."""
    for path in paths:
        if path in sent:
            raise ToolError(sent[path])


def _fewer(error: HubError, most: int) -> int:
    """Return how many deletions the next message has: `error.most_calls` minus two, but at least one.

    Raise `error` unless 1 <= `error.most_calls` < `most`."""
    if not isinstance(error.most_calls, int) or not 1 <= error.most_calls < most:
        raise error
    return max(1, error.most_calls - 2)


def _raise_unless_gone(hub: _Hub, answer: object) -> None:
    """Raise ToolError if the path _UNLISTED could not be deleted, except if nothing is at this path."""
    try:
        _outcome(hub, answer)
    except ToolError as error:
        if error.content != f"Error: The path {_UNLISTED} does not exist":
            raise


def _no_hub(hub: _Hub) -> HubError:
    return HubError(f"The server at {hub.url} is not a MemoryHub: its answer has another form")


def _hub_error(hub: _Hub, error: anthropic.APIError) -> HubError:
    if not isinstance(error, anthropic.APIStatusError):
        why = "in time" if isinstance(error, anthropic.APITimeoutError) else f"({error.__cause__ or error.message})"
        return HubError(f"MemoryHub at {hub.url} did not answer {why}")
    if not error.api_message:
        return HubError(f"{hub.url} answered with HTTP {error.status_code} and not as a MemoryHub", error.status_code)
    message = f"MemoryHub at {hub.url} refused the call: {error.api_message} (HTTP {error.status_code}"
    message += f", {error.request_id})" if error.request_id else ")"
    refused = HubError(message, error.status_code, error.type, error.request_id)
    if isinstance(error.body, dict) and isinstance(details := error.body.get("error"), dict):
        refused.most_calls = details.get("most_calls")
    return refused

"""Reads the memories of another store through the memory_stores API of Anthropic or of another hub."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import Brought
from memoryhub.pure import outgoing
from memoryhub.pure.actors import ID_OF
from memoryhub.pure.transfer import histories, reading
from memoryhub.pure.transfer.bundle import Author, Bundle, BundledMemory, BundledVersion, Refused
from memoryhub.pure.transfer.reading import Bounds, Read

PAGE = 20
"""The number of memories with texts on a page."""
SECONDS, WHOLE = 30, 1_800
"""The longest time, in seconds, for one step of an answer, and for reading the whole store."""
LARGEST = 32 * 1024 * 1024
"""The most bytes of one answer."""
STRANGE = "The other side did not answer as the memory_stores API does."
_WHY = {
    "malformed": "It is not an address.",
    "scheme": "The address must begin with https://.",
    "credentials": "The address must not contain a name or a password.",
    "port": "The address may use only the usual port, or a port from 1024 on.",
    "fragment": "The address must not contain a #.",
    "unresolved": "The name in the address is not known.",
    "private": "The address leads into a private network.",
}


class Source(NamedTuple):
    """The store to read, and the key to use. With `private`, plain http and private networks are allowed."""

    url: str
    store: str
    key: str
    private: bool = False


def of_store(source: Source, *, history: bool = True, told: Callable[[int], None] = lambda count: None) -> Brought:
    """Return the store's memories, with `history` also their versions. Raises Refused. The key is not stored.

    `told` is called with the number of memories and versions that have been read so far.
    """
    try:
        target = outgoing.check(source.url, private=source.private)
    except outgoing.Refused as refused:
        raise Refused(_WHY.get(refused.code, "The hub cannot reach the address.")) from None
    import anthropic

    client = anthropic.Anthropic(
        base_url=source.url,
        api_key=source.key,
        timeout=SECONDS,
        max_retries=2,
        http_client=_client(anthropic, target),
    )
    client._custom_headers = {}  # headers from the environment are for Anthropic's own API only
    try:
        with client:
            return _brought(client.beta.memory_stores, source, history, told)
    except anthropic.APIStatusError as error:
        raise Refused(_sentence(error.status_code)) from None
    except anthropic.APIError as error:
        raise (error.__cause__ if isinstance(error.__cause__, Refused) else Refused(STRANGE)) from None
    except Refused:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError, OverflowError):
        raise Refused(STRANGE) from None  # the SDK does not check the types of an answer's values


def _client(anthropic: Any, target: outgoing.Target) -> Any:
    """Return an HTTP client that connects only to the checked address."""
    end = time.monotonic() + WHOLE

    def pin(request: Any) -> None:
        if request.url.host.strip("[]") != target.host:
            raise Refused("The other side redirected the request to another address.")
        request.extensions = {**request.extensions, "sni_hostname": target.host}
        # Also if the host name resolves to another address later.
        request.url = request.url.copy_with(host=target.addresses[0])
        request.headers["Accept-Encoding"] = "identity"

    def take(response: Any) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise Refused(STRANGE)
        parts, size = [], 0
        for part in response.iter_raw():
            size += len(part)
            if size > LARGEST or time.monotonic() > end:
                raise Refused("The other side's answers are too large, or take too long.")
            parts.append(part)
        response._content = b"".join(parts)

    no_proxy = dict.fromkeys(("http://", "https://", "all://"))
    return anthropic.DefaultHttpxClient(
        follow_redirects=False, trust_env=False, mounts=no_proxy, event_hooks={"request": [pin], "response": [take]}
    )


def _sentence(status: int) -> str:
    if status in (401, 403):
        return "The other side does not accept the key, or the key may not read that store."
    if status == 404:
        return "The other side has no such store for this key."
    return f"The other side answered with the status {status}."


# ------------------------------------------------------------------------------------------------ reading


def _brought(stores: Any, source: Source, history: bool, told: Callable[[int], None]) -> Brought:
    bounds, count = importing.bounds(), 0
    store = stores.retrieve(source.store)
    live: dict[str, Any] = {}
    versions: dict[str, list[Any]] = defaultdict(list)
    size = 0
    for memory in stores.memories.list(source.store, view="full", limit=PAGE):
        if memory.type != "memory":
            continue
        live[memory.id] = memory
        count, size = count + 1, size + len((memory.content or "").encode("utf-8", "surrogatepass"))
        _require(bounds, len(live), 0, size)
        told(count)
    size = 0
    for version in stores.memory_versions.list(source.store, view="full", limit=PAGE) if history else ():
        versions[version.memory_id].append(version)
        count, size = count + 1, size + len((version.content or "").encode("utf-8", "surrogatepass"))
        _require(bounds, len(versions), count - len(live), size)
        told(count)
    memories, left = histories.checked(_memories(live, versions), bounds)
    read = Read(Bundle("api", memories, store.name, store.description or ""), left)
    return Brought(reading.require_some(read), f"{store.name} ({source.url})")


def _require(bounds: Bounds, memories: int, versions: int, size: int) -> None:
    if memories > bounds.entries or versions > bounds.versions or size > bounds.unpacked:
        raise Refused(
            f"The store is too large for an import: at most {bounds.entries:,} memories, {bounds.versions:,} versions "
            f"and {bounds.unpacked:,} bytes are allowed."
        )


def _memories(live: dict[str, Any], versions: dict[str, list[Any]]) -> Iterator[BundledMemory]:
    for id, memory in live.items():
        made = tuple(_versions(reversed(versions[id]))) if id in versions else ()
        last = made[-1] if made else None
        if last is not None and (last.path, last.content) == (memory.path, memory.content):
            yield BundledMemory(id, memory.path, made)
        else:  # it changed during the reading, or its versions are not visible
            only = BundledVersion(None, 1, "created", memory.path, memory.content or "", _utc(memory.updated_at), None)
            yield BundledMemory(None, memory.path, (only,))
    for id in versions.keys() - live.keys():
        made = tuple(_versions(reversed(versions[id])))
        if made[-1].operation == "deleted":
            yield BundledMemory(id, made[-1].path or "", made)


def _versions(rows: Iterable[Any]) -> Iterator[BundledVersion]:
    """Yield versions, oldest first. If older ones were removed at the source, the numbers begin at 2."""
    number = 0
    for row in rows:
        number += 1 if number or row.operation == "created" else 2
        redacted = row.redacted_at is not None
        yield BundledVersion(
            row.id,
            number,
            row.operation,
            row.path or "",
            None if redacted else row.content,
            _utc(row.created_at),
            _author(row.created_by),
            redacted,
        )


def _author(actor: Any) -> Author | None:
    id = str(getattr(actor, ID_OF.get(getattr(actor, "type", ""), ""), "") or "")
    return Author(actor.type, id[:128], id[:128]) if id and id.isascii() and id.isprintable() else None


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)

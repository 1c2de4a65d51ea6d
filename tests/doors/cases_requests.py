"""Cases of the transport: keys, headers, methods, bodies, content types, addresses."""

from typing import Any

from tests.doors.table import (
    FORBIDDEN,
    INVALID,
    NO_KEY,
    NOT_FOUND,
    WRONG_METHOD,
    Case,
    Step,
    case,
    delete,
    get,
    post,
)

STORES = "/v1/memory_stores"
MAIN = f"{STORES}/<main>"
MEMORIES = f"{MAIN}/memories"
NEW = {"path": "/new.md", "content": "n"}


def create(body: object, **options: Any) -> Step:
    return post(MEMORIES, body, **options)


def typed(kind: str, **options: Any) -> Step:
    return create(NEW, headers={"content-type": kind}, **options)


def asked(headers: dict[str, str], key: str = "manage", **options: Any) -> Step:
    return get(MAIN, headers=headers, key=key, **options)


KEYS = (
    case("Without a key nobody is answered", get(MAIN, key="none", **NO_KEY)),
    case("A key of nobody's", get(MAIN, key="wrong", **NO_KEY)),
    case("A key that has expired", get(MAIN, key="expired", **NO_KEY)),
    case("A key that was revoked", get(MAIN, key="revoked", **NO_KEY)),
    case("A key as x-api-key", asked({"x-api-key": "<key.read>"}, "none", has={"id": "<main>"})),
    case("A wrong key as x-api-key", asked({"x-api-key": "mh_wrong"}, "none", **NO_KEY)),
    case("A Bearer token wins over x-api-key", asked({"x-api-key": "<key.other>"}, "read", has={"id": "<main>"})),
    case("A wrong Bearer token is not saved by x-api-key", asked({"x-api-key": "<key.read>"}, "wrong", **NO_KEY)),
    case("Bearer in capitals", asked({"authorization": "BEARER <key.read>"}, "none")),
    case("Basic is no Bearer", asked({"authorization": "Basic <key.read>"}, "none", **NO_KEY)),
    case("An empty Bearer token", asked({"authorization": "Bearer "}, "none", **NO_KEY)),
    case("A cookie means nothing", asked({"cookie": "sessionid=x"}, "none", **NO_KEY)),
    case("Without a key a list is not given", get(STORES, key="none", **NO_KEY)),
    case("Without a key nothing is created", post(STORES, {"name": "n"}, key="none", **NO_KEY)),
    case("Without a key no memory is created", create(NEW, key="none", **NO_KEY)),
    case("Without a key no memory is retrieved", get(f"{MEMORIES}/<todo>", key="none", **NO_KEY)),
    case("Without a key no memory is deleted", delete(f"{MEMORIES}/<todo>", key="wrong", **NO_KEY)),
    case("Without a key no version is retrieved", get(f"{MAIN}/memory_versions/<todo.1>", key="none", **NO_KEY)),
    case("Without a key no version is redacted", post(f"{MAIN}/memory_versions/<todo.1>/redact", key="none", **NO_KEY)),
    case("An unknown store without a key is nobody's either", get(f"{STORES}/memstore_x", key="none", **NO_KEY)),
    case("A key for all stores reaches any", get(f"{STORES}/<other>", key="hub_write", has={"id": "<other>"})),
    case("A key for all stores that writes does not manage", post(
        f"{STORES}/<other>", {"name": "n"}, key="hub_write", **FORBIDDEN)),
)  # fmt: skip

HEADERS = (
    case("The headers of the SDK", asked({
        "anthropic-version": "2023-06-01", "anthropic-beta": "agent-memory-2026-07-22"})),
    case("An unknown version and an unknown beta", asked({"anthropic-version": "1999", "anthropic-beta": "x, y,,"})),
    case("A workspace is welcome", asked({"anthropic-workspace-id": "wrkspc_1"})),
    case("beta=true in the query", get(f"{MAIN}?beta=true")),
    case("beta=anything in the query", get(f"{MAIN}?beta=no&beta=maybe")),
    case("beta=true before a filter", get(f"{MEMORIES}?beta=true&limit=1", check=lambda page: len(page["data"]) == 1)),
    case("A session of 128 characters", asked({"memoryhub-session": "s" * 128})),
    case("A session of 129 characters", asked({"memoryhub-session": "s" * 129}, **INVALID)),
    case("An empty session", asked({"memoryhub-session": ""}, **INVALID)),
    case("A session with a space", asked({"memoryhub-session": "run 1"}, **INVALID)),
    case("A session beyond ASCII", asked({"memoryhub-session": "\u00e9"}, **INVALID)),
    case("A session with every sign", asked({"memoryhub-session": "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"})),
    case("A write with a session of 129 characters writes nothing",
         create(NEW, headers={"memoryhub-session": "s" * 129}, **INVALID), create(NEW)),
    case("A client that wants another type gets JSON", asked({"accept": "text/html"})),
    case("An idempotency key is welcome", create(NEW, headers={"idempotency-key": "k"})),
)  # fmt: skip

METHODS = (
    case("Stores are not deleted together", delete(STORES, **WRONG_METHOD)),
    case("Stores are not put", Step("PUT", STORES, {}, **WRONG_METHOD)),
    case("A store is not put", Step("PUT", MAIN, {}, **WRONG_METHOD)),
    case("Memories are not deleted together", delete(MEMORIES, **WRONG_METHOD)),
    case("Archiving is no GET", get(f"{MAIN}/archive", **WRONG_METHOD)),
    case("Archiving is no DELETE", delete(f"{MAIN}/archive", **WRONG_METHOD)),
    case("Versions are not posted", post(f"{MAIN}/memory_versions", {}, **WRONG_METHOD)),
    case("An unheard-of method", Step("FLY", MAIN, **WRONG_METHOD)),
    case("The method is looked at before the key", Step("PUT", MAIN, key="none", **WRONG_METHOD)),
    case("An unknown address", get("/v1/memory_shops", **NOT_FOUND)),
    case("An unknown address beneath a store", get(f"{MAIN}/nothing", **NOT_FOUND)),
    case("An address with a slash at its end", get(f"{MAIN}/", **NOT_FOUND)),
    case("A list's address with a slash at its end", get(f"{MEMORIES}/", **NOT_FOUND)),
    case("The root of the API", get("/v1/", **NOT_FOUND)),
)  # fmt: skip

BODIES = (
    case("A body that is no JSON", create(b"{path", **INVALID)),
    case("An empty body", create(b"", **INVALID)),
    case("A body that is a list", create([NEW], **INVALID)),
    case("A body that is a text", create("path", **INVALID)),
    case("A body that is null", create(None, **INVALID)),
    case("A body with a key twice", create(b'{"path": "/a1", "path": "/a2", "content": ""}', **INVALID)),
    case("A body with NaN", create(b'{"path": "/a1", "content": "", "x": NaN}', **INVALID)),
    case("A body with Infinity", create(b'{"path": "/a1", "content": "", "x": -Infinity}', **INVALID)),
    case("A body with a number too large", create(b'{"path": "/a1", "content": "", "x": 1e999}', **INVALID)),
    case("A body with a byte order mark", create(b'\xef\xbb\xbf{"path": "/a1", "content": ""}', **INVALID)),
    case("A body that is not UTF-8", create(b'{"path": "/a1", "content": "\xff"}', **INVALID)),
    case("A body in UTF-16", create('{"path": "/a1", "content": ""}'.encode("utf-16"), **INVALID)),
    case("A body very deep",
         create(b'{"path": "/a1", "content": "", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", **INVALID)),
    case("A body with more behind it", create(b'{"path": "/a1", "content": ""} {}', **INVALID)),
    case("NUL in what nobody knows", create(b'{"path": "/a1", "content": "", "x": "\\u0000"}', **INVALID)),
    case("What nobody knows in a body is passed over", create(NEW | {"colour": "blue"}, has={"path": "/new.md"})),
    case("A body of more than a megabyte", create(
        b'{"path": "/a1", "content": "", "x": "' + b"x" * 1024 * 1024 + b'"}', status=413, error="request_too_large")),
    case("A body of more than a megabyte without a key", create(
        b" " * (1024 * 1024 + 1), status=413, error="request_too_large", key="none")),
    case("JSON with a charset", typed("application/json; charset=utf-8")),
    case("JSON in capitals", typed("APPLICATION/JSON")),
    case("A text is no JSON", typed("text/plain", status=415, error="invalid_request_error")),
    case("A form is no JSON", typed("application/x-www-form-urlencoded", status=415, error="invalid_request_error")),
    case("No type is no JSON", typed("", status=415, error="invalid_request_error")),
    case("The store is looked for before the type", post(
        f"{STORES}/memstore_x/memories", NEW, headers={"content-type": "text/plain"}, **NOT_FOUND)),
    case("The access is looked at before the type", typed("text/plain", key="read", **FORBIDDEN)),
    case("The access is looked at before the memory", post(
        f"{MEMORIES}/mem_x", {"content": "n"}, key="read", **FORBIDDEN)),
    case("A list archives nothing", post(f"{MAIN}/archive", [], **INVALID)),
    case("Nonsense archives nothing", post(f"{MAIN}/archive", b"{", **INVALID), get(MAIN, has={"archived_at": None})),
    case("A key that may not is told so before its body is read", create(b"{", key="read", **FORBIDDEN)),
    case("A deletion's body is not looked at", Step("DELETE", f"{MEMORIES}/<todo>", {"x": 1}, has={"id": "<todo>"})),
    case("A query that is not UTF-8", get(f"{MEMORIES}?path_prefix=/%ff/", **INVALID)),
    case("NUL in a query", get(f"{MEMORIES}?path_prefix=/%00/", **INVALID)),
    case("NUL in a filter", get(f"{MAIN}/memory_versions?memory_id=mem_%00", **INVALID)),
)  # fmt: skip

RATES = (
    case("A key past the limit of calls is asked to wait",
         *(post(f"{STORES}/<called>/memories", {"path": f"/{n}.md", "content": ""}, key="called") for n in range(3)),
         post(f"{STORES}/<called>/memories", {"path": "/4.md", "content": ""}, key="called", status=429,
              error="rate_limit_error")),
)  # fmt: skip

CASES: tuple[Case, ...] = KEYS + HEADERS + METHODS + BODIES + RATES

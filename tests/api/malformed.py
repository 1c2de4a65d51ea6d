"""More than 300 kinds of malformed request, each with the status that it deserves."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

LIMIT = 1024 * 1024
BLOCK: dict[str, Any] = {
    "type": "tool_use",
    "id": "toolu_01",
    "name": "memory",
    "input": {"command": "create", "path": "/memories/a.md", "file_text": "x"},
}
MESSAGE: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": "Let me note that."}, BLOCK]}
WRONG: tuple[Any, ...] = (None, True, False, 0, 1.5, "", "wrong", [], ["memory"], {}, {"a": 1})


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of request; `headers` replace those of a good one."""

    name: str
    status: int
    body: bytes = json.dumps(BLOCK).encode()
    method: str = "POST"
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def truncated() -> Iterator[Case]:
    for name, value in (("block", BLOCK), ("message", MESSAGE)):
        whole = encoded(value)
        for length in range(len(whole)):
            yield Case(f"{name} cut after byte {length}", 400, whole[:length])


def numbers() -> Iterator[Case]:
    wrong = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "01", "+1", ".5", "1.", "0x10", "1_000", "١")
    for number in (*wrong, "9" * 1001, "-" + "9" * 1001, "1e400"):
        text = json.dumps({**BLOCK, "input": {**BLOCK["input"], "view_range": "HERE"}}).replace('"HERE"', number)
        yield Case(f"number {number[:12]} in input", 400, text.encode())
        yield Case(
            f"number {number[:12]} elsewhere", 400, json.dumps({**BLOCK, "n": 0}).replace("0}", number + "}").encode()
        )


def twice() -> Iterator[Case]:
    whole = json.dumps(BLOCK)
    for key, value in BLOCK.items():
        yield Case(f"{key} twice", 400, f'{whole[:-1]}, "{key}": {json.dumps(value)}}}'.encode())
    for key in BLOCK["input"]:
        yield Case(f"input.{key} twice", 400, f'{whole[:-2]}, "{key}": "/memories/b"}}}}'.encode())
    yield Case("an escaped key twice", 400, f'{whole[:-2]}, "p\\u0061th": "/memories/b"}}}}'.encode())
    yield Case("an ignored key twice", 400, f'{whole[:-1]}, "x": 1, "x": 1}}'.encode())
    yield Case("an empty key twice", 400, f'{whole[:-1]}, "": 1, "": 2}}'.encode())


def nested() -> Iterator[Case]:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        for depth in (64, 65, 100, 1_000, 100_000):
            inner = opening * depth + "1" + closing * depth
            yield Case(
                f"{depth} times {opening} in input",
                400,
                json.dumps(BLOCK)[:-2].encode() + f', "x": {inner}}}}}'.encode(),
            )
            yield Case(
                f"{depth} times {opening} elsewhere",
                400,
                json.dumps(BLOCK)[:-1].encode() + f', "x": {inner}}}'.encode(),
            )
        yield Case(f"only {opening}", 400, (opening * 200_000).encode())
    yield Case("brackets after an open string", 400, b'{"a": "' + b"[" * 200_000)


def encodings() -> Iterator[Case]:
    whole = json.dumps(BLOCK)
    for codec in (
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "utf-32-le",
        "utf-32-be",
        "utf-8-sig",
        "utf-7",
        "cp037",
    ):
        if codec != "utf-7" or whole.encode(codec) != whole.encode():
            yield Case(codec, 400, whole.encode(codec))
    bad = (b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf8\x88\x80\x80\x80")
    for bytes_ in bad:
        yield Case(f"{bytes_!r} in a text", 400, whole.encode().replace(b'"x"', b'"' + bytes_ + b'"'))
        yield Case(f"{bytes_!r} at the end", 400, whole.encode() + bytes_)


def not_json() -> Iterator[Case]:
    texts = (
        "", " ", "\n", "null", "true", "1", '"memory"', "[]", "{}", "[{}]", "'x'", "{'type': 1}", "<html></html>",
        "type=tool_use&id=1", "undefined", "{,}", '{"a" 1}', '{"a": 1,}', "{a: 1}", "[1,]", "//\n{}", "\0", "\x1f",
        "{}{}", "]", "}", '"', "\\", '{"a":"\n"}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"\\ud8', "-",
        json.dumps([BLOCK]), json.dumps(json.dumps(BLOCK)), json.dumps(BLOCK) + "x", json.dumps(BLOCK) * 2,
    )  # fmt: skip
    for text in texts:
        yield Case(f"not JSON: {text[:20]!r} of {len(text)}", 400, text.encode())
    yield Case("gzip", 415, b"\x1f\x8b\x08\x00", headers={"content_encoding": "gzip"})


def wrong_fields() -> Iterator[Case]:
    for key in BLOCK:
        yield Case(f"no {key}", 400, encoded({k: v for k, v in BLOCK.items() if k != key}))
        for value in WRONG:
            fits = (key == "id" and value == "wrong") or (key == "input" and isinstance(value, dict))
            if not fits:
                yield Case(f"{key} is {value!r}", 400, encoded({**BLOCK, key: value}))
    for name in ("Memory", "memory ", "bash", "memory\n"):
        yield Case(f"the tool {name!r}", 400, encoded({**BLOCK, "name": name}))


def wrong_messages() -> Iterator[Case]:
    for role in (*WRONG, "user", "Assistant", "system"):
        yield Case(f"role is {role!r}", 400, encoded({**MESSAGE, "role": role}))
    for content in (*WRONG, [BLOCK, None], [BLOCK, "text"], [[BLOCK]], [1], [BLOCK, [BLOCK]]):
        yield Case(f"content is {content!r}", 400, encoded({**MESSAGE, "content": content}))
    for key in ("id", "input"):
        yield Case(f"a block without {key}", 400, encoded({**MESSAGE, "content": [BLOCK, without(key, id="toolu_02")]}))
        for value in WRONG:
            if not ((key == "id" and value == "wrong") or (key == "input" and isinstance(value, dict))):
                blocks = [BLOCK, {**BLOCK, "id": "toolu_02", key: value}]
                yield Case(f"a block's {key} is {value!r}", 400, encoded({**MESSAGE, "content": blocks}))
    for key in ("type", "name"):
        yield Case(f"the only block's {key} missing", 400, encoded({**MESSAGE, "content": [without(key)]}))
    yield Case("one id twice", 400, encoded({**MESSAGE, "content": [BLOCK, BLOCK]}))
    other = {**BLOCK, "input": {"command": "view", "path": "/memories"}}
    yield Case("one id for two inputs", 400, encoded({**MESSAGE, "content": [BLOCK, other]}))


def without(key: str, **values: object) -> dict[str, Any]:
    return {k: v for k, v in {**BLOCK, **values}.items() if k != key}


def outside() -> Iterator[Case]:
    """What may stand inside `input` alone."""
    for bad in ("\ud800", "\udfff", "a\udc00b", "\0", "a\0"):
        yield Case(f"{bad!r} in the id", 400, encoded({**BLOCK, "id": bad}))
        yield Case(f"{bad!r} in an ignored value", 400, encoded({**BLOCK, "caller": {"type": bad}}))
        yield Case(f"{bad!r} in an ignored key", 400, encoded({**BLOCK, bad: 1}))
        yield Case(
            f"{bad!r} in a text block", 400, encoded({**MESSAGE, "content": [{"type": "text", "text": bad}, BLOCK]})
        )
        yield Case(f"{bad!r} in a message's key", 400, encoded({**MESSAGE, bad: [[]]}))
        other = {"type": "tool_use", "id": "toolu_9", "name": "bash", "input": {"command": bad}}
        yield Case(f"{bad!r} in another tool's input", 400, encoded({**MESSAGE, "content": [other, BLOCK]}))
        for namesake in ({"input": {"command": bad}}, {"content": bad}, {"content": [1, bad]}, {bad: None}):
            block = {"type": "server_tool_use", "id": "toolu_9", "name": "memory", **namesake}
            yield Case(f"{bad!r} in a block {block!r}", 400, encoded({**MESSAGE, "content": [block, BLOCK]}))


def ids() -> Iterator[Case]:
    yield Case("an id of 129 characters", 400, encoded({**BLOCK, "id": "i" * 129}))
    yield Case("an id of 129 wide characters", 400, encoded({**BLOCK, "id": "é" * 129}))
    yield Case("an id of 100,000 characters", 400, encoded({**BLOCK, "id": "i" * 100_000}))


def sizes() -> Iterator[Case]:
    """The length comes before everything else."""
    for size in (LIMIT + 1, LIMIT + 2, 2 * LIMIT, 5 * LIMIT):
        yield Case(f"{size} bytes", 413, padded(size))
        yield Case(f"{size} bytes that are not JSON", 413, b"x" * size)
    yield Case("too long, and GET", 413, padded(LIMIT + 1), method="GET")
    yield Case("too long, without a key", 413, padded(LIMIT + 1), headers={"authorization": ""})
    yield Case("too long, of another type", 413, padded(LIMIT + 1), type="text/plain")
    yield Case("as long as may be, not JSON", 400, b"x" * LIMIT)
    yield Case("as long as may be, white space", 400, b" " * LIMIT)


def padded(size: int) -> bytes:
    """A good block of exactly so many bytes, most of them in a text that the hub does not know."""
    body = json.dumps(BLOCK | {"more": ""}).encode()
    return body[:-2] + b" " * (size - len(body)) + b'"}'


def methods() -> Iterator[Case]:
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X"):
        yield Case(f"method {method}", 405, method=method)
        yield Case(f"method {method} without a key", 405, b"", method=method, headers={"authorization": ""})


def types() -> Iterator[Case]:
    wrong = (
        "", "text/plain", "text/html", "text/json", "application/x-www-form-urlencoded", "multipart/form-data",
        "application/octet-stream", "application/xml", "application/jsonp", "application/json5", "application/x-ndjson",
        "application/", "json", "*/*", "application/json, text/plain", "application/json/x", "text/plain; json",
        "application/javascript", "application/ json", "application/+json",
    )  # fmt: skip
    for type in wrong:
        yield Case(f"content type {type!r}", 415, type=type)
        yield Case(f"content type {type!r} and not JSON", 415, b"{", type=type)


def header_values() -> Iterator[Case]:
    keys = (
        "",
        "Bearer",
        "Bearer ",
        "Bearer mh_",
        "Bearer mh_wrong",
        "Basic bWg6bWg=",
        "mh_x",
        "Bearer \xe9",
        "bearer\tmh_x",
    )
    for value in (*keys, "Bearer " + "x" * 8000, "Bearer \x00", "Token mh_x", "Bearer Bearer"):
        yield Case(f"authorization {value[:20]!r}", 401, headers={"authorization": value})
        yield Case(f"authorization {value[:20]!r} and not JSON", 401, b"{", headers={"authorization": value})
    for value in ("", " ", "a b", "\t", "é", "x" * 129, "x" * 5000, "a\x7f", "a\x01b", "\xa0"):
        yield Case(f"session {value[:8]!r} of {len(value)}", 400, headers={"memoryhub_session": value})
    for value in ("", " ", "a b", "é", "x" * 256, "x" * 5000, "a\x7f", "a\x01b"):
        yield Case(f"idempotency key {value[:8]!r} of {len(value)}", 400, headers={"idempotency_key": value})


KINDS: tuple[Callable[[], Iterator[Case]], ...] = (
    truncated, numbers, twice, nested, encodings, not_json, wrong_fields, wrong_messages, outside, ids, sizes, methods,
    types, header_values,
)  # fmt: skip

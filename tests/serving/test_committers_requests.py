"""Which requests the thread that commits answers itself: small tool calls, and nothing else."""

import pytest

from memoryhub.serving.application import SMALL, is_tool_call
from memoryhub.serving.bodies import Body


def body(size: int) -> Body:
    taken = Body(None, size, SMALL * 2)
    taken.kept = size
    return taken


def environ(path: str, method: str = "POST") -> dict[str, str]:
    return {"PATH_INFO": path, "REQUEST_METHOD": method}


def test_a_small_tool_call_is_one() -> None:
    assert is_tool_call(environ("/v1/memory_stores/memstore_1/tool_calls"), body(SMALL))
    assert not is_tool_call(environ("/v1/memory_stores/memstore_1/tool_calls"), body(SMALL + 1))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/tool_calls"),  # nothing is here, and whoever asks needs no key
        ("POST", "/v1/anything/tool_calls"),
        ("POST", "/v1/memory_stores//tool_calls"),
        ("POST", "/v1/memory_stores/tool_calls"),  # a memory store and a memory that somebody calls so
        ("DELETE", "/v1/memory_stores/memstore_1/memories/tool_calls"),
        ("GET", "/v1/memory_stores/memstore_1/tool_calls"),
        ("POST", "/memory_stores/memstore_1/tool_calls"),
    ],
)
def test_what_only_ends_like_one_is_none(method: str, path: str) -> None:
    assert not is_tool_call(environ(path, method), body(10))

"""What the server answers by itself, before Django sees a request: in the words of each door, and never kept."""

import contextlib
import time

import httpx
import pytest

from tests.api.server import Server
from tests.serving.clients import Answer, Desk, answer_on, assert_is_of_its_door


def answer_to(desk: Desk, sent: bytes, *, and_no_more: bool = False) -> Answer:
    """`and_no_more`: the client says that it sends nothing further."""
    with contextlib.closing(desk.connect()) as connection:
        connection.sendall(sent)
        if and_no_more:
            connection.shutdown(1)
        return answer_on(connection)


DOORS = ("/v1/memory_stores/{}/tool_calls", "/v1/memory_stores/{}/export", "/mcp", "/mcp/{}")


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize(
    ("status", "key", "lines"),
    [
        (401, "", ("Content-Length: 1000",)), (401, "mh_wrong", ("Transfer-Encoding: chunked",)),
        (413, None, ("Content-Length: 3000000",)), (413, "", ("Content-Length: 3000000",)),
    ],
)  # fmt: skip
def test_what_is_refused_by_its_head_is_json_that_nobody_keeps(
    desk: Desk, path: str, status: int, key: str | None, lines: tuple[str, ...]
) -> None:
    address = path.format(desk.store)
    answer = answer_to(desk, desk.head(address, *lines, key=key))
    assert answer.status == status
    assert_is_of_its_door(address, answer)


@pytest.mark.parametrize("path", [*DOORS, "/sign-in"])
def test_a_body_that_breaks_off_is_400_in_the_words_of_its_door(desk: Desk, path: str) -> None:
    address = path.format(desk.store)
    answer = answer_to(desk, desk.head(address, "Content-Length: 1000") + b"{", and_no_more=True)
    assert answer.status == 400
    assert_is_of_its_door(address, answer)


def test_addresses_of_programs_are_404_in_json_without_the_slash_too(server: Server) -> None:
    for path in ("/v1", "/v1/", "/v1/nowhere", "/mcp/a/b"):
        answer = httpx.get(f"http://127.0.0.1:{server.port}{path}", timeout=30)
        assert answer.status_code == 404, path
        assert_is_of_its_door(path, Answer(404, dict(answer.headers), answer.content))


def test_a_probe_of_another_method_is_refused_and_its_answer_is_not_kept(server: Server) -> None:
    for path in ("/livez", "/readyz", "/healthz"):
        for method, status in (("POST", 405), ("GET", 200)):
            answer = httpx.request(method, f"http://127.0.0.1:{server.port}{path}", timeout=30)
            assert answer.status_code == status
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert status == 200 or answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/sign-in", "/stores/memstore_1/export", "/nowhere"])
def test_a_cookie_full_of_backslashes_from_anybody_is_answered_at_once(desk: Desk, path: str) -> None:
    cookie = 'sessionid="' + "\\" * 25_000 + '"; device="' + "\\101" * 1_000 + '"'
    begun = time.monotonic()
    assert desk.status(desk.head(path, f"Cookie: {cookie}", "Content-Length: 1", key="") + b"x") in (403, 404)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("path", [*DOORS, "/sign-in"])
def test_headers_that_nobody_needs_to_send_are_431_before_anybody_reads_them(desk: Desk, path: str) -> None:
    address = path.format(desk.store)
    begun = time.monotonic()
    answer = answer_to(desk, desk.head(address, "X-More: " + ";q=0." * 40_000, "Content-Length: 1", key="") + b"x")
    assert (answer.status, time.monotonic() - begun < 1) == (431, True)
    assert_is_of_its_door(address, answer)
    fits = desk.head(address, "X-More: " + "x" * 30_000, "Content-Length: 1", key="") + b"x"
    assert desk.status(fits) in (401, 403)


@pytest.mark.parametrize(
    "form", [b"--b\r\nContent-Disposition: form-data; filename=x\r\n\r\n\r\n", b"--b\r\n\r\n\r\n", b"--b"]
)
def test_a_form_with_more_parts_than_fields_and_files_is_refused_before_anybody_has_signed_in(
    desk: Desk, form: bytes
) -> None:
    """Files without a name of their field count too: 4 MB of them took seconds."""
    body = form * 5_200 + b"--b--\r\n"
    cookie = f"csrftoken_{desk.server.port}={'a' * 32}"
    lines = f"Content-Type: multipart/form-data; boundary=b\r\nCookie: {cookie}"
    head = f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\nContent-Length: {len(body)}\r\n\r\n"
    assert desk.status(head.encode() + body) == 400

"""The JSON answers of programs are like those that Django makes."""

import pytest
from django.http import BadHeaderError, HttpResponse

from memoryhub.machines.answers import JsonAnswer


def test_has_every_attribute_and_header_of_djangos_answer() -> None:
    own, djangos = JsonAnswer('{"a":1}'), HttpResponse(b'{"a":1}', content_type="application/json")
    assert own.__dict__.keys() == djangos.__dict__.keys()
    for answer in (own, djangos):
        answer.headers["Request-Id"] = "req_1"
        answer.headers.setdefault("request-id", "req_2")
        answer.headers.setdefault("Cache-Control", "no-store")
    assert dict(own.items()) == dict(djangos.items())
    assert own.headers["content-type"] == "application/json" and "CACHE-CONTROL" in own.headers
    assert (own.content, own.status_code, own.charset) == (djangos.content, 200, djangos.charset)
    assert own.serialize() == djangos.serialize()


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\n", "\0", "é"])
def test_refuses_what_could_end_a_header_or_is_not_ascii(value: str) -> None:
    answer = JsonAnswer("{}")
    with pytest.raises(BadHeaderError):
        answer.headers["Request-Id"] = value
    with pytest.raises(BadHeaderError):
        answer.headers.setdefault("Request-Id", value)

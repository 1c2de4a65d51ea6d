"""The JSON answers of programs are like those that Django makes, without its checks of each header."""

from django.http import HttpResponse

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

"""The client of a request that was stopped is told whether anything was changed, and not to send it again."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from memoryhub.actions.core import transactions
from memoryhub.database import watch
from memoryhub.database.watch import TookTooMuch
from memoryhub.serving import django_side
from memoryhub.serving.answers import Answers
from memoryhub.serving.django_side import DjangoSide
from memoryhub.serving.pool import Pool
from tests.serving.watching import for_ever, in_thread

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_EVERY", 0.02)


@pytest.mark.parametrize("path", ["/stores", "/v1/memory_stores"])
def test_its_client_is_told_and_is_not_asked_to_send_it_again(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*_: object) -> HttpResponse:
        for_ever()
        return HttpResponse()

    _told(path, answer, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("has_committed", "sentence"), [(False, b"and nothing was changed"), (True, b"See what was done before you ask")]
)
def test_a_client_whose_call_was_stopped_in_the_thread_that_commits_is_told_the_same(
    has_committed: bool, sentence: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 500 it would send the call again."""
    side, protocol, finished, error = DjangoSide(Answers(tmp_path)), Mock(), Mock(), TookTooMuch()
    error.has_committed = has_committed

    def stopped_together(_: object, done: Callable[..., None], **__: object) -> bool:
        done(None, error)
        return True

    monkeypatch.setattr(django_side, "answer_together", stopped_together)
    environ = RequestFactory().post("/v1/memory_stores/memstore_1/tool_calls").environ
    assert side.answer_together(protocol, environ, Mock(), finished, Pool(1))
    status, _, content = protocol.response_bytes.call_args.args
    assert status == 413 and sentence in content
    finished.assert_called_once_with()


def test_an_answer_that_is_made_piece_by_piece_is_stopped_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pieces() -> Any:
        yield b"one"
        for_ever()

    _told("/stores", lambda *_: StreamingHttpResponse(pieces()), tmp_path, monkeypatch)


def _told(path: str, answer: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side, protocol, finished = DjangoSide(Answers(tmp_path)), Mock(), Mock()
    monkeypatch.setattr(WSGIHandler, "get_response", answer)
    monkeypatch.setattr(DjangoSide, "_response_to_program", answer)
    transactions.watch.start()
    request: HttpRequest = RequestFactory().get(path)
    in_thread(partial(side.answer, protocol, request.environ, None, finished, 0.2, too_late=False))
    (status, headers, content), _ = protocol.response_bytes.call_args
    assert status == 413
    assert "retry-after" not in dict(headers)
    assert b"was stopped, and nothing was changed" in content
    finished.assert_called_once_with()

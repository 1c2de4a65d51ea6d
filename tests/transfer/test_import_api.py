"""Another store comes through the memory_stores API, with the official SDK and a key that is kept nowhere."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.core.management import CommandError, call_command
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.transfer.importing import api_source as import_api
from memoryhub.models import Access, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.transfer.bundle import Refused
from tests.support.fixtures import BY, new_person
from tests.transfer import trips

pytestmark = [pytest.mark.django_db(transaction=True)]


def keyed(store: MemoryStore) -> str:
    agent = keys_and_roles.create_agent("Mover", **BY)
    return str(keys_and_roles.issue_key(agent, stores=[store], access=Access.READ, **BY)[1])


@pytest.mark.both_databases
def test_a_store_of_another_hub_comes_with_its_versions(
    live_server: LiveServer, own_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = trips.lived_in(new_person("Alice")), trips.new_store("Target")
    key = keyed(source)
    monkeypatch.setenv("OTHER_KEY", key)
    call_command(
        "import_store", target.pk, live_server.url, "--from-store", source.pk, "--key-env", "OTHER_KEY", "--place", "/x"
    )
    for memory in Memory.objects.filter(store=source):
        there = MemoryVersion.objects.filter(store=source, memory=memory).order_by("number").select_related("text")
        came = Memory.objects.filter(store=target, path="/x" + memory.path, deleted_at=memory.deleted_at).get()
        here = MemoryVersion.objects.filter(store=target, memory=came).order_by("number").select_related("text")
        assert [(one.content, one.operation, one.created_at) for one in there] == [
            (one.content, one.operation, one.created_at) for one in here
        ]
    trips.require_verified(target, own_checkpoints)
    kept = [str(list(model.objects.values_list())) for model in _models()]
    assert not any(key in rows for rows in kept)


def _models() -> list[Any]:
    from memoryhub import models

    return [models.Import, models.ImportItem, models.AuditEntry]


def test_what_does_not_answer_as_it_should_is_said(live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    store = trips.new_store()
    other = trips.new_store("Other")
    key = keyed(other)
    for source, said in (
        (import_api.Source(live_server.url, store.pk, "mh_wrong", private=True), "does not accept the key"),
        (import_api.Source(live_server.url, store.pk, key, private=True), "no such store"),
        (
            import_api.Source(live_server.url + "/nowhere", other.pk, key, private=True),
            "status|no such store|did not answer",
        ),
        (import_api.Source("http://127.0.0.1:9", other.pk, key, private=True), "did not answer"),
        (import_api.Source(live_server.url, other.pk, key), "https"),
        (import_api.Source("https://localhost", other.pk, key), "private network"),
        (import_api.Source(live_server.url, other.pk, key, private=True), "no memory"),
    ):
        with pytest.raises(Refused, match=said):
            import_api.of_store(source)
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)  # goes to Anthropic alone, unless --key-env says otherwise
    with pytest.raises(CommandError, match="--key-env"):
        call_command("import_store", store.pk, live_server.url, "--from-store", other.pk)


class Evil(BaseHTTPRequestHandler):
    """Answers every request with what the test says, and keeps the headers that came."""

    answer: ClassVar[bytes] = b"{}"
    headers_of_answer: ClassVar[dict[str, str]] = {}
    came: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.came.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        for name, value in ({"Content-Type": "application/json"} | self.headers_of_answer).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *args: object) -> None:
        """Nothing is written."""


@pytest.fixture
def evil() -> Iterator[str]:
    Evil.came.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_hostile_side_gets_nothing_and_breaks_nothing(evil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_api, "LARGEST", 10_000)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Ours: secret")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "ours")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    strange = {"data": [{"type": "memory", "id": 1, "path": {}, "content": ["x"], "updated_at": 3}], "next_page": None}
    for answer, headers, said in (
        (b"[" * 5_000, {}, "did not answer as"), (b"null", {}, "did not answer as"),
        (json.dumps(strange).encode(), {}, "did not answer as"), (b" " * 20_000, {}, "too large"),
        (gzip.compress(b"{}"), {"Content-Encoding": "gzip"}, "did not answer as"),
    ):  # fmt: skip
        monkeypatch.setattr(Evil, "answer", answer)
        monkeypatch.setattr(Evil, "headers_of_answer", headers)
        with pytest.raises(Refused, match=said):
            import_api.of_store(import_api.Source(evil, "memstore_x", "their-key", private=True))
    assert Evil.came
    assert all("secret" not in headers.values() and "ours" not in str(headers) for headers in Evil.came)


def test_all_of_the_reading_has_an_end(evil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_api, "WHOLE", 0)
    with pytest.raises(Refused, match="too long"):
        import_api.of_store(import_api.Source(evil, "memstore_x", "their-key", private=True))

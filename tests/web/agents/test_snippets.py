"""The calls that an agent's author copies from the page of a new key, run as they stand."""

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.conf import settings as hub_settings
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import curation
from memoryhub.models import Agent, AuditEntry, MemoryStore, User
from memoryhub.web.agents.snippets import snippets
from tests.fixtures import BY, signed_in

pytestmark = pytest.mark.django_db


class _Claude(http.server.BaseHTTPRequestHandler):
    """Anthropic's API for one turn: it asks to view the memory, then says that it has seen it."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last = asked["messages"][-1]["content"]
        if isinstance(last, str):
            content: list[Any] = [{"type": "tool_use", "id": "toolu_9", "name": "memory", "input": VIEW}]
        else:
            content = [{"type": "text", "text": "I saw: " + last[0]["content"]}]
        answer = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": content,
            "stop_reason": "tool_use" if isinstance(last, str) else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


VIEW = {"command": "view", "path": "/memories"}


@pytest.fixture
def claude() -> Iterator[str]:
    """The address of a stand-in for Anthropic's API."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Claude)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def snippet_in(html: str, name: str) -> str:
    found = re.search(rf'<code id="snippet-{name}">(.*?)</code>', html, re.DOTALL)
    assert found is not None
    return unescape(found[1])


@pytest.mark.django_db(transaction=True)
def test_the_snippets_work_as_they_stand(
    live_server: LiveServer, agent: Agent, store: MemoryStore, superuser: User, settings: Any, claude: str
) -> None:
    settings.MEMORYHUB_URL = live_server.url
    given = {"access": "read", "scope": "some", "stores": [store.id], "expires_in": "7"}
    html = signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given).content.decode()
    environment = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-none", "ANTHROPIC_BASE_URL": claude}
    for name, command in (("curl", ["sh", "-c"]), ("python", [sys.executable, "-c"]), ("loop", [sys.executable, "-c"])):
        run = [*command, snippet_in(html, name)]
        done = subprocess.run(run, capture_output=True, text=True, timeout=60, env=environment, check=False)
        assert "0B\t/memories" in done.stdout.replace("\\t", "\t"), (name, done)
    curation.create(store.id, "/a.md", "What the agent knows", Act(**BY))
    run = [sys.executable, "-c", snippet_in(html, "stores")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert "/a.md What the agent knows" in done.stdout, done
    calls = AuditEntry.objects.of_chain(store.id).filter(actor_kind="key")
    assert calls.filter(command="view", ok=True).count() == 4 and calls.filter(session=None).count() == 0


def test_snippets_quote_what_they_are_given() -> None:
    made = snippets("http://hub.example/'$(id)", "memstore_x", "mh_'\"\\")
    compile(made.python, "python", "exec")
    compile(made.loop, "loop", "exec")
    assert "$(id)" in made.curl and "'\"'\"'" in made.curl


def test_a_key_without_any_store_has_no_snippet(agent: Agent, superuser: User) -> None:
    given = {"access": "read", "scope": "all", "expires_in": "7"}
    html = signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given).content.decode()
    assert "no memory store yet" in html and "snippet-curl" not in html
    assert hub_settings.MEMORYHUB_URL not in html

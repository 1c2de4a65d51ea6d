"""What somebody copies into an MCP client: each text is what the client reads, and what it names answers."""

import json
import shlex
import tomllib
from typing import Any

import pytest
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Access, Agent, MemoryStore, User
from memoryhub.web.agents.clients import clients
from tests.mcp.messages import message
from tests.support.fixtures import BY, signed_in

URL = "https://hub.example.com/mcp/memstore_x"
BEARER = "Bearer mh_secret"


def text_of(id: str, hub: str = "https://hub.example.com/") -> str:
    return next(client.code for client in clients(hub, "memstore_x", "mh_secret") if client.id == id)


def test_each_client_gets_its_own_form() -> None:
    header = {"Authorization": BEARER}
    command = shlex.split(text_of("claude-code").replace("\\\n", " "))
    assert command == [
        "claude", "mcp", "add", "--transport", "http", "memoryhub", URL, "--header", f"Authorization: {BEARER}"
    ]  # fmt: skip
    assert json.loads(text_of("cursor"))["mcpServers"]["memoryhub"] == {"url": URL, "headers": header}
    assert json.loads(text_of("windsurf"))["mcpServers"]["memoryhub"] == {"serverUrl": URL, "headers": header}
    code = json.loads(text_of("vs-code"))
    (asked,) = code["inputs"]
    assert code["servers"]["memoryhub"] == {
        "type": "http", "url": URL, "headers": {"Authorization": f"Bearer ${{input:{asked['id']}}}"}
    }  # fmt: skip
    assert asked["password"] is True and "mh_secret" not in text_of("vs-code")
    codex = tomllib.loads(text_of("codex"))["mcp_servers"]["memoryhub"]
    assert codex == {"url": URL, "http_headers": header}
    desktop = json.loads(text_of("claude-desktop"))["mcpServers"]["memoryhub"]
    assert desktop["args"] == ["-y", "mcp-remote", URL, "--header", "Authorization:${AUTHORIZATION}"]
    assert desktop["env"] == {"AUTHORIZATION": BEARER}
    assert "--allow-http" in text_of("claude-desktop", "http://127.0.0.1:8000")
    assert text_of("other") == f"{URL}\nAuthorization: {BEARER}"


def test_what_is_copied_is_quoted() -> None:
    texts = {client.id: client.code for client in clients("http://hub.example/'$(id)\"", "memstore_x", "mh_'\"\\")}
    assert "$(id)" in shlex.split(texts["claude-code"].replace("\\\n", " "))[6]
    for id in ("cursor", "windsurf", "claude-desktop", "vs-code"):
        json.loads(texts[id])
    tomllib.loads(texts["codex"])


@pytest.mark.django_db
def test_a_new_key_comes_with_an_address_that_answers_it(
    agent: Agent, store: MemoryStore, superuser: User, settings: Any
) -> None:
    given = {"access": "read", "scope": "some", "stores": [store.id], "expires_in": "7"}
    html = signed_in(superuser).post(f"/agents/{agent.id}/keys/new", given).content.decode()
    secret = html.partition('id="key"')[2].partition(">")[2].partition("<")[0]
    assert html.count("mcp-client") == 7 and secret.startswith("mh_")
    assert f"{settings.MEMORYHUB_URL}/mcp/{store.id}" in html
    headers = {"authorization": f"Bearer {secret}", "accept": "application/json"}
    answer = Client().post(f"/mcp/{store.id}", message("tools/list"), "application/json", headers=headers)
    assert [tool["name"] for tool in answer.json()["result"]["tools"]] == ["memory", "search", "history", "proposals"]


@pytest.mark.django_db
def test_an_agents_page_shows_a_placeholder_and_a_store_that_the_person_knows(
    agent: Agent, store: MemoryStore, superuser: User, alice: User, charlie: User
) -> None:
    page = f"/agents/{agent.id}"
    assert "mcp-client" not in signed_in(superuser).get(page).content.decode()  # it has no key
    key, secret = keys_and_roles.issue_key(agent, stores=[store], access=Access.READ, **BY)
    for person in (superuser, alice):
        html = signed_in(person).get(page).content.decode()
        assert f"/mcp/{store.id}" in html and "YOUR-KEY" in html and secret not in html
        assert f"/v1/memory_stores/{store.id}/tool_calls" in html and "More ways to connect" in html
    assert signed_in(charlie).get(page).status_code == 404
    keys_and_roles.revoke_key(key, **BY)
    assert "mcp-client" not in signed_in(alice).get(page).content.decode()
    keys_and_roles.issue_key(agent, all_stores=True, access=Access.READ, **BY)
    assert f"/mcp/{store.id}" in signed_in(superuser).get(page).content.decode()

"""What must not be kept, guessed, logged, believed or sent in the clear."""

import logging
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub import checks
from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.models import Access, Agent, MemoryStore, User
from memoryhub.operating.logs.lines import WithoutTokens
from tests.support.fixtures import BY, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def https(settings: Any) -> None:
    """A hub whose address is https, behind a proxy at 10.0.0.0/8."""
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]


def test_no_private_answer_is_kept_by_a_browser_or_its_kind_guessed(store: MemoryStore, alice: User, key: str) -> None:
    client, headers = signed_in(alice), {"authorization": f"Bearer {key}"}
    answers = [
        client.get(url)
        for url in ("/account", f"/stores/{store.id}", "/nowhere", f"/stores/{store.id}/members", "/static/nothing.css")
    ]
    answers += [Client().get(url) for url in ("/account", "/sign-in", "/healthz", "/v1/nowhere", "/v1/memory_stores")]
    answers.append(Client().get(f"/v1/memory_stores/{store.id}", headers=headers))
    answers.append(Client().get(f"/v1/memory_stores/{store.id}/export", headers=headers))
    answers.append(Client().post("/mcp", b"{}", "application/json", headers=headers))
    for answer in answers:
        assert "no-store" in answer.headers["Cache-Control"], answer.request["PATH_INFO"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff", answer.request["PATH_INFO"]
    assert "no-store" not in Client().get("/favicon.ico").headers.get("Cache-Control", "")


def test_the_token_of_an_invitation_is_told_to_no_other_page_and_stands_in_no_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    now = {"actor": BY["actor"], "door": BY["door"], "at": timezone.now()}
    _, token = people.invite(email="eve@example.com", **now)
    handler = logging.getLogger().handlers and next(
        (each for each in logging.getLogger().handlers if isinstance(each.formatter, WithoutTokens)), None
    )
    assert handler
    for address in (f"/invitations/{token}", f"/invitations/{token}x", f"/invitations/{token}"):
        assert Client().get(address).headers["Referrer-Policy"] == "no-referrer"
    Client().put(f"/invitations/{token}")
    lines = [handler.format(record) for record in caplog.records]
    assert len(lines) >= 2 and not any(token in line for line in lines)
    assert any("/invitations/[token]" in line for line in lines)


def test_a_key_that_comes_over_http_to_a_hub_of_https_is_refused_and_never_redirected(
    https: None, store: MemoryStore, key: str
) -> None:
    headers = {"authorization": f"Bearer {key}"}
    for address in (f"/v1/memory_stores/{store.id}", "/mcp", f"/mcp/{store.id}", "/v1/openapi.json"):
        for proto in ({}, {"x-forwarded-proto": "https"}):  # from a stranger, who is not believed
            answer = Client().get(address, headers=headers | proto, REMOTE_ADDR="203.0.113.9")
            assert answer.status_code == 403 and "Location" not in answer.headers
            told, error = answer.json(), answer.json()["error"]
            if address.startswith("/mcp"):
                assert (told["jsonrpc"], told["id"], error["data"]) == ("2.0", None, {"type": "permission_error"})
            else:
                assert (told["type"], error["type"]) == ("error", "permission_error")
            assert "only over https" in error["message"]
    good = Client().get(
        f"/v1/memory_stores/{store.id}", headers=headers | {"x-forwarded-proto": "https"}, REMOTE_ADDR="10.1.2.3"
    )
    assert good.status_code == 200
    assert Client().get("/healthz").status_code == 200


def test_a_page_asked_for_by_a_stranger_who_claims_https_is_sent_to_https(https: None) -> None:
    claims = {"x-forwarded-proto": "https"}
    assert Client().get("/sign-in", headers=claims, REMOTE_ADDR="203.0.113.9").status_code == 301
    assert Client().get("/sign-in", headers=claims, REMOTE_ADDR="10.1.2.3").status_code == 200


@pytest.mark.parametrize(
    ("proto", "way", "status"),
    [
        ("https", "", 200),
        ("HTTPS ", "203.0.113.9", 200),
        ("http", "203.0.113.9", 301),
        (" , ", "203.0.113.9", 301),
        ("https, http", "203.0.113.9", 301),  # the client has written the first
        ("https, http", "203.0.113.9, 10.0.0.1", 200),  # two trusted proxies; the second was asked over http
        ("http, https", "203.0.113.9, 10.0.0.1", 301),
        ("https, http, http", "198.51.100.1, 203.0.113.9, 10.0.0.1", 301),
        ("https", "203.0.113.9, 10.0.0.1", 200),  # the second proxy kept what the first one said
        ("http, https", "", 200),
    ],
)
def test_of_several_protocols_the_one_of_the_outermost_trusted_proxy_counts(
    https: None, proto: str, way: str, status: int
) -> None:
    told = {"x-forwarded-proto": proto} | ({"x-forwarded-for": way} if way else {})
    assert Client().get("/sign-in", headers=told, REMOTE_ADDR="10.1.2.3").status_code == status


@pytest.mark.parametrize(
    ("proxies", "is_right"),
    [(["10.0.0.0/8", "2001:db8::/32", "127.0.0.1"], True), (["10.0.0.1/8"], False), (["10.0.0.0/40"], False)],
)
def test_trusted_proxies_may_be_ranges(settings: Any, proxies: list[str], is_right: bool) -> None:
    settings.TRUSTED_PROXIES = proxies
    assert ("memoryhub.E007" not in {message.id for message in checks.environment()}) == is_right


@pytest.mark.both_databases
def test_an_admin_of_a_store_issues_no_key_in_the_name_of_an_agent_that_reaches_all(
    store: MemoryStore, alice: User, agent: Agent, key: str
) -> None:
    client, address = signed_in(alice), f"/stores/{store.id}/keys"
    form = {"agent": agent.id, "new_agent": "", "access": "read", "expires_in": "7", "form": "f"}
    assert f'<option value="{agent.id}"' in client.get(address).content.decode()
    wide, _ = keys_and_roles.issue_key(agent, all_stores=True, access=Access.MANAGE, **BY)
    assert f'<option value="{agent.id}"' not in client.get(address).content.decode()
    before = agent.keys.count()
    assert client.post(address, form).status_code == 200 and agent.keys.count() == before
    keys_and_roles.revoke_key(wide, **BY)
    client.post(address, form)
    assert agent.keys.count() == before + 1

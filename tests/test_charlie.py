"""Charlie, who has no role: every address of Alice's store looks to him as if nothing were there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.models import (
    HUB,
    ActRequest,
    AuditEntry,
    ClaudePreset,
    ClaudeRun,
    Comment,
    Delivery,
    Finding,
    Hold,
    HoldKind,
    Import,
    ImportItem,
    ImportState,
    Invitation,
    Key,
    MemoryStore,
    MemoryVersion,
    Proposal,
    Receipt,
    RetentionPolicy,
    Role,
    Run,
    RunState,
    SavedView,
    Scan,
    ScanState,
    Session,
    User,
    Webhook,
)
from tests.api.harness import Hub, new_hub, new_store, row_counts
from tests.api.malformed import BLOCK
from tests.support.fixtures import AT, BY, signed_in
from tests.support.long import some
from tests.support.write_guard import arranging

PUBLIC = {
    "livez",
    "readyz",
    "healthz",
    "favicon",
    "sign_in",
    "invitation",
    "api_docs",
    "forgotten",
    "reset_password",
    "end_mail",
    "provider",
    "provider_back",
    "code",
    "use_passkey",
    "ask_passkey",
    "public_key",
    "public_key_pem",
    "older_public_key",
}
"""The names of the addresses that are for people who have not signed in."""

ANYONE = {"sign_out", "theme"}
"""Those that do the same for everybody: nothing, or the look of one's own browser."""


@dataclass(frozen=True, slots=True)
class Address:
    """One pattern of the URL configuration: its route with the names of its parts, and its name."""

    route: str
    name: str

    def parts(self) -> set[str]:
        return set(re.findall(r"<(?:\w+:)?(\w+)>", self.route))

    def filled(self, values: dict[str, object]) -> str:
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: str(values[part[1]]), self.route)


def addresses() -> list[Address]:
    """Every page, without the machines' door."""
    return [address for address in _walk(get_resolver(), "") if not address.route.startswith("v1/")]


def _walk(resolver: URLResolver, prefix: str) -> Iterator[Address]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield Address(route, pattern.name or "")
        else:
            yield from _walk(pattern, route)


OF_A_STORE = {"store_id", "chain", "memory_id", "version_id", "policy_id", "run_id", "webhook_id"}
OF_SUPERUSERS = {"copy_store", "delete_store"}
"""What the admin of a store may see the address of, and not do."""

IN_A_STORE = [address for address in addresses() if address.parts() & OF_A_STORE]
PAGES = [address for address in addresses() if address.name not in PUBLIC]


@pytest.fixture
def values(store: MemoryStore, alice: User, key: str) -> dict[str, object]:
    """Something that exists for each part of an address, all of it Alice's."""
    hub = Hub(store, key)
    call = hub.block(command="create", path="/memories/d/a.md", file_text="of Alice")
    hub.send(call, memoryhub_session="run-of-Alice")
    invitation, token = people.invite(store=store, role=Role.VIEWER, email="dora@example.com", **BY)
    version = MemoryVersion.objects.get(store=store)
    with arranging():
        view = SavedView.objects.create(
            id="view_1", owner=alice, store=store, page="store_audit", name="of Alice", created_at=AT
        )
        receipt = Receipt.objects.create(id="receipt_1", store=store.id, at=AT, content={}, signature="of Alice")
        policy = RetentionPolicy.objects.create(
            id="policy_1", store=store, name="of Alice", created_at=AT, updated_at=AT
        )
        run = Run.objects.create(id="run_1", store=store, at=AT, state=RunState.DONE, started_at=AT, ended_at=AT)
        hold = Hold.objects.create(
            id="hold_1", store=store, kind=HoldKind.HOLD, path="/d", reason="of Alice", created_at=AT, seq=1
        )
        scan = Scan.objects.create(id="scan_1", store=store, state=ScanState.DONE, started_at=AT, ended_at=AT)
        hook = Webhook.objects.create(
            id="webhook_1", store=store, name="of Alice", url="http://127.0.0.1:9/", events=[], created_at=AT
        )
        delivery = Delivery.objects.create(
            id="delivery_1", webhook=hook, chain=store.id, seq=1, event="webhook.test", payload='{"id":"whevt_1"}',
            created_at=AT, next_at=AT,
        )  # fmt: skip
        job = Import.objects.create(
            id="import_1", store=store, state=ImportState.PREVIEW, name="of Alice", group="group_1", created_at=AT
        )
        finding = Finding.objects.create(
            id="find_1", store=store, memory_id=version.memory_id, version=version, kind="card", line=1, start=0, end=2,
            at=AT,
        )  # fmt: skip
        Proposal.objects.create(
            id="prop_1", store=store, number=1, key="apikey_1", agent="agent_1", opened_at=AT, changed_at=AT,
            reason="of Alice",
        )  # fmt: skip
        comment = Comment.objects.create(
            id="comment_1", store=store, memory_id=version.memory_id, thread="comment_1", number=1, text="of Alice",
            at=AT, seq=version.seq,
        )  # fmt: skip
        claude_run = ClaudeRun.objects.create(
            id="clrun_1", store=store, agent="agent_1", key="apikey_1", model="m", task="of Alice", state="finished",
            created_at=AT,
        )  # fmt: skip
        content = {"model": "m", "system": "of Alice"}
        preset = ClaudePreset.objects.create(
            id="clpreset_1", store=store, name="of Alice", changed_at=AT,
            versions=[{"number": 1, "at": AT.isoformat(), "by": "Alice", "content": content}],
        )  # fmt: skip
        ImportItem.objects.create(job=job, number=1, path="/of Alice", found="conflict", choice="skip", content="x")
        act_request = ActRequest.objects.create(
            id="actreq_1", act="erase", store=store.id, path="/erase", digest="0", asked_by=alice, asked_at=AT,
            expires_at=AT,
        )  # fmt: skip
    agent_key, session = Key.objects.get(), Session.objects.get()
    return {
        "store_id": store.id, "memory_id": version.memory_id, "version_id": version.id, "path": "d", "chain": store.id,
        "seq": version.seq, "session_id": session.pk, "view_id": view.pk, "user_id": alice.id,
        "key_id": agent_key.pk, "agent_id": agent_key.agent_id, "invitation_id": invitation.id, "token": token,
        "receipt_id": receipt.pk, "scan_id": scan.pk, "policy_id": policy.pk, "run_id": run.pk, "hold_id": hold.pk,
        "webhook_id": hook.pk, "delivery_id": delivery.pk, "import_id": job.pk,
        "finding_id": finding.pk, "number": 1, "group": "group_1", "topic": "retention",
        "comment_id": comment.pk, "claude_run_id": claude_run.pk, "claude_preset_id": preset.pk,
        "browser_id": "browser_1", "authenticator_id": "auth_1", "request_id": act_request.pk,
    }  # fmt: skip


def answer(client: Client, method: str, url: str, **headers: str) -> tuple[int, str]:
    """Status and text, without what differs from one answer to the next anyway."""
    form = "note=x&path=/b.md&new_path=/c&content=x&role=viewer"
    response = client.generic(method, url, form, "application/x-www-form-urlencoded", headers=headers)
    text = b"".join(response) if response.streaming else response.content  # type: ignore[attr-defined]
    return response.status_code, re.sub(r'nonce="[^"]*"|value="[^"]{64}"|"X-CSRFToken": *"\w+"', "", text.decode())


def test_the_pages_of_a_store_are_many() -> None:
    assert len(IN_A_STORE) >= 20
    assert {"store", "directory", "memory", "version", "entry", "members", "store_audit"} <= {
        a.name for a in IN_A_STORE
    }


@pytest.mark.push
def test_charlie_finds_nothing_of_alice_and_her_store_looks_like_one_that_does_not_exist(
    values: dict[str, object], charlie: User
) -> None:
    """405 is for a method that the address does not have, whatever stands there. In the short form, each fourth address
    is asked for by htmx and compared with that of a store that there is not, too."""
    unknown = {**values, "store_id": "memstore_" + "0" * 26, "chain": "memstore_" + "0" * 26}
    before = row_counts()
    client = signed_in(charlie)
    further = some(IN_A_STORE, 4)
    for address, headers in [*product(IN_A_STORE, ({},)), *product(further, ({"hx-request": "true"},))]:
        answers = [answer(client, method, address.filled(values), **headers) for method in ("GET", "POST")]
        assert {status for status, _ in answers} in ({404}, {404, 405}), address
        assert not any("of Alice" in text or "Support" in text for _, text in answers), address
        if address in further and not headers:
            there = [answer(client, method, address.filled(unknown)) for method in ("GET", "POST")]
            ids = str(unknown["store_id"]), str(values["store_id"])
            assert answers == [(status, text.replace(*ids)) for status, text in there], address
    assert row_counts() == before


@pytest.mark.push
@pytest.mark.both_databases
def test_alice_finds_what_is_at_the_same_address(values: dict[str, object], alice: User) -> None:
    """So that the other tests try addresses at which there is something."""
    client = signed_in(alice)
    for address in IN_A_STORE:
        expected = (403,) if address.name in OF_SUPERUSERS else (200, 204, 302, 405)
        assert answer(client, "GET", address.filled(values))[0] in expected, address


def test_a_role_in_another_store_opens_nothing_of_this_one(values: dict[str, object], charlie: User) -> None:
    """Charlie is an admin of his own store, and mixes its id with the ids of what is Alice's. In the short form, each
    fourth address is asked for without mixing, too."""
    own = new_store()
    keys_and_roles.set_role(own, charlie, Role.ADMIN, **BY)
    client = signed_in(charlie)
    mixed = {**values, "store_id": own.id, "chain": own.id, "seq": 999}
    plain = some(IN_A_STORE, 4)
    for address, method in product(IN_A_STORE, ("GET", "POST")):
        if address in plain:
            assert answer(client, method, address.filled(values))[0] in (404, 405), address
        if address.parts() & {"memory_id", "version_id", "hold_id"}:
            status, text = answer(client, method, address.filled(mixed))
            assert status in (404, 405) and "of Alice" not in text, address


@pytest.mark.push
def test_somebody_who_has_not_signed_in_is_sent_to_sign_in(values: dict[str, object]) -> None:
    before = row_counts()
    for address, method in product(PAGES, ("GET", "POST")):
        response = Client().generic(method, address.filled(values))
        if address.name not in ANYONE and response.status_code != 405:
            where = response.headers.get("Location", "").partition("?")[0]
            assert (response.status_code, where) == (302, "/sign-in"), (address, method)
    assert row_counts() == before


def test_what_is_for_administrators_alone_is_not_for_charlie(values: dict[str, object], charlie: User) -> None:
    """People, agents, keys and the hub's own entries: forbidden or not found, and nothing happens."""
    before = row_counts()
    client = signed_in(charlie)
    governing = [page for page in PAGES if page.parts() & {"user_id", "agent_id", "key_id", "invitation_id"}]
    assert governing
    for address, method in product(governing, ("GET", "POST")):
        assert answer(client, method, address.filled(values))[0] in (403, 404, 405), address
    assert row_counts() == before
    assert Key.objects.get().revoked_at is None
    assert Invitation.objects.get().used_at is None


def test_the_lists_that_charlie_may_open_name_nothing_of_alice(values: dict[str, object], charlie: User) -> None:
    client = signed_in(charlie)
    for address in PAGES:
        if not address.parts():
            _, text = answer(client, "GET", address.filled({}))
            assert "Support" not in text and str(values["store_id"]) not in text, address.name
    text = (
        answer(client, "POST", "/audit/export?format=json")[1] + answer(client, "POST", "/audit/export?format=csv")[1]
    )
    assert str(values["store_id"]) not in text and "a.md" not in text


def test_the_entries_of_the_hub_are_not_for_charlie(values: dict[str, object], charlie: User) -> None:
    assert AuditEntry.objects.of_chain(HUB).exists()
    assert answer(signed_in(charlie), "GET", f"/audit/{HUB}/1")[0] in (403, 404)


def test_a_key_of_another_store_gets_404(values: dict[str, object]) -> None:
    hub = new_hub()
    answer = hub.send(BLOCK, url=f"/v1/memory_stores/{values['store_id']}/tool_calls")
    assert (answer.status, answer.value["error"]["type"]) == (404, "not_found_error")

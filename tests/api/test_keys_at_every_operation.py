"""Every operation of the API for keys that may not do it: of too little access, of another store, ended, or unknown."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.api.app import api
from memoryhub.api.declared import Declared, operations_of
from memoryhub.api.frame import needs
from memoryhub.models import Access, AuditEntry, Key, Memory, MemoryStore, MemoryVersion, Proposal
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import BY, Hub, new_agent, new_hub, new_secret
from tests.api.path_rules.test_path_rules import set_rules
from tests.mcp.messages import message, send

pytestmark = pytest.mark.django_db

OPERATIONS = {operation.name: operation for operation in operations_of(api)}
OF_A_STORE = [one for one in OPERATIONS.values() if "{memory_store_id}" in one.path]
CALL = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories"}}
BODIES: dict[str, object] = {
    "create_memory": {"path": "/new.md", "content": "x"}, "update_memory": {"content": "x"}, "tool_calls": CALL,
    "update_memory_store": {"name": "Taken"}, "create_memory_store": {"name": "Taken"},
    "export_memory_store": {"format": "jsonl"}, "restore_memory_version": {},
}  # fmt: skip
LEVELS = (Access.READ, Access.WRITE, Access.MANAGE)


@dataclass(frozen=True)
class World:
    """A store with a memory and a proposal, the key of its agent, and a store of somebody else with the same."""

    hub: Hub
    other: Hub

    def states(self) -> list[object]:
        stores = [self.hub.store.pk, self.other.store.pk]
        rows = [MemoryStore.objects.order_by("pk").values_list("pk", "name", "archived_at")]
        rows += [AuditEntry.objects.of_chain(store).values_list("seq") for store in stores]
        return [[*found] for found in rows]


@pytest.fixture
def world() -> World:
    hubs = [new_hub(), new_hub()]
    for hub in hubs:
        hub.call(command="create", path="/memories/a.md", file_text="of this store")
        set_rules(hub.store, PathRule(Effect.PROPOSE, "/held/"))
        hub.call(command="create", path="/memories/held/b.md", file_text="proposed in this store")
    return World(*hubs)


def address(one: Declared, at: Hub, of: Hub) -> str:
    """The address of an operation at the store of one key, with the ids of what is in the store of another."""
    memory = Memory.objects.get(store=of.store)
    version, number = MemoryVersion.objects.get(store=of.store), Proposal.objects.get(store=of.store).number
    parts = {"memory_store_id": at.store.pk, "memory_id": memory.pk, "memory_version_id": version.pk}
    seq = "999999" if at is not of else "1"
    query = "?query=store" if one.name == "search_memories" else ""
    return "/v1" + one.path.format(**parts, proposal_number=number, seq=seq, session_id="x", dream_id="x") + query


def statuses(one: Declared, key: str, at: Hub, of: Hub) -> Iterator[int]:
    for method in one.methods:
        answer = Hub(at.store, key).send(BODIES.get(one.name, b""), method=method, url=address(one, at, of))
        assert b"of this store" not in answer.body or (at is of and answer.status == 200), (one.name, answer.body)
        yield answer.status


def level_of(one: Declared) -> Access:
    return one.needs.access if isinstance(one.needs, needs) else Access.READ


def test_a_key_of_less_access_is_refused_and_nothing_happens(world: World) -> None:
    keys = {level: new_secret(world.hub.store, level) for level in LEVELS}
    before = world.states()
    for one in OPERATIONS.values():
        for level in LEVELS[: LEVELS.index(level_of(one))]:
            assert {*statuses(one, keys[level], world.hub, world.hub)} == {403}, (one.name, level)
    assert world.states() == before


@pytest.mark.both_databases
def test_a_key_that_has_ended_or_never_was_opens_nothing(world: World) -> None:
    now = timezone.now()
    expired = keys_and_roles.issue_key(
        new_agent(), stores=[world.hub.store], access=Access.MANAGE, expires_at=now - timedelta(seconds=1), **BY
    )[1]
    revoked = new_secret(world.hub.store, Access.MANAGE)
    keys_and_roles.revoke_key(Key.objects.get(hint=revoked[-4:]), **BY)
    before = world.states()
    for key in (expired, revoked, "mh_" + "x" * 43, ""):
        for one in OF_A_STORE:
            assert {*statuses(one, key, world.hub, world.hub)} == {401}, (one.name, key)
        answer = send(Hub(world.hub.store, key), message("tools/list"), mcp_session_id="mcp-20251103-090000-0000")
        assert answer.status == 401
    assert world.states() == before


@pytest.mark.both_databases
@pytest.mark.parametrize("is_revoked", [True, False])
def test_whoever_has_a_key_that_has_ended_is_told_so_and_people_see_it(world: World, is_revoked: bool) -> None:
    now, store = timezone.now(), world.hub.store
    until = None if is_revoked else now - timedelta(seconds=1)
    key, secret = keys_and_roles.issue_key(new_agent(), stores=[store], access="write", expires_at=until, **BY)
    if is_revoked:
        keys_and_roles.revoke_key(key, **BY)
    ended = f"was revoked on {BY['at']:%Y-%m-%d}" if is_revoked else f"expired on {now - timedelta(seconds=1):%Y-%m-%d}"
    for _ in range(3):
        answer = Hub(store, secret).send(b"{}")
        assert answer.status == 401 and answer.value["error"]["message"].startswith(f"The key {ended}. A valid key is")
    entry = AuditEntry.objects.of_command("refused").get()  # the first one of a minute
    assert entry.actor_id == key.pk and json.loads(entry.input) == {
        "memory_store": store.pk, "status": 401, "reason": f"The key {ended}.",
    }  # fmt: skip
    assert AuditEntry.objects.of_command("refused").count() == 1
    of_any_store = send(Hub(store, secret), message("tools/list"))
    assert of_any_store.status == 401 and f"The key {ended}." in of_any_store.body.decode()
    wrong = Hub(store, secret[:-1] + "~").send(b"{}")
    assert wrong.status == 401 and wrong.value["error"]["message"].startswith("A valid key is needed")
    assert AuditEntry.objects.of_command("refused").count() == 1


def test_a_request_of_an_ended_key_that_names_no_store_is_recorded_with_its_address(world: World) -> None:
    secret = new_secret(world.hub.store)
    keys_and_roles.revoke_key(Key.objects.get(hint=secret[-4:]), **BY)
    assert send(Hub(world.hub.store, secret), message("tools/list")).status == 401
    entry = AuditEntry.objects.of_command("refused").get()
    assert entry.door == "mcp" and json.loads(entry.input)["memory_store"] == "/mcp"


def test_a_key_of_another_store_finds_no_store_and_with_its_own_none_of_the_ids(world: World) -> None:
    key, before = new_secret(world.other.store, Access.MANAGE), world.states()
    for one in OF_A_STORE:
        assert {*statuses(one, key, world.hub, world.hub)} == {404}, one.name
    assert world.states() == before
    for one in OF_A_STORE:
        if {"{memory_id}", "{memory_version_id}", "{seq}"} & set(one.path.split("/")):
            assert {*statuses(one, key, world.other, world.hub)} == {404}, one.name
    own = MemoryVersion.objects.get(store=world.other.store).pk
    theirs = MemoryVersion.objects.get(store=world.hub.store).pk
    diff = f"/v1/memory_stores/{world.other.store.pk}/memory_versions/{own}/diff?against={theirs}"
    assert Hub(world.other.store, key).send(b"", method="GET", url=diff).status == 404


def test_an_agent_finds_no_proposal_of_another_agent_of_its_store(world: World) -> None:
    key, before = new_secret(world.hub.store, Access.MANAGE), Proposal.objects.get(store=world.hub.store)
    for name in ("retrieve_proposal", "withdraw_proposal"):
        assert {*statuses(OPERATIONS[name], key, world.hub, world.hub)} == {404}
    listed = Hub(world.hub.store, key).send(
        b"", method="GET", url=address(OPERATIONS["list_proposals"], world.hub, world.hub)
    )
    assert listed.value["data"] == []
    assert Proposal.objects.get(store=world.hub.store).state == before.state


ASKED = ("/v1/memory_stores", "/v1/memory_stores/{}", "/v1/memory_stores/x", "/v1/sessions", "")


@pytest.mark.parametrize("asks", ASKED)
def test_each_use_of_a_key_is_its_last_use(asks: str) -> None:
    """Also one that is in no audit of a memory store: lists of stores and sessions, and what MCP tells first."""
    hub = new_hub()
    if asks:
        hub.send(b"", method="GET", url=asks.format(hub.store.pk))
    else:
        send(hub, message("tools/list"))
    assert Key.objects.get(hint=hub.secret[-4:]).last_used_at is not None

"""Webhooks tell of a proposal, of what awaits review and of a memory, in whatever way each of them came about."""

import json
from typing import Any

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import made
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.history import revert
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.actions.verification.verify import verify
from memoryhub.models import Delivery, Door, Finding, FindingState, Memory, MemoryVersion, Role, User, Webhook
from memoryhub.pure.webhook_rules.events import GROUPS
from tests.api.harness import Hub
from tests.api.path_rules.test_path_rules import set_rules
from tests.api.proposals.test_proposals import POLICIES
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import started, worked
from tests.support.fixtures import BY, new_person
from tests.support.write_guard import arranging
from tests.transfer import trips
from tests.transfer.exported import export
from tests.webhooks.hub import World, webhook

URL = "https://127.0.0.1:1/"
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def told(hook: Webhook, world: World) -> list[dict[str, Any]]:
    """The data of all events so far, in their order."""
    world.gather()
    found = Delivery.objects.filter(webhook=hook).order_by("id").values_list("payload", flat=True)
    return [json.loads(payload)["data"] for payload in found]


def listed(data: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(one["type"], [(of["id"], of["memory_version_id"]) for of in one["memories"]]) for one in data]


@pytest.fixture
def person(hub: Hub) -> User:
    found = new_person("Alice")
    keys_and_roles.set_role(hub.store, found, Role.ADMIN, **BY)
    return found


def by(person: User, world: World) -> Act:
    return Act(Actor.person(person), Door.WEB, world.now)


def test_an_open_proposal_that_an_import_brings_is_told(hub: Hub, world: World) -> None:
    set_rules(hub.store, POLICIES)
    hub.call(command="create", path="/memories/policies/a.md", file_text="a\n")
    target, world.now = trips.new_store(), trips.act(40).at
    hook = webhook(target, URL, GROUPS["proposal"], at=world.now)
    trips.run(trips.prepared(target, export(hub.store, "jsonl", governance=True)))
    (opened,) = told(hook, world)
    assert (opened["type"], opened["proposal"]) == ("proposal.opened", {"number": 1, "state": "open"})


def test_what_a_claude_run_proposes_is_told_and_that_it_takes_the_place_of_an_earlier_one(
    hub: Hub, world: World, person: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    settings.MEMORYHUB_CLAUDE_MODELS = ["claude-sonnet-5-5"]
    hook = webhook(hub.store, URL, GROUPS["proposal"], at=world.now)
    create = call("t1", command="create", path="/memories/a.md", file_text="a\n")
    with claude_api(Turn([create]), Turn([say("Done.")])) as api:
        run = worked(api, started(hub.store, person, copies=True, proposes=True))
    made.propose(run.pk, hub.store.pk, by(person, world))
    data = told(hook, world)
    assert [(one["type"], one["proposal"]) for one in data] == [
        ("proposal.opened", {"number": 1, "state": "open"}),
        ("proposal.withdrawn", {"number": 1, "state": "withdrawn"}),
        ("proposal.opened", {"number": 2, "state": "open"}),
    ]
    assert data[0]["actor"]["type"] == "session_actor" and data[2]["actor"]["type"] == "user_actor"


def test_a_deletion_that_awaits_review_is_told_as_such_and_again_where_a_decision_is_taken_back(
    hub: Hub, world: World, person: User
) -> None:
    hook = webhook(hub.store, URL, GROUPS["review"], at=world.now)
    hub.call(command="create", path="/memories/a.md", file_text="a\n")
    hub.call(command="delete", path="/memories/a.md")
    one, two = ((v.memory_id, v.pk) for v in MemoryVersion.objects.filter(store=hub.store).order_by("number"))
    approved = decisions.approve_many(hub.store.pk, [two[1]], by(person, world))
    assert approved is not None
    revert.take_back(hub.store.pk, approved.seq, by(person, world))
    assert [(name, sorted(of)) for name, of in listed(told(hook, world))] == [
        ("review.needed", [one]), ("review.needed", [two]), ("review.approved", sorted([one, two])),
        ("review.needed", sorted([one, two])),
    ]  # fmt: skip


def test_what_an_edit_approves_is_told(hub: Hub, world: World, person: User) -> None:
    for name in "ab":
        hub.call(command="create", path=f"/memories/{name}.md", file_text="text\n")
    hook = webhook(hub.store, URL, GROUPS["review"], at=world.now)
    memories = list(Memory.objects.filter(store=hub.store).order_by("path"))
    for memory, text in zip(memories, ("other text\n", "text\n"), strict=True):
        act = by(person, world)
        curation.edit(hub.store.pk, memory.pk, text, memory.sha256, act, reviewed=memory.head_id)
    assert listed(told(hook, world)) == [("review.approved", [(one.pk, str(one.head_id))]) for one in memories]


def test_a_memory_that_an_import_brings_with_its_history_is_told_as_it_is_now(world: World) -> None:
    source = trips.new_store()
    live = curation.create(source.pk, "/live.md", "a\n", trips.act(1)).memory
    curation.edit(source.pk, str(live), "b\n", Memory.objects.get(pk=live).sha256, trips.act(2))
    second = Memory.objects.get(pk=live).head_id
    curation.delete(source.pk, "/live.md", trips.act(3))
    curation.restore(source.pk, str(second), trips.act(4), path="/again.md")
    curation.create(source.pk, "/gone.md", "c\n", trips.act(5))
    curation.delete(source.pk, "/gone.md", trips.act(6))
    target, world.now = trips.new_store("Target"), trips.act(40).at
    hook = webhook(target, URL, GROUPS["memory"], at=world.now)
    trips.run(trips.prepared(target, export(source, "jsonl")))
    found = {memory.path: (memory.pk, str(memory.head_id)) for memory in Memory.objects.filter(store=target)}
    assert sorted(listed(told(hook, world))) == sorted(
        [
            ("memory.created", [found["/again.md"]]),
            ("memory.created", [found["/gone.md"]]),
            ("memory.deleted", [found["/gone.md"]]),
        ]
    )


def test_a_finding_that_a_person_justifies_while_saving_is_not_told_as_open(
    hub: Hub, world: World, person: User
) -> None:
    hook = webhook(hub.store, URL, GROUPS["finding"], at=world.now)
    card = "Card: 4111 1111 1111 1111\n"
    curation.create(hub.store.pk, "/a.md", card, by(person, world), override="A number for tests")
    assert told(hook, world) == []
    hub.call(command="create", path="/memories/b.md", file_text=card)
    assert [one["type"] for one in told(hook, world)] == ["finding.opened"]


@pytest.mark.parametrize("path", ["/b.md", "/4111 1111 1111 1111.md"])
def test_findings_that_an_erasure_ends_are_told_as_resolved(hub: Hub, world: World, person: User, path: str) -> None:
    text = "fine\n" if "4111" in path else "Card: 4111 1111 1111 1111\n"
    hub.call(command="create", path=f"/memories{path}", file_text=text)
    (open_one,) = Finding.objects.of_store(hub.store.pk)
    hook = webhook(hub.store, URL, (*GROUPS["finding"], "memory_version.redacted"), at=world.now)
    act = by(person, world)
    found = erasure.search(hub.store.pk, ["4111 1111 1111 1111"], act.at)
    erasure.erase(hub.store.pk, ["4111 1111 1111 1111"], found.digest, act)
    data = told(hook, world)
    assert [one["findings"] for one in data if one["type"] == "finding.resolved"] == [[{"id": open_one.pk}]]
    open_one.refresh_from_db()
    assert (open_one.state, open_one.fingerprint) == (FindingState.RESOLVED, None)
    assert verify(hub.store.pk)[1] is None


def test_findings_that_a_redaction_ends_are_told_as_resolved(hub: Hub, world: World, person: User) -> None:
    hub.call(command="create", path="/memories/b.md", file_text="Card: 4111 1111 1111 1111\n")
    (version,) = MemoryVersion.objects.filter(store=hub.store)
    hub.call(command="str_replace", path="/memories/b.md", old_str="4111 1111 1111 1111", new_str="gone")
    (one,) = Finding.objects.of_store(hub.store.pk)
    with arranging():
        Finding.objects.filter(pk=one.pk).update(state=FindingState.OPEN)  # as a scan of older versions opens it
    hook = webhook(hub.store, URL, GROUPS["finding"], at=world.now)
    redaction.redact_version(hub.store.pk, version.pk, by(person, world))
    assert [(event["type"], event["findings"]) for event in told(hook, world)] == [
        ("finding.resolved", [{"id": one.pk}])
    ]


def test_a_finding_of_a_memory_that_is_removed_from_the_trash_is_told_as_resolved(
    hub: Hub, world: World, person: User
) -> None:
    hub.call(command="create", path="/memories/b.md", file_text="Card: 4111 1111 1111 1111\n")
    hub.call(command="delete", path="/memories/b.md")
    (one,) = Finding.objects.of_store(hub.store.pk)
    with arranging():
        Finding.objects.filter(pk=one.pk).update(state=FindingState.OPEN)  # as a scan of older versions opens it
    hook = webhook(hub.store, URL, GROUPS["finding"], at=world.now)
    with tree.locked(hub.store.pk, by(person, world)) as store:
        removed = removal.purge(store, one.memory_id)
        tree.commit(store, Record("purge", memory=one.memory_id, redactions=removed.redactions))
    assert [(event["type"], event["findings"]) for event in told(hook, world)] == [
        ("finding.resolved", [{"id": one.pk}])
    ]
    assert verify(hub.store.pk)[1] is None

"""Webhooks say that a proposal was opened, decided or withdrawn, and nothing about its texts."""

import json

from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.models import MemoryStore, Proposal
from tests.api.harness import Hub
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules
from tests.api.proposals.test_proposals import POLICIES
from tests.webhooks.hub import World, act, webhook
from tests.webhooks.receivers import Receiver


def _proposal(store: MemoryStore, number: int) -> Proposal:
    return Proposal.objects.get(store=store, number=number)


def test_a_proposal_is_told_when_it_opens_and_when_it_ends(hub: Hub, there: Receiver, world: World) -> None:
    set_rules(hub.store, POLICIES)
    webhook(hub.store, there.url, at=world.now)

    def propose(name: str, text: str) -> None:
        block = hub.block(command="create", path=f"/memories/policies/{name}.md", file_text=text)
        for _ in range(2):  # the second time it is a repeated call
            hub.message(block, memoryhub_session=f"session-{name[0]}")

    propose("a", "secret words\n")
    propose("a2", "more\n")
    propose("b", "b\n")
    propose("c", "c\n")
    hub.call(command="create", path="/memories/policies/a.md", file_text="x" * 1_000_000)
    merged = proposal_plan(_proposal(hub.store, 1))
    decide.merge(hub.store.pk, 1, {merged.changes[1].memory: decide.Choice.KEEP}, merged.digest, act(world.now))
    decide.refuse(hub.store.pk, 2, act(world.now), seen=decide.seen_of(_proposal(hub.store, 2)))
    Api(hub).good("POST", "/proposals/3/withdraw")
    while world.deliver():
        pass
    data = [json.loads(one.body)["data"] for one in there.arrived]
    told = [one for one in data if one["type"].startswith("proposal.")]
    assert [(one["type"], one["proposal"]["number"], one["proposal"]["state"]) for one in told] == [
        ("proposal.opened", 1, "open"),
        ("proposal.opened", 2, "open"),
        ("proposal.opened", 3, "open"),
        ("proposal.decided", 1, "partly_merged"),
        ("proposal.decided", 2, "refused"),
        ("proposal.withdrawn", 3, "withdrawn"),
    ]
    assert told[0]["actor"]["type"] == "session_actor" and told[0]["memory_store_id"] == hub.store.pk
    assert told[0]["audit_entry"] < told[1]["audit_entry"]
    assert [one["type"] for one in data if not one["type"].startswith("proposal.")] == ["memory.created"]
    assert not any("words" in one.body or "policies" in one.body for one in there.arrived)

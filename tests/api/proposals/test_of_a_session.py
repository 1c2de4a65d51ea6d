"""A path rule can limit how many proposals a session opens: what would open a further one is refused at every door."""

from datetime import timedelta

import pytest

from memoryhub.actions.proposals import decide
from memoryhub.models import Key, Memory, Proposal, ProposedChange
from memoryhub.pure.path_rules import BadRule, Effect, PathRule
from memoryhub.pure.protocol.kinds import Kind, kind_of
from tests.api.harness import Hub, assert_audit_is_right, new_hub, new_secret, newest_entry, outcome
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import REFUSED, set_rules, texts
from tests.api.proposals.test_proposals import ana, counters, merge, without_error
from tests.mcp.messages import called
from tests.support.write_guard import tampering

pytestmark = pytest.mark.both_databases

RULE = PathRule(Effect.PROPOSE, "/policies/", reason="Ask in #support.", most=2)
NEW = {"command": "create", "path": "/memories/policies/new.md", "file_text": "x"}
TOLD = (
    "Error: A path rule does not let this agent create /memories/policies/new.md: this session has already made {}, "
    "and may make no more here. Nothing was written or proposed, so go on without this change. Ask in #support."
)


@pytest.fixture
def hub(db: None) -> Hub:
    made = new_hub()
    for path in ("/policies/a.md", "/policies/deep/b.md", "/notes/c.md"):
        assert made.call(command="create", path=f"/memories{path}", file_text="one\ntwo\nthree\n")[0] == "ok"
    set_rules(made.store, RULE)
    return made


def sends(hub: Hub, session: str | None, **input: object) -> str:
    headers = {"memoryhub_session": session} if session else {}
    return outcome(hub.message(hub.block(**input), **headers).value["content"][0])[1]


def is_proposed(hub: Hub, session: str | None) -> bool:
    """Sends something that was never proposed before, and refuses it if it waits."""
    answer = sends(hub, session, **{**NEW, "file_text": f"{newest_entry(hub.store.id).seq}"})
    for one in Proposal.objects.filter(store=hub.store, state="open"):
        decide.refuse(hub.store.id, one.number, ana(), seen=decide.seen_of(one))
    return answer.startswith("Not written")


def used_up(hub: Hub, session: str | None = "s") -> None:
    assert [is_proposed(hub, session) for _ in range(3)] == [True, True, False]


def test_a_session_that_has_proposed_as_often_as_it_may_is_told_so(hub: Hub) -> None:
    """Whatever became of its proposals, one that is withdrawn too. What joins an open one opens none."""
    assert sends(hub, "s", **NEW).startswith("Not written")
    assert "proposal #1." in sends(hub, "s", command="delete", path="/memories/policies/a.md")
    merge(hub.store)
    assert "proposal #2." in sends(hub, "s", command="delete", path="/memories/policies/deep/b.md")
    assert "proposal #2." in sends(hub, "s", command="create", path="/memories/policies/c.md", file_text="x")
    Api(hub, session="s").good("POST", "/proposals/2/withdraw")
    before, counts = texts(hub.store), counters(hub.store)
    told = sends(hub, "s", **{**NEW, "path": "/memories/policies/other.md"})
    assert told == TOLD.replace("new.md", "other.md").format("2 proposals") and kind_of(told) == Kind.RULE
    assert (texts(hub.store), counters(hub.store)) == (before, counts)
    assert Proposal.objects.filter(store=hub.store).count() == 2
    assert sends(hub, "s", command="create", path="/memories/notes/d.md", file_text="x").startswith("File created")
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_each_session_counts_alone_and_calls_without_one_by_key_and_day(hub: Hub) -> None:
    used_up(hub, "s")
    used_up(hub, "t")
    used_up(hub, None)
    assert "calls of this key without a session have made 2 proposals today (UTC)" in sends(hub, None, **NEW)
    agent = Key.objects.get(keystore__store=hub.store).agent
    assert is_proposed(Hub(hub.store, new_secret(hub.store)), "s"), "the name is that of a session of another agent"
    with tampering():
        of_today = Proposal.objects.filter(store=hub.store, agent=agent.pk, session=None)
        of_today.update(opened_at=newest_entry(hub.store.id).at - timedelta(days=1))
    assert is_proposed(hub, None)


@pytest.mark.both_databases
def test_all_proposals_of_the_session_count_and_the_strictest_rule_of_a_call_decides(hub: Hub) -> None:
    loose = PathRule(Effect.PROPOSE, "/notes/")
    set_rules(hub.store, RULE, loose)
    for _ in range(2):
        assert "Not written" in sends(hub, "s", command="delete", path="/memories/notes/c.md")
        decide.refuse(
            hub.store.id, newest := Proposal.objects.filter(store=hub.store).count(), ana(),
            seen=decide.seen_of(Proposal.objects.get(store=hub.store, number=newest)),
        )  # fmt: skip
    assert sends(hub, "s", **NEW) == TOLD.format("2 proposals")
    moved = sends(hub, "s", command="rename", old_path="/memories/notes/c.md", new_path="/memories/policies/c.md")
    assert moved.startswith("Error: A path rule does not let this agent create /memories/policies/c.md: this session")
    assert sends(hub, "s", command="delete", path="/memories/notes/c.md").startswith("Not written")
    assert sends(hub, "s", **NEW).startswith("Not written"), "it joins what is open"


@pytest.mark.both_databases
def test_every_command_and_mcp_are_refused_and_leave_no_trace(hub: Hub) -> None:
    without_error(hub.store, True)
    used_up(hub)
    before, counts, changes = texts(hub.store), counters(hub.store), ProposedChange.objects.count()
    for input, *_ in REFUSED:
        told = outcome(hub.message(hub.block(**input), memoryhub_session="s").value["content"][0])
        assert told[0] == "err" and "this session has already made 2 proposals" in told[1], input
        result = called(hub, "memory", input, memoryhub_session="s")
        assert (result["isError"], result["content"][0]["text"]) == (True, told[1])
        assert (texts(hub.store), counters(hub.store), ProposedChange.objects.count()) == (before, counts, changes)
        entry = newest_entry(hub.store.id)
        assert (entry.command, entry.ok, entry.version) == (input["command"], False, None)


def test_the_api_answers_403_at_each_of_its_changes(hub: Hub) -> None:
    api, memory = Api(hub, session="s"), Memory.objects.get(store=hub.store, path="/policies/a.md")
    used_up(hub)
    for method, path, body in (
        ("POST", "/memories", {"path": "/policies/z.md", "content": "x"}),
        ("POST", f"/memories/{memory.pk}", {"content": "x"}),
        ("POST", f"/memories/{memory.pk}", {"path": "/notes/moved.md"}),
        ("DELETE", f"/memories/{memory.pk}", b""),
    ):
        status, kind, message = api.refused(method, path, body)
        assert (status, kind) == (403, "permission_error"), (method, path)
        assert "this session has already made 2 proposals" in message
    assert_audit_is_right(hub.store)


def test_the_same_call_gets_its_answer_again_whatever_the_session_may_since_then(hub: Hub) -> None:
    used_up(hub)
    block = hub.block("toolu_once", **NEW)
    headers = {"memoryhub_session": "s"}
    first = hub.message(block, **headers).value
    set_rules(hub.store)
    assert hub.message(block, **headers).value == first and TOLD.format("2 proposals") in str(first)
    assert "/policies/new.md" not in texts(hub.store)


def test_rules_without_a_limit_are_stored_as_before(hub: Hub) -> None:
    assert "most" not in PathRule(Effect.PROPOSE).as_json()
    assert RULE.as_json()["most"] == 2 and PathRule.of_json(RULE.as_json()) == RULE
    for rule in (
        PathRule(Effect.REFUSE, most=1),
        PathRule(Effect.PROPOSE, most=0),
        PathRule(Effect.PROPOSE, most=1_001),
    ):
        with pytest.raises(BadRule):
            set_rules(hub.store, rule)

"""An agent follows its own proposals by the API and by MCP: it lists them, reads the decision, and withdraws one."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.comments import on_proposals
from memoryhub.actions.comments.on_proposals import Draft
from memoryhub.actions.core import transactions
from memoryhub.actions.memories import curation
from memoryhub.actions.proposals import decide, own
from memoryhub.actions.proposals.selected import Parts
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import stores
from memoryhub.models import (
    Access,
    Agent,
    Comment,
    Memory,
    MemoryVersion,
    Proposal,
    ProposalState,
    ProposedChange,
    User,
)
from tests.api.harness import BY, Hub, assert_audit_is_right, new_hub, new_secret, newest_entry
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.api.proposals.test_proposals import POLICIES, ana, merge, plan, proposal, refuse, ruled  # noqa: F401
from tests.mcp.messages import call as mcp_call
from tests.support.fixtures import signed_in

Json = dict[str, Any]


@pytest.fixture
def proposing(ruled: Hub) -> Hub:  # noqa: F811
    """A store in which the agent has proposed a new memory, a new text, a move and a deletion, all in one proposal."""
    ruled.call(command="create", path="/memories/policies/new.md", file_text="n\n")
    ruled.call(command="str_replace", path="/memories/policies/a.md", old_str="one", new_str="ONE")
    ruled.call(command="rename", old_path="/memories/policies/a.md", new_path="/memories/policies/z.md")
    ruled.call(command="delete", path="/memories/policies/deep")
    return ruled


def by_mcp(hub: Hub, **arguments: object) -> Json:
    result = mcp_call(hub, "proposals", **arguments)
    assert not result["isError"], result
    structured: Json = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == structured
    return structured


def mcp_error(hub: Hub, **arguments: object) -> str:
    result = mcp_call(hub, "proposals", **arguments)
    assert result["isError"]
    return str(result["content"][0]["text"])


def outline(found: Json) -> list[tuple[object, ...]]:
    return [(one["operation"], one["path"], one["new_path"], one["outcome"]) for one in found["changes"]]


def test_an_open_proposal_is_listed_and_read_with_its_texts(proposing: Hub) -> None:
    api = Api(proposing)
    page = api.good("GET", "/proposals")
    (listed,) = page["data"]
    assert page["next_page"] is None
    assert (listed["number"], listed["state"], listed["decided_at"], listed["reason"]) == (1, "open", None, None)
    assert outline(listed) == [
        ("created", "/policies/new.md", None, None),
        ("modified", "/policies/a.md", None, None),
        ("renamed", "/policies/a.md", "/policies/z.md", None),
        ("deleted", "/policies/deep/b.md", None, None),
    ]
    assert {change["content"] for change in listed["changes"]} == {None}
    assert (newest_entry(proposing.store.id).command, newest_entry(proposing.store.id).ok) == ("list_proposals", True)
    one = api.good("GET", "/proposals/1")
    assert [change["content"] for change in one["changes"]] == ["n\n", "ONE\ntwo\nthree\n", None, None]
    assert newest_entry(proposing.store.id).command == "view_proposal"
    by_tool = by_mcp(proposing, number=1)["data"][0]
    assert [change.get("content") for change in by_tool["changes"]] == ["n\n", "ONE\ntwo\nthree\n", None, None]
    assert by_tool["changes"][0]["path"] == "/memories/policies/new.md"
    assert "content" not in by_mcp(proposing)["data"][0]["changes"][0]
    assert_audit_is_right(proposing.store)


def test_the_agent_reads_what_became_of_each_change_and_why(proposing: Hub) -> None:
    plan = decide.proposal_plan(proposal(proposing.store))
    new = next(change.memory for change in plan.changes if change.then.path == "/policies/new.md")
    merge(proposing.store, **{new: decide.Choice.KEEP})
    found = Api(proposing).good("GET", "/proposals/1")
    assert found["state"] == "partly_merged" and found["decided_by"]["type"] == "user_actor"
    assert [change["outcome"] for change in found["changes"]] == ["refused", "merged", "merged", "merged"]
    proposing.call(command="create", path="/memories/policies/more.md", file_text="m\n")
    decide.refuse(
        proposing.store.id, 2, ana()._replace(note="Not ours."), seen=decide.seen_of(proposal(proposing.store, 2))
    )
    told = by_mcp(proposing, state="refused")["data"]
    assert [(one["number"], one["reason"], outline(one)) for one in told] == [
        (2, "Not ours.", [("created", "/memories/policies/more.md", None, "refused")])
    ]


def test_a_text_that_was_merged_in_part_says_so(ruled: Hub) -> None:  # noqa: F811
    far = "one\n" + "-\n" * 20 + "three\n"
    ruled.call(command="create", path="/memories/policies/far.md", file_text=far)
    merge(ruled.store)
    for word in ("one", "three"):
        edit = {"path": "/memories/policies/far.md", "old_str": word, "new_str": word.upper()}
        ruled.call(command="str_replace", **edit)
    (change,) = plan(ruled.store, 2).changes
    decide.merge(ruled.store.id, 2, {}, plan(ruled.store, 2).digest, ana(), parts=Parts({change.memory: [1]}))
    assert [one["outcome"] for one in Api(ruled).good("GET", "/proposals/2")["changes"]] == ["merged_in_part"] * 2


def test_lines_that_are_added_at_one_place_by_several_calls_are_all_merged(ruled: Hub) -> None:  # noqa: F811
    lines = [f"- customer {name}\n" for name in ("Ada", "Bob", "Eve")]
    for line in lines:
        ruled.call(command="insert", path="/memories/policies/a.md", insert_line=3, insert_text=line)
    merge(ruled.store)
    assert texts(ruled.store)["/policies/a.md"] == "one\ntwo\nthree\n" + "".join(lines)
    assert [one["outcome"] for one in Api(ruled).good("GET", "/proposals/1")["changes"]] == ["merged"] * 3


def test_a_change_that_a_later_one_replaced_says_so_at_both_doors(ruled: Hub) -> None:  # noqa: F811
    a, b, new = (f"/memories/policies/{name}.md" for name in ("a", "deep/b", "new"))
    for text in ("1", "uno"):
        ruled.call(command="create", path=new, file_text=text)
        ruled.call(command="str_replace", path=a, old_str="one", new_str=text)
        ruled.call(command="rename", old_path=a, new_path=f"/memories/policies/{text}.md")
    ruled.call(command="str_replace", path=a, old_str="one\ntwo", new_str="I\nII")
    ruled.call(command="str_replace", path=a, old_str="one", new_str="first")
    ruled.call(command="str_replace", path=b, old_str="one", new_str="1")
    ruled.call(command="delete", path=b)
    merge(ruled.store)
    assert texts(ruled.store)["/policies/uno.md"] == "first\nII\nthree\n"
    outcomes = ["replaced", "replaced", "replaced", "merged", "replaced", "merged", "merged_in_part", "merged"]
    outcomes += ["replaced", "merged"]
    assert [one["outcome"] for one in Api(ruled).good("GET", "/proposals/1")["changes"]] == outcomes
    assert [one["outcome"] for one in by_mcp(ruled)["data"][0]["changes"]] == outcomes
    assert_audit_is_right(ruled.store)


def test_of_two_versions_that_would_bring_a_memory_back_the_later_counts(ruled: Hub) -> None:  # noqa: F811
    memory = Memory.objects.get(store=ruled.store, path="/policies/a.md")
    curation.edit(ruled.store.id, memory.pk, "I\n", memory.sha256, ana())
    ruled.call(command="insert", path="/memories/policies/a.md", insert_line=1, insert_text="II\n")
    curation.delete(ruled.store.id, "/policies/a.md", ana())
    for number in (2, 1):
        version = MemoryVersion.objects.get(store=ruled.store, memory=memory.pk, number=number)
        assert Api(ruled).refused("POST", f"/memory_versions/{version.pk}/restore", {})[0] == 403
    merge(ruled.store)
    assert texts(ruled.store)["/policies/a.md"] == "one\ntwo\nthree\n"
    outcomes = ["replaced", "replaced", "merged"]
    assert [one["outcome"] for one in Api(ruled).good("GET", "/proposals/1")["changes"]] == outcomes


def test_a_memory_that_was_deleted_meanwhile_comes_back_with_all_changes(ruled: Hub) -> None:  # noqa: F811
    for word in ("one", "three"):
        edit = {"path": "/memories/policies/a.md", "old_str": word, "new_str": word.upper()}
        ruled.call(command="str_replace", **edit)
    curation.delete(ruled.store.id, "/policies/a.md", ana())
    (change,) = plan(ruled.store).changes
    merge(ruled.store, **{change.memory: decide.Choice.BEFORE})
    assert texts(ruled.store)["/policies/a.md"] == "ONE\ntwo\nTHREE\n"


def test_a_withdrawn_proposal_waits_for_nobody_and_the_next_change_opens_another(proposing: Hub) -> None:
    api = Api(proposing)
    withdrawn = api.good("POST", "/proposals/1/withdraw")
    assert withdrawn["state"] == "withdrawn" and withdrawn["decided_by"]["type"] == "api_actor"
    assert outline(withdrawn)[0][-1] is None
    entry = newest_entry(proposing.store.id)
    assert (entry.command, entry.ok, entry.seq) == ("withdraw_proposal", True, proposal(proposing.store).seq)
    said = "Proposal #1 cannot be withdrawn: it is withdrawn."
    assert api.refused("POST", "/proposals/1/withdraw") == (409, "proposal_not_open_error", said)
    assert mcp_error(proposing, number=1, withdraw=True) == f"Error: {said}"
    with pytest.raises(decide.AlreadyDecided):
        refuse(proposing.store, ana())
    proposing.call(command="create", path="/memories/policies/new.md", file_text="n\n")
    assert [one["number"] for one in api.good("GET", "/proposals", state="open")["data"]] == [2]
    assert by_mcp(proposing, number=2, withdraw=True)["data"][0]["state"] == "withdrawn"
    assert_audit_is_right(proposing.store)


def test_while_changes_are_read_others_write(proposing: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    held, read = [], own._with_changes

    def noted(*given: Any, **named: Any) -> list[own.Own]:
        held.append(transactions.is_open())
        return read(*given, **named)

    monkeypatch.setattr(own, "_with_changes", noted)
    api = Api(proposing)
    for address in ("/proposals", "/proposals/1"):
        api.good("GET", address)
    assert held == [False, False]


def test_other_agents_and_other_stores_do_not_exist(proposing: Hub) -> None:
    other = Hub(proposing.store, new_secret(proposing.store))
    manager = Hub(proposing.store, new_secret(proposing.store, Access.MANAGE))
    for hub in (other, manager, new_hub()):
        api = Api(hub)
        assert api.good("GET", "/proposals")["data"] == by_mcp(hub)["data"] == []
        sentence = "This agent has no proposal #1 in this memory store."
        assert api.refused("GET", "/proposals/1") == (404, "not_found_error", sentence)
        assert api.refused("POST", "/proposals/1/withdraw") == (404, "not_found_error", sentence)
        assert mcp_error(hub, number=1) == mcp_error(hub, number=1, withdraw=True) == f"Error: {sentence}"
        entry = newest_entry(hub.store.id)
        assert (entry.command, entry.ok) == ("withdraw_proposal", False)
    assert proposal(proposing.store).state == ProposalState.OPEN


def test_a_key_that_reads_sees_the_proposals_of_its_agent_but_withdraws_none(proposing: Hub) -> None:
    agent = Agent.objects.get(pk=proposal(proposing.store).agent)
    _, secret = keys_and_roles.issue_key(agent, stores=[proposing.store], access=Access.READ, **BY)
    reader = Hub(proposing.store, secret)
    assert [one["number"] for one in Api(reader).good("GET", "/proposals")["data"]] == [1]
    assert Api(reader).refused("POST", "/proposals/1/withdraw")[:2] == (403, "permission_error")
    assert "needs a key with `write` access" in mcp_error(reader, number=1, withdraw=True)


def test_an_archived_store_lists_and_withdraws_nothing(proposing: Hub) -> None:
    stores.set_archived(proposing.store, True, **BY)
    assert len(Api(proposing).good("GET", "/proposals")["data"]) == 1
    assert Api(proposing).refused("POST", "/proposals/1/withdraw")[0] == 400
    assert proposal(proposing.store).state == ProposalState.OPEN


@pytest.mark.both_databases
def test_pages_of_proposals_follow_each_other_at_both_doors(hub: Hub) -> None:
    set_rules(hub.store, POLICIES)
    for number in range(5):
        path = f"/memories/policies/{number}.md"
        hub.message(hub.block(command="create", path=path, file_text="x"), memoryhub_session=f"s{number}")
    pages = Api(hub).pages("proposals", 2)
    assert [[one["number"] for one in page] for page in pages] == [[5, 4], [3, 2], [1]]
    first = by_mcp(hub, limit=3)
    second = by_mcp(hub, limit=3, page=first["next_page"])
    assert [one["number"] for one in first["data"] + second["data"]] == [5, 4, 3, 2, 1]
    assert second["next_page"] is None


@pytest.mark.parametrize("number", ["0", "x", "-1", "1e9", "9" * 18, "9" * 40, "²", "%00"])
def test_an_address_without_a_proposal_is_a_404_in_words(hub: Hub, number: str) -> None:
    status, kind, message = Api(hub).refused("GET", f"/proposals/{number}")
    assert (status, kind) == (404, "not_found_error") and "proposal" in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"number": 0}, "`number` must be a whole number from 1"),
        ({"number": True}, "`number` must be a whole number"),
        ({"withdraw": True}, "`withdraw` needs the `number`"),
        ({"withdraw": "yes", "number": 1}, "`withdraw` must be true or false"),
        ({"state": "lost"}, "`state` must be one of open, merged"),
        ({"page": "page_x"}, "`page` is not a cursor"),
        ({"limit": 0}, "`limit` must be a whole number"),
    ],
)
def test_arguments_that_cannot_be_used_are_errors_in_words(hub: Hub, arguments: Json, words: str) -> None:
    assert words in mcp_error(hub, **arguments)
    assert newest_entry(hub.store.id).ok is False


def test_people_see_a_withdrawn_proposal_and_its_entries_in_words(proposing: Hub, superuser: User) -> None:
    Api(proposing).good("POST", "/proposals/1/withdraw")
    browser = signed_in(superuser)
    store = proposing.store.id
    html = browser.get(f"/stores/{store}/proposals/1").content.decode()
    assert "Withdrawn" in html and "Merge" not in html
    assert "Withdrawn" in browser.get(f"/stores/{store}/proposals?state=decided").content.decode()
    entry = proposal(proposing.store).seq
    assert "withdrew its proposal #1" in browser.get(f"/audit/{store}/{entry}").content.decode()


@pytest.mark.both_databases
def test_a_closed_proposal_is_removed_with_the_entry_of_its_decision(proposing: Hub) -> None:
    on_proposals.comment(proposing.store.pk, 1, [Draft("Why?")], ana())
    Api(proposing).good("POST", "/proposals/1/withdraw")
    ended = proposal(proposing.store).seq or 0
    proposing.call(command="create", path="/memories/policies/waits.md", file_text="w\n")
    waiting = MemoryVersion.objects.filter(store=proposing.store).values_list("pk", flat=True)
    decisions.approve_many(proposing.store.pk, list(waiting), ana())
    proposing.call(command="view", path="/memories")
    long_after = ana()._replace(at=timezone.now() + timedelta(days=90))
    removal.remove_entries(proposing.store.pk, ended - 1, long_after)
    assert proposal(proposing.store).state == ProposalState.WITHDRAWN
    removal.remove_entries(proposing.store.pk, ended + 1, long_after)
    assert [one["number"] for one in Api(proposing).good("GET", "/proposals")["data"]] == [2]
    assert {change.proposal for change in ProposedChange.objects.filter(store=proposing.store)} == {
        proposal(proposing.store, 2).pk
    }
    assert not Comment.objects.exists()
    assert_audit_is_right(proposing.store)
    proposing.call(command="create", path="/memories/policies/third.md", file_text="w\n")
    merge(proposing.store, 2)
    assert_audit_is_right(proposing.store)
    proposing.call(command="view", path="/memories")
    later = long_after._replace(at=timezone.now() + timedelta(days=180))
    removal.remove_entries(proposing.store.pk, proposal(proposing.store, 2).seq or 0, later)
    told = proposing.call(command="create", path="/memories/policies/fourth.md", file_text="w\n")
    assert "proposal #3." in told[1] and not Proposal.objects.filter(store=proposing.store, number=2).exists()
    assert_audit_is_right(proposing.store)

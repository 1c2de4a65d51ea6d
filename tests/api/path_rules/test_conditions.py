"""Path rules with a condition: they match only changes that take lines away, or memories of people, and so on."""

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.findings import findings
from memoryhub.actions.memories import curation
from memoryhub.actions.review import decisions
from memoryhub.models import Finding, FindingState, Key, Memory, MemoryStore
from memoryhub.pure.path_rules import Condition, Effect, PathRule, Verb
from tests.api.harness import BY, Hub, assert_audit_is_right, new_hub, new_secret
from tests.api.memory_calls import Api, sha
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.api.proposals.test_proposals import ana, merge
from tests.mcp.messages import call as mcp_call

CARD = "4111 1111 1111 1111"


def only_if(condition: Condition, effect: Effect = Effect.PROPOSE, pattern: str = "") -> PathRule:
    return PathRule(effect, pattern, only_if=condition)


@pytest.fixture
def hub(db: None) -> Hub:
    hub = new_hub(overwrite_on_create=True)
    writes(hub, "/a.md", "one\ntwo\n")
    return hub


def writes(hub: Hub, path: str, text: str) -> list[str]:
    return hub.call(command="create", path=f"/memories{path}", file_text=text)


def memory_at(store: MemoryStore, path: str) -> Memory:
    return Memory.objects.live().filter(store=store).at(path).get()


def waits(told: list[str]) -> bool:
    assert told[0] == "ok" or "is now part of proposal #" in told[1], told
    return told[0] == "err"


def test_additions_are_made_while_what_takes_lines_away_waits(hub: Hub) -> None:
    set_rules(hub.store, only_if(Condition.REMOVES_LINES))
    path = {"path": "/memories/a.md"}
    made = (
        ("insert", {"insert_line": 1, "insert_text": "between"}),
        ("str_replace", {"old_str": "two", "new_str": "two\nthree"}),
        ("create", {"file_text": "zero\none\nbetween\ntwo\nthree\n"}),
    )
    for command, input in made:
        assert not waits(hub.call(command=command, **path, **input)), command
    held = "zero\none\nbetween\ntwo\nthree\n"
    assert texts(hub.store) == {"/a.md": held}
    for command, input in (
        ("str_replace", {"old_str": "two", "new_str": "2"}),
        ("create", {"file_text": "one\nzero\nbetween\ntwo\nthree\n"}),
        ("delete", {}),
    ):
        assert waits(hub.call(command=command, **path, **input)), command
    assert hub.call(command="str_replace", **path, old_str="nowhere", new_str="x")[1].startswith("No replacement")
    assert mcp_call(hub, "memory", command="str_replace", path="/memories/a.md", old_str="one", new_str="1")["isError"]
    assert not waits(writes(hub, "/new.md", "a new one"))
    moved = hub.call(command="rename", old_path="/memories/new.md", new_path="/memories/moved.md")
    assert not waits(moved), "a move takes no line away"
    assert texts(hub.store) == {"/a.md": held, "/moved.md": "a new one"}
    assert_audit_is_right(hub.store)


def test_the_api_adds_lines_and_proposes_what_takes_them_away(hub: Hub) -> None:
    set_rules(hub.store, only_if(Condition.REMOVES_LINES))
    api, memory = Api(hub), memory_at(hub.store, "/a.md").pk
    added = "one\ntwo\nthree\n"
    assert api.update(memory, {"content": added})["content_sha256"] == sha(added)
    assert api.refused("POST", f"/memories/{memory}", {"content": "one\n"})[:2] == (403, "permission_error")
    assert api.refused("DELETE", f"/memories/{memory}")[0] == 403
    assert texts(hub.store) == {"/a.md": added}


def test_what_a_person_wrote_or_approved_waits_whoever_changes_it_since_then(hub: Hub) -> None:
    set_rules(hub.store, only_if(Condition.BY_PERSON))
    assert not waits(writes(hub, "/a.md", "agents write it"))
    head = memory_at(hub.store, "/a.md").head_id
    decisions.approve(hub.store.id, head, ana(), earlier=1)
    assert waits(writes(hub, "/a.md", "again"))
    curation.create(hub.store.id, "/people.md", "one\n", ana())
    for command, input in (
        ("insert", {"insert_line": 1, "insert_text": "two"}),
        ("delete", {}),
    ):
        assert waits(hub.call(command=command, path="/memories/people.md", **input)), command
    assert waits(hub.call(command="rename", old_path="/memories/people.md", new_path="/memories/mine.md"))
    assert not waits(writes(hub, "/other.md", "x")) and not waits(writes(hub, "/other.md", "y"))
    merge(hub.store)
    assert waits(writes(hub, "/a.md", "once more")), "a merge approves the text"
    assert_audit_is_right(hub.store)


@pytest.mark.both_databases
def test_a_deletion_by_the_hub_or_a_person_writes_nothing(hub: Hub) -> None:
    memory = memory_at(hub.store, "/a.md")
    curation.delete(hub.store.id, "/a.md", Act(**BY))
    key = Key.objects.select_related("agent").get(keystore__store=hub.store)
    act = Act(Actor.key(key.pk, key.agent), BY["door"], BY["at"])
    curation.restore(hub.store.id, memory.head_id, act)
    set_rules(hub.store, only_if(Condition.BY_PERSON))
    assert not waits(writes(hub, "/a.md", "agents wrote all of it"))


@pytest.mark.both_databases
def test_a_memory_with_an_open_finding_waits_until_somebody_has_decided_about_it(hub: Hub) -> None:
    set_rules(hub.store, only_if(Condition.HAS_FINDING, Effect.REFUSE))
    assert writes(hub, "/b.md", f"card {CARD}\n")[0] == "ok"
    told = hub.call(command="insert", path="/memories/b.md", insert_line=1, insert_text="more")
    assert told[0] == "err" and "A path rule does not let this agent change" in told[1]
    assert writes(hub, "/a.md", "another memory")[0] == "ok"
    finding = Finding.objects.get(store=hub.store)
    findings.decide(hub.store.id, [finding.pk], FindingState.DISMISSED, "a test card", ana())
    assert hub.call(command="insert", path="/memories/b.md", insert_line=1, insert_text="more")[0] == "ok"


def test_a_new_agent_waits_until_one_of_its_proposals_was_merged(hub: Hub) -> None:
    set_rules(hub.store, only_if(Condition.NEW_AGENT))
    other = Hub(hub.store, new_secret(hub.store))
    assert waits(writes(hub, "/b.md", "first")) and waits(writes(other, "/c.md", "first"))
    merge(hub.store, 1)
    assert not waits(writes(hub, "/b.md", "second"))
    assert waits(writes(other, "/c.md", "second")), "each agent for itself"
    assert texts(hub.store)["/b.md"] == "second"


def test_a_directory_is_held_back_for_one_memory_that_meets_the_condition(hub: Hub) -> None:
    for number in range(3):
        writes(hub, f"/notes/{number}.md", "x")
    curation.create(hub.store.id, "/notes/people.md", "one\n", ana())
    set_rules(hub.store, PathRule(Effect.REFUSE, "", frozenset({Verb.DELETE}), only_if=Condition.BY_PERSON))
    refused = hub.call(command="delete", path="/memories/notes")
    assert refused[0] == "err" and "/memories/notes/people.md" in refused[1]
    curation.delete(hub.store.id, "/notes/people.md", ana())
    assert hub.call(command="delete", path="/memories/notes")[0] == "ok"


def test_rules_without_a_condition_are_stored_as_before(hub: Hub) -> None:
    rules = [PathRule(Effect.ALLOW, "/a/"), only_if(Condition.NEW_AGENT)]
    set_rules(hub.store, *rules)
    stored = MemoryStore.objects.get(pk=hub.store.pk).path_rules
    assert [one.get("only_if") for one in stored] == [None, "new_agent"]
    assert "only_if" not in stored[0]

"""Changes that a path rule holds back become proposals, leave no trace elsewhere, and merge into the texts of then."""

from typing import Any

import pytest

from memoryhub import tool
from memoryhub.actions.core import proposing
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.hub import disk_space
from memoryhub.actions.core.plans import Choice, Plan, PlanChanged, Problem
from memoryhub.actions.erasure import erasure, redaction
from memoryhub.actions.history import apply_plan
from memoryhub.actions.memories import curation
from memoryhub.actions.proposals import decide
from memoryhub.actions.proposals.decide import AlreadyDecided
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.stores import delete, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import (
    Directory,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    ProposalState,
    ProposedChange,
    User,
)
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import BY, Hub, assert_audit_is_right, new_hub, newest_entry, outcome
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import REFUSED, set_rules, texts
from tests.mcp.messages import call as mcp_call
from tests.support.fixtures import new_person
from tests.support.tampering import cells

POLICIES = PathRule(Effect.PROPOSE, "/policies/", reason="Ask in #support.")
TOLD = (
    "Not written: this change is now part of proposal #{}. It is not visible yet. A reviewer decides about it, so do "
    "not repeat the change. Ask in #support."
)


def ana() -> Act:
    person = User.objects.filter(name="Ana").first() or new_person("Ana")
    return Act(Actor.person(person), BY["door"], BY["at"])


def proposal(store: MemoryStore, number: int = 1) -> Proposal:
    return Proposal.objects.get(store=store, number=number)


def plan(store: MemoryStore, number: int = 1) -> Plan:
    return proposal_plan(proposal(store, number))


def merge(store: MemoryStore, number: int = 1, **choices: Choice) -> decide.Decided:
    return decide.merge(store.id, number, choices, plan(store, number).digest, ana())


def refuse(store: MemoryStore, act: Act) -> decide.Decided:
    return decide.refuse(store.id, 1, act, seen=decide.seen_of(proposal(store)))


def counters(store: MemoryStore) -> Any:
    row = MemoryStore.objects.get(pk=store.pk)
    directories = Directory.objects.filter(store=store).order_by("path")
    return row.memory_count, row.total_bytes, list(directories.values_list("path", "memory_count", "total_bytes"))


@pytest.fixture
def ruled(hub: Hub) -> Hub:
    for path in ("/policies/a.md", "/policies/deep/b.md", "/notes/c.md"):
        assert hub.call(command="create", path=f"/memories{path}", file_text="one\ntwo\nthree\n")[0] == "ok"
    set_rules(hub.store, POLICIES)
    return hub


@pytest.mark.parametrize("input", [input for input, *_ in REFUSED], ids=lambda value: str(value)[:40])
def test_each_command_is_held_back_with_the_truth_and_can_be_merged(ruled: Hub, input: dict[str, object]) -> None:
    before, counts = texts(ruled.store), counters(ruled.store)
    assert ruled.call(**input) == ["err", TOLD.format(1)]
    assert texts(ruled.store) == before and counters(ruled.store) == counts
    entry = newest_entry(ruled.store.id)
    assert (entry.command, entry.ok, entry.version) == (input["command"], False, None)
    assert mcp_call(ruled, "memory", **input)["content"][0]["text"] == TOLD.format(1)
    assert_audit_is_right(ruled.store)
    twin = new_hub()
    for path, text in before.items():
        twin.call(command="create", path=f"/memories{path}", file_text=text)
    assert twin.call(**input)[0] == "ok"
    done = merge(ruled.store)
    assert texts(ruled.store) == texts(twin.store)
    assert done.state == proposal(ruled.store).state == ProposalState.MERGED
    assert newest_entry(ruled.store.id).command == "merge_proposal"
    assert_audit_is_right(ruled.store)


def test_the_same_call_sent_again_gets_the_same_answer_and_proposes_once(ruled: Hub) -> None:
    block = ruled.block("toolu_once", command="create", path="/memories/policies/new.md", file_text="x")
    first, second = ruled.send(block).value, ruled.send(block).value
    assert outcome(first) == outcome(second) == ["err", TOLD.format(1)]
    assert ruled.call(command="create", path="/memories/policies/new.md", file_text="x") == ["err", TOLD.format(1)]
    assert ProposedChange.objects.filter(store=ruled.store).count() == 1


def _session(hub: Hub, name: str, **input: object) -> list[str]:
    return outcome(hub.message(hub.block(**input), memoryhub_session=name).value["content"][0])


def test_the_changes_of_a_session_are_one_proposal_and_other_sessions_have_their_own(ruled: Hub) -> None:
    one = {"command": "str_replace", "path": "/memories/policies/a.md", "old_str": "one", "new_str": "ONE"}
    three = {**one, "old_str": "three", "new_str": "THREE"}
    assert _session(ruled, "first", **one) == _session(ruled, "first", **three) == ["err", TOLD.format(1)]
    assert _session(ruled, "second", **one) == ["err", TOLD.format(2)]
    assert _session(ruled, "first", command="delete", path="/memories/policies/deep")[1] == TOLD.format(1)
    assert [change.then.content for change in plan(ruled.store).changes] == ["ONE\ntwo\nTHREE\n", None]
    merge(ruled.store)
    assert texts(ruled.store) == {"/policies/a.md": "ONE\ntwo\nTHREE\n", "/notes/c.md": "one\ntwo\nthree\n"}
    assert plan(ruled.store, 2).is_empty
    assert merge(ruled.store, 2).versions == 0
    assert_audit_is_right(ruled.store)


def test_what_an_agent_proposes_later_about_the_same_lines_counts(ruled: Hub) -> None:
    for new in ("1", "I", "uno"):
        ruled.call(command="str_replace", path="/memories/policies/a.md", old_str="one", new_str=new)
    curation.edit(ruled.store.id, _memory(ruled).pk, "one\ntwo\nthree\nfour\n", _memory(ruled).sha256, ana())
    ruled.call(command="insert", path="/memories/policies/a.md", insert_line=4, insert_text="five\n")
    merge(ruled.store)
    assert texts(ruled.store)["/policies/a.md"] == "uno\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    "between", [{"command": "delete"}, {"command": "str_replace", "old_str": "one", "new_str": "2"}]
)
def test_a_change_counts_again_that_an_agent_took_back_meanwhile(ruled: Hub, between: dict[str, object]) -> None:
    first = {"command": "str_replace", "old_str": "one", "new_str": "1"}
    for input in (first, between, first):
        ruled.call(**input, path="/memories/policies/a.md")
    merge(ruled.store)
    assert texts(ruled.store)["/policies/a.md"] == "1\ntwo\nthree\n"


def _memory(hub: Hub, path: str = "/policies/a.md") -> Memory:
    return Memory.objects.live().get(store=hub.store, path=path)


@pytest.mark.both_databases
def test_lines_that_somebody_changed_meanwhile_are_a_conflict_and_nothing_is_lost(ruled: Hub) -> None:
    ruled.call(command="str_replace", path="/memories/policies/a.md", old_str="two", new_str="agent")
    ruled.call(command="create", path="/memories/policies/new.md", file_text="agent's")
    memory, shown = _memory(ruled), plan(ruled.store).digest
    curation.edit(ruled.store.id, memory.pk, "one\nperson\nthree\n", memory.sha256, ana())
    curation.create(ruled.store.id, "/policies/new.md", "person's", ana())
    with pytest.raises(PlanChanged):
        decide.merge(ruled.store.id, 1, {}, shown, ana())
    now = plan(ruled.store)
    assert [str(change.problem) for change in now.changes] == ["conflict", "taken"]
    done = merge(ruled.store, **{memory.pk: Choice.BEFORE, now.changes[1].memory: Choice.KEEP})
    assert done.state == ProposalState.PARTLY_MERGED
    assert texts(ruled.store)["/policies/a.md"] == "one\nagent\nthree\n"
    assert texts(ruled.store)["/policies/new.md"] == "person's"
    assert MemoryVersion.objects.filter(store=ruled.store, memory=memory.pk).count() == 3
    with pytest.raises(AlreadyDecided):
        refuse(ruled.store, ana())
    assert_audit_is_right(ruled.store)


def test_a_change_is_a_problem_whose_path_another_change_of_the_proposal_takes(ruled: Hub) -> None:
    ruled.call(command="create", path="/memories/policies/x/b.md", file_text="below\n")
    ruled.call(command="rename", old_path="/memories/policies/a.md", new_path="/memories/policies/x")
    moved, created = plan(ruled.store).changes
    assert (moved.then.path, moved.problem) == ("/policies/x", Problem.NONE)
    assert (created.then.path, created.problem) == ("/policies/x-restored/b.md", Problem.TAKEN)
    assert merge(ruled.store, **{created.memory: Choice.KEEP}).state == ProposalState.PARTLY_MERGED
    assert "/policies/x" in texts(ruled.store) and "/policies/a.md" not in texts(ruled.store)
    assert_audit_is_right(ruled.store)


def test_what_needs_a_text_that_is_gone_can_only_be_refused(ruled: Hub) -> None:
    ruled.call(command="str_replace", path="/memories/policies/a.md", old_str="two", new_str="agent")
    memory = _memory(ruled)
    curation.edit(ruled.store.id, memory.pk, "one\n2\nthree\n", memory.sha256, ana())
    version = MemoryVersion.objects.get(store=ruled.store, memory=memory.pk, number=1)
    redaction.redact_version(ruled.store.id, version.pk, ana())
    (change,) = plan(ruled.store).changes
    assert (str(change.problem), change.choices) == ("redacted", (Choice.KEEP,))
    assert merge(ruled.store).state == ProposalState.REFUSED
    assert texts(ruled.store)["/policies/a.md"] == "one\n2\nthree\n"
    assert_audit_is_right(ruled.store)


def test_a_refused_proposal_changes_nothing_and_keeps_its_reason(ruled: Hub) -> None:
    ruled.call(command="delete", path="/memories/policies")
    before = texts(ruled.store)
    refuse(ruled.store, ana()._replace(note="Policies stay."))
    assert texts(ruled.store) == before
    assert (proposal(ruled.store).state, proposal(ruled.store).reason) == ("refused", "Policies stay.")
    assert ruled.call(command="delete", path="/memories/policies")[1] == TOLD.format(2)
    assert_audit_is_right(ruled.store)


def test_a_merge_can_be_undone(ruled: Hub) -> None:
    before = texts(ruled.store)
    ruled.call(command="str_replace", path="/memories/policies/a.md", old_str="one", new_str="1")
    ruled.call(command="create", path="/memories/policies/new.md", file_text="x")
    ruled.call(command="delete", path="/memories/policies/deep")
    seq = merge(ruled.store).seq
    versions = apply_plan.entry_versions(ruled.store.id, seq)
    assert len(versions) == 3
    undo = apply_plan.undo_plan(ruled.store.id, versions)
    apply_plan.undo(ruled.store.id, versions, {}, undo.digest, ana())
    assert texts(ruled.store) == before
    assert_audit_is_right(ruled.store)


def test_the_api_holds_back_with_403_and_imports_and_restores_too(ruled: Hub) -> None:
    api, memory = Api(ruled), _memory(ruled).pk
    told = TOLD.format(1)
    for asked in (
        ("POST", "/memories", {"path": "/policies/new.md", "content": "x"}),
        ("POST", f"/memories/{memory}", {"content": "x", "path": "/x.md"}),
        ("DELETE", f"/memories/{memory}"),
    ):
        assert api.refused(*asked)[:3] == (403, "permission_error", told)
    curation.delete(ruled.store.id, "/policies/deep", ana())
    first = MemoryVersion.objects.get(store=ruled.store, path="/policies/deep/b.md", number=1)
    assert api.refused("POST", f"/memory_versions/{first.pk}/restore", {})[2] == told
    shown = {change.path: change.then for change in plan(ruled.store).changes}
    assert {path: state.path for path, state in shown.items()} == {
        "/policies/a.md": None, "/policies/deep/b.md": "/policies/deep/b.md", "/policies/new.md": "/policies/new.md",
    }  # fmt: skip
    merge(ruled.store)
    assert sorted(texts(ruled.store)) == ["/notes/c.md", "/policies/deep/b.md", "/policies/new.md"]
    assert Memory.objects.get(store=ruled.store, path="/policies/deep/b.md").pk == first.memory_id
    assert_audit_is_right(ruled.store)


def test_what_was_proposed_after_the_page_was_opened_is_not_refused_unseen(ruled: Hub) -> None:
    ruled.call(command="delete", path="/memories/policies/deep")
    seen = decide.seen_of(proposal(ruled.store))
    ruled.call(command="delete", path="/memories/policies/a.md")
    with pytest.raises(PlanChanged):
        decide.refuse(ruled.store.id, 1, ana(), seen=seen)
    assert proposal(ruled.store).is_open


def test_each_call_of_one_message_makes_the_last_change_later(ruled: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, execute = [], tool.execute

    def executed(*given: Any, **named: Any) -> Any:
        done = execute(*given, **named)
        seen.append(decide.seen_of(proposal(ruled.store)))
        return done

    monkeypatch.setattr(tool, "execute", executed)
    ruled.message(*(ruled.block(command="delete", path=f"/memories/policies/{name}") for name in ("deep", "a.md")))
    with pytest.raises(PlanChanged):
        decide.refuse(ruled.store.id, 1, ana(), seen=seen[0])
    assert decide.refuse(ruled.store.id, 1, ana(), seen=seen[1]).state == ProposalState.REFUSED


@pytest.mark.both_databases
def test_while_the_disk_is_full_no_proposed_text_is_stored(ruled: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise disk_space.DiskFull

    monkeypatch.setattr(disk_space, "require_room", full)
    sent = ruled.message(ruled.block(command="create", path="/memories/policies/new.md", file_text="x"))
    assert (sent.status, ProposedChange.objects.filter(store=ruled.store).count()) == (503, 0)
    assert ruled.call(command="delete", path="/memories/policies/deep") == ["err", TOLD.format(1)]


def test_too_much_is_refused_and_nothing_proposed_is_lost(ruled: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposing, "MOST_CHANGES", 2)
    monkeypatch.setattr(proposing, "MOST_OPEN", 1)
    for number in range(3):
        told = _session(ruled, "s", command="create", path=f"/memories/policies/{number}.md", file_text="x")[1]
    assert told == "Error: too many changes for one proposal: 3; 2 are the most. Make a smaller change."
    told = _session(ruled, "t", command="delete", path="/memories/policies/deep")[1]
    assert told == "Error: too many proposals wait for a reviewer of this memory store: 1. Try again later."
    monkeypatch.setattr(proposing, "MOST_OF_AGENT", 1)
    told = _session(ruled, "t", command="delete", path="/memories/policies/deep")[1]
    assert told == "Error: too many proposals of this agent wait for a reviewer: 1. Try again later."
    monkeypatch.setattr(proposing, "MOST_CHANGES", 5)
    monkeypatch.setattr(proposing, "MOST_BYTES", 9)
    told = _session(ruled, "s", command="create", path="/memories/policies/9.md", file_text="ü" * 4)[1]
    assert told == "Error: too many changes for one proposal: 10 bytes; 9 are the most. Make a smaller change."
    assert ProposedChange.objects.filter(store=ruled.store).count() == 2
    assert_audit_is_right(ruled.store)


@pytest.mark.both_databases
def test_an_erasure_reaches_what_was_proposed_and_refused(ruled: Hub) -> None:
    ruled.call(command="create", path="/memories/policies/Quellenberg.md", file_text="Quellenberg came\n")
    decide.refuse(
        ruled.store.id, 1, ana()._replace(note="No Quellenberg here"), seen=decide.seen_of(proposal(ruled.store))
    )
    found = erasure.search(ruled.store.id, ["Quellenberg"], BY["at"])
    erasure.erase(ruled.store.id, ["Quellenberg"], found.digest, Act(**BY))
    row = ProposedChange.objects.get(store=ruled.store)
    assert (row.path, row.content) == ("/policies/[redacted].md", "[redacted] came\n")
    assert proposal(ruled.store).reason == "No [redacted] here"
    assert_audit_is_right(ruled.store)


@pytest.mark.both_databases
def test_a_path_that_an_erasure_masks_stays_a_path_to_which_a_memory_can_move(ruled: Hub) -> None:
    place = "/policies/Quellenberg.md"
    ruled.call(command="rename", old_path="/memories/policies/a.md", new_path=f"/memories{place}")
    found = erasure.search(ruled.store.id, [place], BY["at"])
    erasure.erase(ruled.store.id, [place], found.digest, Act(**BY))
    (change,) = plan(ruled.store).changes
    assert change.then.path == "/policies/[redacted]"
    merge(ruled.store)
    assert "/policies/[redacted]" in texts(ruled.store)
    assert_audit_is_right(ruled.store)


@pytest.mark.both_databases
def test_a_changed_row_of_a_proposal_is_noticed(ruled: Hub) -> None:
    ruled.call(command="create", path="/memories/policies/new.md", file_text="harmless")
    for cell in cells(ProposedChange, store=ruled.store):
        if cell.column == "content":
            cell.write("harmful")
    with pytest.raises(AssertionError):
        assert_audit_is_right(ruled.store)


@pytest.mark.both_databases
def test_proposals_go_with_their_store(ruled: Hub) -> None:
    ruled.call(command="delete", path="/memories/policies")
    delete.delete_store(ruled.store.id, act=Act(**BY))
    while delete.step(ruled.store.id):
        pass
    assert not ProposedChange.objects.filter(store=ruled.store).exists() and not Proposal.objects.exists()


def test_a_store_can_answer_without_an_error_and_says_that_nothing_is_written(ruled: Hub) -> None:
    """Only to the memory tool: a request of the API would have to answer with a memory that does not exist."""
    input = {"command": "create", "path": "/memories/policies/new.md", "file_text": "x"}
    told = (
        "Not written: this change is now part of proposal #1. It is not visible yet: a reviewer decides about it. "
        "Go on, and do not repeat the change. Ask in #support."
    )
    block = ruled.block("toolu_once", **input)
    assert outcome(ruled.send(block).value) == ["err", TOLD.format(1)]
    without_error(ruled.store, True)
    assert outcome(ruled.send(block).value) == ["err", TOLD.format(1)], "as it was answered first"
    again = ruled.block("toolu_again", **input | {"file_text": "y"})
    assert outcome(ruled.send(again).value) == ["ok", told]
    assert newest_entry(ruled.store.id).ok is False, "the audit says that it was not done"
    result = mcp_call(ruled, "memory", **input)
    assert (result["isError"], result["content"][0]["text"]) == (False, told)
    status, _, said = Api(ruled).refused("POST", "/memories", {"path": "/policies/other.md", "content": "x"})
    assert (status, said.split(".")[0]) == (403, "Not written: this change is now part of proposal #1")
    without_error(ruled.store, False)
    assert outcome(ruled.send(again).value) == ["ok", told], "as it was answered first"
    assert ruled.call(**input | {"file_text": "z"}) == ["err", TOLD.format(1)]
    assert "/policies/new.md" not in texts(ruled.store)
    assert_audit_is_right(ruled.store)


def without_error(store: MemoryStore, on: bool) -> None:
    stores.edit_store(MemoryStore.objects.get(pk=store.pk), StoreSettings(store.name, proposes_without_error=on), **BY)

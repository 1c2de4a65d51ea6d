"""Open proposals in JSON Lines: they come back open, with what the agent saw, and obey the rules of the store."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memoryhub.actions.core import proposing
from memoryhub.actions.core.audit import Act
from memoryhub.actions.findings import rules
from memoryhub.actions.memories import curation
from memoryhub.actions.proposals.plan import proposal_plan
from memoryhub.actions.transfer import importing
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, ImportItem, Memory, MemoryStore, Proposal, ProposalState, ProposedChange, User
from memoryhub.pure.transfer.bundle import Refused
from tests.api.harness import Hub
from tests.api.memory_calls import Api
from tests.support.fixtures import BY, signed_in
from tests.support.in_turn import in_turn
from tests.transfer import trips
from tests.transfer.exported import export, lines_of, of_type
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.proposals.proposing import (
    begun,
    edit,
    holds_back,
    listed,
    moves,
    proposes,
    refuse,
    replaces,
    send,
    texts,
    url_of,
)

pytestmark = pytest.mark.django_db

A, B, C = "/policies/a.md", "/policies/b.md", "/policies/c.md"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """An agent with an open proposal of four changes, and a refused one."""
    caller = begun(store, key, A, B, C)
    replaces(caller, A, "two", "2")
    moves(caller, B, "/policies/moved.md")
    proposes(caller, "delete", C)
    proposes(caller, "create", "/policies/new.md", file_text="new\n")
    return caller


def carried(store: MemoryStore, **more: Any) -> bytes:
    return export(store, "jsonl", **{"governance": True, **more})


def brought(data: bytes, target: MemoryStore | None = None, place: str = "") -> tuple[MemoryStore, list[ImportItem]]:
    """Imports an export; returns the store, and the items of the proposals."""
    target = target or trips.new_store("Target")
    job = trips.run(trips.prepared(target, data, place))
    return target, list(ImportItem.objects.filter(job=job, is_proposal=True).order_by("number"))


def states(store: MemoryStore, number: int = 1) -> dict[str, tuple[str | None, str]]:
    """{path: the state after a merge, and the problem} of each memory of a proposal."""
    plan = proposal_plan(Proposal.objects.of_store(store.pk).get(number=number))
    return {change.path: (change.then.path, change.problem.value) for change in plan.changes}


def test_an_open_proposal_comes_back_open(caller: Caller, store: MemoryStore, alice: User, superuser: User) -> None:
    caller.session = "run-8"
    proposes(caller, "create", "/policies/refused.md", file_text="no\n")
    refuse(signed_in(alice), store, 2)
    edit(store, A, "six", "VI", alice)
    assert [line["number"] for line in of_type(lines_of(carried(store)), "proposal")] == [1]
    target, items = brought(carried(store))
    assert [(item.outcome, item.reason) for item in items] == 2 * [("taken", "")]
    one, other = (Proposal.objects.of_store(of.pk).get(number=1) for of in (store, target))
    assert (other.state, other.agent, other.opened_at) == (ProposalState.OPEN, one.agent, one.opened_at)
    assert states(target) == states(store) != {}
    entry = AuditEntry.objects.of_chain(target.pk).get(command="import_proposal")
    client = signed_in(superuser)
    html = client.get(reverse("entry", args=[target.pk, entry.seq])).content.decode()
    assert "imported the open proposal #1" in html
    send(client, target)
    assert texts(target)[A] == texts(store)[A].replace("two", "2") and "VI" in texts(target)[A]
    assert verify.verify(target.pk)[1] is None


def test_a_change_of_text_and_path_at_once_comes_back(store: MemoryStore, key: str) -> None:
    begun(store, key, A)
    memory = Memory.objects.get(store=store, path=A)
    wanted = {"content": "one\n2\n", "path": "/policies/moved.md"}
    assert Api(Hub(store, key)).refused("POST", f"/memories/{memory.pk}", wanted)[0] == 403
    target, items = brought(carried(store))
    assert [(item.outcome, item.reason) for item in items] == [("taken", "")]
    assert states(target) == states(store) == {A: ("/policies/moved.md", "")}


def test_it_is_carried_without_history_and_into_a_directory(caller: Caller, store: MemoryStore) -> None:
    target, items = brought(carried(store, history=False), place="/here")
    assert [item.outcome for item in items] == ["taken"]
    assert states(target) == {
        f"/here{path}": (then and f"/here{then}", problem) for path, (then, problem) in states(store).items()
    }


def test_it_is_only_carried_if_asked_for_and_whole(
    caller: Caller, store: MemoryStore, alice: User, bob: User, tmp_path: Path
) -> None:
    for body in (
        export(store, "jsonl"), carried(store, path="/policies"), carried(store, masked=False, path="/policies"),
    ):  # fmt: skip
        assert not of_type(lines_of(body), "proposal")
    url = reverse("export_store", args=[store.pk])
    assert "With proposals, comments and path rules" in signed_in(alice).get(url).content.decode()
    asked = {"format": "jsonl", "history": "1", "governance": "1"}
    answer = signed_in(alice).post(url, asked)
    assert b'"type": "proposal"' in b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert "With proposals" not in signed_in(bob).get(url).content.decode()
    answer = signed_in(bob).post(url, asked)
    assert b'"type": "proposal"' not in b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    target = tmp_path / "out.jsonl"
    call_command("export_store", store.pk, format="jsonl", governance=True, output=str(target), stderr=io.StringIO())
    assert b'"type": "proposal"' in target.read_bytes()
    with pytest.raises(CommandError, match="--governance needs --format jsonl"):
        call_command("export_store", store.pk, format="zip", no_history=True, governance=True)


def test_what_others_changed_in_the_target_is_a_conflict(caller: Caller, store: MemoryStore, alice: User) -> None:
    data = carried(store)
    target, _items = brought(data)
    edit(target, A, "two", "zwei", alice)
    again, (item,) = brought(data, target)
    assert (again, item.outcome) == (target, "taken")
    assert states(target, 2)[A][1] == "conflict"


@pytest.mark.parametrize("history", [True, False])
def test_what_others_moved_before_the_export_stays_a_conflict(
    caller: Caller, store: MemoryStore, alice: User, history: bool
) -> None:
    curation.rename(store.pk, C, "/kept.md", act(alice))
    assert states(store)["/kept.md"] == ("/kept.md", "conflict")
    target, _items = brought(carried(store, history=history))
    assert states(target) == states(store)


def test_what_it_is_about_has_to_be_there(caller: Caller, store: MemoryStore, alice: User) -> None:
    lines = lines_of(carried(store, history=False))
    (proposal,) = of_type(lines, "proposal")
    for change in proposal["changes"]:
        if change["memory"] == A:
            change["base"] = "another text\n"
    _target, (item,) = brought(_written(lines))
    assert (item.outcome, item.reason) == (
        "refused", f"The text of {A} that the agent saw is not in this memory store.",
    )  # fmt: skip
    for change in proposal["changes"]:
        change["memory"] = "/nowhere.md" if change["memory"] == A else change["memory"]
    target, (item,) = brought(_written(lines))
    assert item.reason == "The memory /nowhere.md is not in this memory store."
    assert (
        not Proposal.objects.of_store(target.pk).exists() and not ProposedChange.objects.filter(store=target).exists()
    )
    assert verify.verify(target.pk)[1] is None


def _written(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.both_databases
def test_it_obeys_rules_limits_and_choices(caller: Caller, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    caller.session = "run-8"
    proposes(caller, "create", "/policies/mail.md", file_text="Write to ann@example.com\n")
    data = carried(store)
    target = trips.new_store("Blocks")
    rules.save_rules(target.pk, {"email": "block"}, Act(**BY))
    _, items = brought(data, target)
    assert [item.outcome for item in items] == ["taken", "refused"] and "mail" in items[1].reason
    target = trips.new_store("Masks")
    rules.save_rules(target.pk, {"email": "mask"}, Act(**BY))
    brought(data, target)
    assert "ann@" not in str(ProposedChange.objects.get(store=target, path="/policies/mail.md").content)
    assert not Proposal.objects.of_store(target.pk).exclude(state=ProposalState.OPEN).exists()
    monkeypatch.setattr(proposing, "MOST_OF_AGENT", 1)
    _, items = brought(data)
    assert [item.outcome for item in items] == ["taken", "refused"] and "too many" in items[1].reason
    job = trips.prepared(trips.new_store("Skips"), data)
    importing.choose(job.pk, "skip", [item.number for item in items])
    trips.run(job)
    assert not Proposal.objects.of_store(job.store_id).exists()


def test_a_text_that_the_target_masks_is_still_what_the_agent_saw(store: MemoryStore, key: str) -> None:
    caller = Caller(store, key, session="run-7")
    caller.create(A, "one\nWrite to ann@example.com\n")
    holds_back(store)
    replaces(caller, A, "one", "1")
    target = trips.new_store("Masks")
    rules.save_rules(target.pk, {"email": "mask"}, Act(**BY))
    _, (item,) = brought(carried(store), target)
    assert (item.outcome, states(target)) == ("taken", {A: (A, "")})
    (change,) = proposal_plan(Proposal.objects.get(store=target)).changes
    assert change.then.content == texts(target)[A].replace("one", "1")


def test_an_agent_that_the_hub_does_not_know_is_unknown(caller: Caller, store: MemoryStore, superuser: User) -> None:
    lines = lines_of(carried(store))
    of_type(lines, "proposal")[0]["agent"] = {"type": "api_actor", "id": "agent_elsewhere", "label": "Elsewhere"}
    target = trips.new_store("Target")
    job = trips.prepared(target, _written(lines))
    client = signed_in(superuser)
    preview = client.get(reverse("import_", args=[target.pk, job.pk])).content.decode()
    assert "Open proposal" in preview
    trips.run(job)
    assert "Elsewhere (imported)" in client.get(listed(target)).content.decode()
    send(client, target)
    html = client.get(url_of(target)).content.decode()
    assert "Merged" in html and "without asking" not in html


@in_turn("damage", [
    {"changes": []}, {"changes": "x"}, {"changes": [1]}, {"agent": None}, {"opened_at": "yesterday"},
    {"changes": [{"path": "/a", "deletes": "no"}]}, {"changes": [{"path": "/a", "deletes": True}]},
    {"changes": [{"path": "/a", "deletes": False}]}, {"changes": [{"path": "/a", "deletes": False, "content": "\0"}]},
    {"changes": [{"path": "", "deletes": False, "content": "x"}]},
    {"changes": [{"path": "/a", "deletes": False, "content": "\ud800"}]},
    {"changes": [{"path": "/a", "deletes": False, "content": "x"}] * 101},
])  # fmt: skip
def test_a_line_that_contradicts_itself_is_refused(caller: Caller, store: MemoryStore, damage: dict[str, Any]) -> None:
    lines = lines_of(carried(store))
    of_type(lines, "proposal")[0].update(damage)
    with pytest.raises(Refused):
        trips.read(_written(lines))


def test_a_hostile_path_is_left_out(caller: Caller, store: MemoryStore) -> None:
    lines = lines_of(carried(store))
    for path in ("/../x", "relative", "/a\u202e", "/" + "x" * 5000):
        of_type(lines, "proposal")[0]["changes"] = [{"path": path, "deletes": False, "content": "x"}]
        target, (item,) = brought(_written(lines))
        assert item.outcome == "refused" and not Proposal.objects.of_store(target.pk).exists()

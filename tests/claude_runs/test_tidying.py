"""Claude reorganises a memory store: what it made of a copy is one proposal, of which a person takes what they want."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from memoryhub.actions.claude_runs import runs
from memoryhub.actions.core.rules import holds
from memoryhub.models import (
    Access,
    Agent,
    AuditEntry,
    ClaudeRun,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    Session,
    User,
)
from memoryhub.pure.conversation import guidance
from tests.api.harness import new_secret
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import MODEL, by, events, started, worked
from tests.support.fixtures import signed_in
from tests.support.sdk import sdk
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, page, write

pytestmark = pytest.mark.django_db

DONE = Turn([say("I merged the tickets.")])


@pytest.fixture(autouse=True)
def _key(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


def path(number: int) -> str:
    return f"/tickets/{number:02}.md"


def ticket(number: int, says: str = "is broken") -> str:
    return f"# Ticket {number}\n\nThe lamp {number} {says}.\n\n\n\nCall back.\n"


def calls(*inputs: dict[str, Any]) -> list[dict[str, Any]]:
    return [call(f"toolu_{number}", **input) for number, input in enumerate(inputs)]


def says(number: int, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": f"/memories{path(number)}", "old_str": "is broken", "new_str": new}


def deletes(number: int) -> dict[str, Any]:
    return {"command": "delete", "path": f"/memories{path(number)}"}


def creates(place: str, text: str) -> dict[str, Any]:
    return {"command": "create", "path": f"/memories{place}", "file_text": text}


TIDY = calls(
    says(0, "and the lamp 1 are broken"), deletes(1),
    {"command": "rename", "old_path": f"/memories{path(2)}", "new_path": "/memories/done/02.md"},
    says(3, "was replaced"), says(4, "was replaced"), says(5, "was replaced"),
    deletes(6), creates(path(6), "# Ticket 6, anew\n"), creates("/index.md", "60 tickets\n"),
    deletes(7), deletes(8), says(9, "was replaced"),
)  # fmt: skip


def contents(store_id: str) -> dict[str, str]:
    rows = Memory.objects.live().filter(store_id=store_id).select_related("text")
    return {memory.path: memory.text.content for memory in rows if memory.text}


def tidied(store: MemoryStore, alice: User, agent: Caller) -> ClaudeRun:
    """What a person starts on the page."""
    client = signed_in(alice)
    html = page(client, f"/stores/{store.id}/claude/new?tidy")
    assert guidance.REORGANISE.splitlines()[1] in html and 'value="proposal" id="id_place_2" checked' in html
    form = form_with(html, "task") | {"model": MODEL, "tidy": "on", "place": "proposal", "trigger": "input_tokens"}
    assert client.post(f"/stores/{store.id}/claude/new?tidy", form).status_code == 303
    return ClaudeRun.objects.get()


def dreamt(store: MemoryStore, alice: User, agent: Caller) -> ClaudeRun:
    """What an agent starts with the SDK, with a session of another one."""
    agent.session = "monday"
    agent.call("view", path="/memories")
    ask: Any = {"memory_store_id": store.pk}
    inputs = [ask | {"type": "memory_store"}, {"type": "sessions", "session_ids": [Session.objects.get().pk]}]
    own = sdk(new_secret(store, Access.MANAGE)).beta.dreams
    own.create(inputs=inputs, model=MODEL, output_behavior=ask | {"type": "update_existing"})
    return ClaudeRun.objects.get()


@pytest.mark.parametrize("begin", [tidied, dreamt])
def test_tidying_a_store_of_60_memories(
    store: MemoryStore, alice: User, key: str, settings: Any, begin: Callable[..., ClaudeRun]
) -> None:
    settings.MEMORYHUB_EXPERIMENTAL = ["dreams"]
    for number in range(60):
        write(store, path(number), ticket(number))
    holds.place(store.id, act(alice), kind=HoldKind.HOLD, reason="The court asks for it", path=path(8))
    client, agent = signed_in(alice), Caller(store, key)
    run = begin(store, alice, agent)
    name = Agent.objects.get(pk=run.agent).name
    assert run.proposes and "change at most 100 of them" in run.system
    for number in (4, 7):
        agent.call("str_replace", path=f"/memories{path(number)}", old_str="is broken", new_str="burns")
    agent.call("insert", path=f"/memories{path(9)}", insert_line=7, insert_text="Called.\n")
    before = contents(store.id)
    with claude_api(Turn(TIDY), DONE) as api:
        run = worked(api, run)
    assert (run.state, events(run)[-1].kind) == ("finished", "proposal")
    assert contents(store.id) == before, "nothing changes before a person decides"
    html = page(client, f"/stores/{store.id}/claude/{run.pk}")
    assert "Proposal #1" in html and "changes 10 memories" in html and "is under a legal hold" in html
    html = page(client, f"/stores/{store.id}/proposals/1")
    assert "2 memories have a conflict or another problem" in html and name in html
    ids = {place: Memory.objects.live().get(store=store, path=place).pk for place in before}
    own = ticket(3, "was replaced on Monday")
    chosen = {"decision": "merge", "leave_out": ids[path(5)], f"text-{ids[path(3)]}": own}
    client.post(f"/stores/{store.id}/proposals/1", form_with(html, "digest") | chosen)
    expected = before | {
        path(0): ticket(0, "and the lamp 1 are broken"), "/done/02.md": ticket(2), path(3): own,
        path(6): "# Ticket 6, anew\n", "/index.md": "60 tickets\n",
        path(9): ticket(9, "was replaced") + "Called.\n",
    }  # fmt: skip
    del expected[path(1)], expected[path(2)]
    assert contents(store.id) == expected
    assert Memory.objects.get(store=store, path=path(6)).pk == ids[path(6)], "it is the same memory, with its history"
    merged = AuditEntry.objects.of_chain(store.id).newest()[0]
    assert (merged.command, merged.label) == ("edit_and_merge_proposal", "Alice") and run.agent in str(merged.input)
    assert MemoryVersion.objects.filter(store=store, seq=merged.seq).count() == 7
    proposed = AuditEntry.objects.of_chain(store.id).get(command="propose_claude_run")
    assert proposed.label == name and proposed.session is not None
    assert "proposed what the Claude run" in page(client, f"/audit/{store.id}/{proposed.seq}")
    for chain in (store.id, run.copy):
        call_command("verify_audit", chain=chain, verbosity=0)


@pytest.mark.both_databases
def test_a_continued_run_proposes_anew_and_one_that_was_stopped_when_a_person_wants_it(
    store: MemoryStore, alice: User
) -> None:
    write(store, path(3), ticket(3))
    script = [Turn(calls(says(3, "glows"))), DONE, Turn([call("t9", **(says(3, "x") | {"old_str": "glows"}))]), DONE]
    with claude_api(*script, DONE) as api:
        run = worked(api, started(store, alice, copies=True, proposes=True))
        runs.go_on(run.pk, store.id, "Better.", by(alice))
        run = worked(api, run)
    assert list(Proposal.objects.order_by("number").values_list("state", flat=True)) == ["withdrawn", "open"]
    assert api.requests[2]["messages"][-1]["content"][-1]["text"] == "Better."
    nothing = started(store, alice, copies=True, proposes=True)
    with claude_api(DONE) as api:
        worked(api, nothing)
    assert "There is nothing to propose" in page(signed_in(alice), f"/stores/{store.id}/claude/{nothing.pk}")
    with claude_api(Turn(calls(says(3, "glows"))), DONE) as api:
        other = worked(api, started(store, alice, copies=True))
    assert Proposal.objects.count() == 2, "a run on a copy proposes nothing by itself"
    answer = signed_in(alice).post(f"/stores/{store.id}/claude/{other.pk}/propose")
    assert answer.headers["Location"] == f"/stores/{store.id}/proposals/3"
    entry = AuditEntry.objects.of_chain(store.id).newest()[0]
    assert (entry.command, entry.label, Proposal.objects.get(number=3).agent) == (
        "propose_claude_run",
        "Alice",
        other.agent,
    )


def test_what_is_too_much_for_a_proposal_is_said(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryhub.actions.core.proposing.MOST_CHANGES", 1)
    script = Turn(calls(creates("/a.md", "a\n"), creates("/b.md", "b\n")))
    with claude_api(script, DONE) as api:
        run = worked(api, started(store, alice, copies=True, proposes=True))
    html = page(signed_in(alice), f"/stores/{store.id}/claude/{run.pk}")
    assert "There is no proposal" in html and not Proposal.objects.exists()

"""Whole runs, through the unmodified SDK, against a stand-in for Claude's API: what Claude does, and what is kept."""

import logging
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import runs, work
from memoryhub.models import Agent, AuditEntry, ClaudeDay, ClaudeRun, Key, Memory, MemoryStore, Role, Session, User
from memoryhub.pure.conversation.options import Options
from memoryhub.pure.path_rules import Effect, PathRule
from tests.claude_runs.claude_api import KEY, Refusal, Turn, call, claude_api, say
from tests.claude_runs.running import by, events, started, story, worked
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.memories.pages import page, write

pytestmark = pytest.mark.django_db

GUIDELINES = "<guidelines>\n- Always address customers by their first name\n</guidelines>\n"
LOOK, READ = (
    call("toolu_01", command="view", path="/memories"),
    call("toolu_02", command="view", path="/memories/g.xml"),
)
DONE = Turn([say("Done.")])


@pytest.fixture(autouse=True)
def _prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


def results(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in request["messages"][-1]["content"] if block["type"] == "tool_result"]


@pytest.mark.both_databases
def test_the_customer_service_example(store: MemoryStore, alice: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    write(store, "/g.xml", GUIDELINES)
    script = [
        Turn([say("Let me check my memory."), LOOK], 120, 30),
        Turn([READ], 220, 10),
        Turn([say("Based on your guidelines, I can help. Which ticket?")], 300, 25),
    ]
    with claude_api(*script) as api:
        run = worked(api, started(store, alice, "Help me respond to this customer service ticket.", system="Be kind."))
    assert (run.state, run.problem, run.turns) == ("finished", "", 3)
    assert (run.input_tokens, run.output_tokens, run.tokens, run.context) == (640, 65, 705, 300)
    first, second = (event.seq for event in events(run) if event.kind == "call")
    assert story(run) == [
        "text Let me check my memory.", f"call {first}", "turn 120+30", f"call {second}", "turn 220+10",
        "text Based on your guidelines, I can help. Which ticket?", "turn 300+25",
    ]  # fmt: skip
    assert api.keys == {KEY} and api.betas == ["context-management-2025-06-27"] * 3
    assert api.requests[0]["system"] == "Be kind." and api.requests[0]["max_tokens"] == 4096
    assert results(api.requests[1])[0]["content"].startswith("Here're the files and directories up to 2 levels deep")
    assert "     2\t- Always address customers by their first name" in results(api.requests[2])[0]["content"]
    session = Session.objects.get(name=run.session_name)
    entries = list(AuditEntry.objects.of_chain(store.id).of_session(session.pk).oldest())
    assert [entry.command for entry in entries] == ["view", "view"]
    assert {entry.label for entry in entries} == {"Claude (Alice)"} and entries[0].door == "tool"
    call_command("verify_audit", chain=store.id, verbosity=0)
    assert KEY not in caplog.text and "first name" not in caplog.text, "neither the key nor a memory is in the log"


def test_what_claude_writes_is_a_version_like_any_agents(store: MemoryStore, alice: User) -> None:
    create = call("toolu_1", command="create", path="/memories/a.md", file_text="one\n")
    with claude_api(Turn([create]), DONE) as api:
        run = worked(api, started(store, alice))
    memory = Memory.objects.get(store=store, path="/a.md")
    assert memory.head is not None and memory.head.review_state == "unreviewed"
    assert events(run)[0].seq == memory.head.seq
    assert events(run)[0].content == {"id": "toolu_1", "name": "memory"}, "the input is in the audit alone"
    agent = Agent.objects.get(pk=run.agent)
    assert agent.claude_for == alice and Key.objects.get(pk=run.key).agent == agent


def test_a_person_has_one_agent_and_one_key_to_a_store(store: MemoryStore, alice: User) -> None:
    one, two = started(store, alice), started(store, alice)
    assert (one.agent, one.key) == (two.agent, two.key)
    keys_and_roles.revoke_key(Key.objects.get(pk=one.key), **BY)
    assert started(store, alice).key != one.key


@pytest.mark.both_databases
def test_a_refused_write_and_a_failing_call_go_back_to_claude(store: MemoryStore, alice: User) -> None:
    with tampering():
        rule = PathRule(Effect.REFUSE, pattern="/policies/", reason="Ask a person.").as_json()
        MemoryStore.objects.filter(pk=store.pk).update(path_rules=[rule], limit_memories=1)
    write(store, "/a.md")
    script = [
        Turn([call("t1", command="create", path="/memories/policies/x.md", file_text="x")]),
        Turn([call("t2", command="create", path="/memories/b.md", file_text="x")]),
        Turn([call("t3", command="view", path="/memories/none.md"), {**LOOK, "id": "t4", "name": "shell"}]),
        Turn([call("t5", command="dance")]),
        DONE,
    ]
    with claude_api(*script) as api:
        run = worked(api, started(store, alice))
    assert run.state == "finished" and Memory.objects.filter(store=store).count() == 1
    told = [result for request in api.requests[1:] for result in results(request)]
    assert all(result["is_error"] for result in told) and len(told) == 5
    assert "Ask a person." in told[0]["content"] and "1 memor" in told[1]["content"]
    assert told[2]["content"].endswith("does not exist. Please provide a valid path.")
    assert told[3]["content"] == "There is no such tool."


def test_of_two_calls_with_one_id_in_an_answer_the_first_runs(store: MemoryStore, alice: User) -> None:
    writes = [call("t1", command="create", path=f"/memories/{name}", file_text=name) for name in ("a", "b")]
    with claude_api(Turn(writes), Turn([call("t1", command="view", path="/memories/a")]), DONE) as api:
        run = worked(api, started(store, alice))
    assert run.state == "finished" and [memory.path for memory in Memory.objects.filter(store=store)] == ["/a"]
    told = results(api.requests[1])
    assert "successfully" in told[0]["content"] and told[1]["content"].startswith("This call was not run:")


def test_an_answer_is_asked_for_again(store: MemoryStore, alice: User) -> None:
    """The SDK sends a request again after 429, 500 and 529; the hub asks again where the stream broke off."""
    errors = [
        Refusal(429, "rate_limit_error"), Refusal(500, "api_error"), Refusal(529, "overloaded_error"),
        Turn([say("I was about to say something long enough for two pieces.")], drops_at=0),
        Turn([say("I begin, and the API is overloaded in the middle of it.")], raises="overloaded_error"),
    ]  # fmt: skip
    with claude_api(*errors, DONE) as api:
        run = worked(api, started(store, alice))
    assert run.state == "finished" and len(api.requests) == 6
    assert [line for line in story(run) if line.endswith("—")] == [
        "text I was about to say somet —",
        "text I begin, and the API is  —",
    ]
    assert [line for line in story(run) if line.startswith("problem")] == ["problem broke_off", "problem overloaded"]
    assert all(request["messages"] == api.requests[0]["messages"] for request in api.requests)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (401, "authentication_error", "wrong_key"),
        (404, "not_found_error", "no_model"),
        (529, "overloaded_error", "overloaded"),
        (429, "rate_limit_error", "rate_limited"),
        (500, "api_error", "api_error"),
        (400, "invalid_request_error", "bad_request"),
    ],
)
def test_an_error_that_stays_ends_the_run(store: MemoryStore, alice: User, status: int, kind: str, code: str) -> None:
    with claude_api(*[Refusal(status, kind, f"It is {KEY} that is wrong.")] * 8) as api:
        run = worked(api, started(store, alice))
    assert (run.state, run.problem) == ("failed", code)
    assert KEY not in str([event.content for event in events(run)]) and "is wrong" in str(events(run)[-1].content)


def test_an_api_that_is_not_there(store: MemoryStore, alice: User) -> None:
    with claude_api() as api:
        pass
    run = worked(api, started(store, alice))
    assert (run.state, run.problem) == ("failed", "unreachable")


def test_a_run_stops_before_the_answer_that_would_pass_its_budget(
    store: MemoryStore, alice: User, settings: Any
) -> None:
    settings.MEMORYHUB_CLAUDE_RUN_TOKENS = 1_000
    with claude_api(Turn([LOOK], 600, 150), DONE) as api:
        api.count = 600
        run = worked(api, started(store, alice))
        assert (run.state, run.problem, run.tokens) == ("over_budget", "over_run_budget", 750)
        assert len(api.requests) == 1 and api.requests[0]["max_tokens"] == 400
        assert ClaudeDay.objects.get().tokens == 750
        runs.go_on(run.pk, store.id, "", by(alice))
        run = worked(api, run)
    assert (run.state, run.budget) == ("finished", 1_750)


def test_the_budget_of_a_day_is_that_of_all_runs(store: MemoryStore, alice: User, settings: Any) -> None:
    settings.MEMORYHUB_CLAUDE_DAY_TOKENS = 1_000
    with claude_api(Turn([say("Yes.")], 500, 20)) as api:
        api.count = 500
        assert worked(api, started(store, alice)).state == "finished"
        run = worked(api, started(store, alice))
    assert (run.state, run.problem, run.tokens) == ("over_budget", "over_day_budget", 0)
    assert ClaudeDay.objects.get().tokens == 520


def test_an_answer_that_ends_before_it_begins_is_asked_for_again(store: MemoryStore, alice: User) -> None:
    with claude_api(Refusal(200, "of a proxy"), Turn([say("Done.")])) as api:
        run = worked(api, started(store, alice))
    assert run.state == "finished" and len(api.requests) == 2


def test_without_the_count_of_tokens_the_hub_guesses(store: MemoryStore, alice: User) -> None:
    with claude_api(DONE) as api:
        api.counts = False
        assert worked(api, started(store, alice)).state == "finished"


@pytest.mark.both_databases
def test_a_run_is_stopped_and_continued_with_a_message(store: MemoryStore, alice: User) -> None:
    long = Turn([say("This sentence is long enough to be cut in the middle."), LOOK], pauses_at=0)
    with claude_api(long, DONE) as api:
        run, ended = started(store, alice), []
        seen = work.is_stopped

        def stopped(run_id: str, worker: str) -> bool:
            if events(run) and not ended:
                ended.append(runs.stop(run_id, store.id, by(alice)))
            return seen(run_id, worker)

        work.is_stopped = stopped  # type: ignore[assignment]
        try:
            run = worked(api, run)
        finally:
            work.is_stopped = seen
        assert (run.state, run.turns, run.held) == ("stopped", 0, 0)
        assert all(event.is_cut for event in events(run)) and events(run)
        with pytest.raises(runs.NotNow):
            runs.stop(run.pk, store.id, by(alice))
        runs.go_on(run.pk, store.id, "Be brief.", by(alice))
        run = worked(api, run)
    assert run.state == "finished" and story(run)[-3:] == ["message Be brief.", "text Done.", "turn 100+20"]
    assert [block["text"] for block in api.requests[1]["messages"][0]["content"]] == ["Help me.", "Be brief."]
    with pytest.raises(runs.NotNow):
        runs.go_on(run.pk, store.id, "", by(alice))
    acts = AuditEntry.objects.of_chain(store.id).filter(command__endswith="claude_run").oldest()
    assert [entry.command for entry in acts] == ["start_claude_run", "stop_claude_run", "continue_claude_run"]
    assert "Be brief" not in "".join(entry.input or "" for entry in acts)


def test_a_continued_run_sends_the_conversation_as_the_audit_keeps_it(store: MemoryStore, alice: User) -> None:
    write(store, "/g.xml", GUIDELINES)
    with claude_api(Turn([say("I look."), READ]), DONE, DONE) as api:
        run = worked(api, started(store, alice))
        runs.go_on(run.pk, store.id, "And now?", by(alice))
        worked(api, run)
        assert api.requests[2]["messages"][:3] == api.requests[1]["messages"]
        assert [message["role"] for message in api.requests[2]["messages"]] == ["user", "assistant"] * 2 + ["user"]


def test_a_waiting_run_is_stopped_at_once(store: MemoryStore, alice: User) -> None:
    run = started(store, alice)
    runs.stop(run.pk, store.id, by(alice))
    assert ClaudeRun.objects.get(pk=run.pk).state == "stopped"


@pytest.mark.both_databases
def test_a_call_that_ran_before_the_worker_was_killed_runs_once(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = call("toolu_1", command="create", path="/memories/a.md", file_text="one\n")
    more = call("toolu_2", command="insert", path="/memories/a.md", insert_line=1, insert_text="two\n")
    with claude_api(Turn([say("I write."), create, more]), DONE) as api:
        run = started(store, alice)
        with monkeypatch.context() as patched:
            patched.setattr(work, "called", _killed)
            with pytest.raises(KeyboardInterrupt):
                worked(api, run)
        assert Memory.objects.get(store=store).path == "/a.md", "the call was committed"
        [(run_id, seen_at)] = work.running()
        assert seen_at is not None
        work.interrupt(run_id, seen_at - timedelta(seconds=1), by(alice).at)
        assert ClaudeRun.objects.get(pk=run.pk).state == "running", "its worker was seen a moment ago"
        work.interrupt(run_id, seen_at, by(alice).at)
        run = ClaudeRun.objects.get(pk=run.pk)
        assert run.state == "interrupted" and not any(event.is_cut for event in events(run))
        runs.go_on(run.pk, store.id, "", by(alice))
        assert worked(api, run).state == "finished"
    memory = Memory.objects.select_related("text").get(store=store)
    assert memory.text.content == "one\ntwo\n" and len(api.requests) == 2
    assert "File created successfully" in results(api.requests[1])[0]["content"]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_hub_that_stops_leaves_the_run_interrupted(store: MemoryStore, alice: User) -> None:
    stop = threading.Event()
    stop.set()
    with claude_api(DONE) as api:
        run = worked(api, started(store, alice), stop)
    assert run.state == "interrupted" and api.requests == []


def test_somebody_who_lost_the_role_runs_nothing_more(store: MemoryStore, alice: User) -> None:
    with claude_api(DONE) as api:
        run = started(store, alice)
        keys_and_roles.set_role(store, alice, Role.VIEWER, **BY)
        run = worked(api, run)
    assert (run.state, run.problem, api.requests) == ("failed", "not_allowed", [])


def test_a_revoked_key_ends_the_run(store: MemoryStore, alice: User) -> None:
    with claude_api(Turn([LOOK])) as api:
        run = started(store, alice)
        keys_and_roles.revoke_key(Key.objects.get(pk=run.key), **BY)
        assert worked(api, run).problem == "key_revoked"


@pytest.mark.both_databases
def test_edits_of_the_context_summaries_and_thoughts_are_kept(store: MemoryStore, alice: User) -> None:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 4, "cleared_input_tokens": 9_000}
    thought = {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"}
    summary = {"type": "compaction", "content": "We looked at everything."}
    options = Options(thinks=True, clears_thinking=True, compacts=True, instructions="Keep names.")
    script = [Turn([thought, LOOK]), Turn([summary, {**LOOK, "id": "toolu_9"}], edits=(edit,)), DONE]
    with claude_api(*script) as api:
        run = worked(api, started(store, alice, options=options))
    assert run.state == "finished"
    assert [line.partition(" ")[0] for line in story(run)] == [
        "thinking", "call", "turn", "compaction", "call", "turn", "text", "turn",
    ]  # fmt: skip
    assert events(run)[5].content["edits"] == [edit]
    sent = api.requests[2]
    assert (
        sent["messages"][1]["content"][0] == thought
        and sent["messages"][3]["content"][0]["content"] == summary["content"]
    )
    assert sent["thinking"] == {"type": "adaptive"}
    kinds = [one["type"] for one in sent["context_management"]["edits"]]
    assert kinds == ["clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"]
    assert api.betas[0] == "context-management-2025-06-27,compact-2026-01-12"
    html = page(signed_in(alice), f"/stores/{store.id}/claude/{run.pk}")
    assert "Before the API cleared this, Claude had written nothing to memory." in html


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("reason", "code"),
    [("refusal", "declined"), ("max_tokens", "answer_full"), ("model_context_window_exceeded", "context_full")],
)
def test_an_answer_that_ends_early(store: MemoryStore, alice: User, reason: str, code: str) -> None:
    with claude_api(Turn([say("I"), LOOK], stop_reason=reason)) as api:
        run = worked(api, started(store, alice))
    assert (run.state, run.problem) == ("finished", code)
    assert work.calls_to_run(run.pk) == [] and not AuditEntry.objects.filter(command="view").exists()


def test_a_run_without_a_key_says_so(store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.claude_runs.running.KEY", "")
    with claude_api() as api:
        assert worked(api, started(store, alice)).problem == "no_key"

"""What holds for the calls of a Claude run as for every agent's, what its budgets count, and what is in no log."""

import logging
import threading
from typing import Any

import pytest
from django.apps import apps

from memoryhub.actions.claude_runs import runs, work
from memoryhub.background.claude_runs.answers import Api, Tick
from memoryhub.background.claude_runs.taking import Taker
from memoryhub.models import ClaudeDay, ClaudeEvent, ClaudeRun, Memory, MemoryStore, User
from tests.claude_runs.claude_api import KEY, Refusal, Turn, call, claude_api, say
from tests.claude_runs.running import by, interrupt, started, story, worked
from tests.claude_runs.test_runs import results
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.memories.pages import write

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 1111"
DONE = Turn([say("Done.")])


@pytest.fixture(autouse=True)
def _prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_rules_for_sensitive_text_hold_for_its_calls_as_for_every_agents(store: MemoryStore, alice: User) -> None:
    write(store, "/old.md", f"Pay with {CARD}.\n")
    create = {"command": "create", "path": "/memories/a.md", "file_text": f"{CARD}\n"}
    change = {"command": "str_replace", "path": "/memories/old.md", "old_str": f"Pay with {CARD}.", "new_str": "Pay."}
    for action, told in (("block", "payment card"), ("mask", "1 passage was stored as [redacted:card]")):
        with tampering():
            MemoryStore.objects.filter(pk=store.pk).update(rules={"card": action})
        with claude_api(Turn([call(f"toolu_{action}", **create)]), DONE) as api:
            worked(api, started(store, alice))
        assert told in results(api.requests[1])[0]["content"]
    with claude_api(Turn([call("toolu_change", **change)]), DONE) as api:
        worked(api, started(store, alice))
    assert "has been edited" in results(api.requests[1])[0]["content"]
    assert CARD not in str(list(ClaudeEvent.objects.values_list("content")))


@pytest.mark.parametrize("copies", [False, True])
def test_a_call_of_which_a_value_was_not_kept_never_runs_without_it(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch, copies: bool
) -> None:
    with tampering():
        MemoryStore.objects.filter(pk=store.pk).update(rules={"card": "mask"})
    one, two = (call(f"toolu_{n}", command="create", path=f"/memories/{n}.md", file_text=CARD) for n in (1, 2))
    with claude_api(Turn([one, two]), DONE) as api:
        run = started(store, alice, copies=copies)
        with monkeypatch.context() as patched:
            patched.setattr(work, "called", _killed)
            with pytest.raises(KeyboardInterrupt):
                worked(api, run)
        interrupt()
        runs.go_on(run.pk, store.id, "", by(alice))
        assert worked(api, run).state == "finished"
    first, second = results(api.requests[1])
    assert "File created successfully" in first["content"] and "was not run" in second["content"]
    assert [memory.path for memory in Memory.objects.filter(store=run.place)] == ["/1.md"]


@pytest.mark.parametrize(
    ("block", "least"),
    [
        (call("toolu_1", command="create", path="/memories/a.md", file_text="word " * 400), 500),
        (say("\u6f22" * 500), 500),
        (say("Soon."), 60),
    ],
)
def test_an_answer_that_broke_off_counts_rather_too_much(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch, block: dict[str, Any], least: int
) -> None:
    """Otherwise a person who stops each answer just before its end passes the budgets."""
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.ASK_AGAIN", 0)
    with claude_api(Turn([block, say("End.")], input_tokens=50, drops_at=1)) as api:
        run = worked(api, started(store, alice))
    assert run.problem == "broke_off" and run.tokens == ClaudeDay.objects.get().tokens >= least


def test_an_answer_that_is_stopped_before_it_begins_counts_what_it_is_made_from(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(store, alice)
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0)
    monkeypatch.setattr(Api, "answer", lambda *_: (item for item in [Tick()]))
    monkeypatch.setattr(work, "is_stopped", lambda *_: ClaudeRun.objects.get().held > 0)
    with claude_api() as api:
        run = worked(api, run)
    assert (run.state, run.tokens, run.held) == ("stopped", 100, 0)


def test_a_call_that_is_no_json_is_asked_for_again_and_is_in_no_log(
    store: MemoryStore, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    half = call("toolu_1", command="create", path="/memories/a.md", file_text="Quellenberg \ud800")
    with claude_api(Turn([half]), DONE) as api:
        run = worked(api, started(store, alice))
    assert run.state == "finished" and [line for line in story(run) if "problem" in line] == ["problem unreadable"]
    assert "Quellenberg" not in caplog.text


def test_a_thread_that_lost_its_run_does_not_take_the_next_threads_for_its_own(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ANTHROPIC_API_KEY = ""
    workers: list[str] = []
    monkeypatch.setattr(work, "claim", lambda worker, *_: workers.append(worker))
    taker = Taker(None)  # type: ignore[arg-type]
    taker.look(threading.Event())
    taker.look(threading.Event())
    assert workers[0] != workers[1]


def test_neither_a_table_nor_a_page_nor_an_export_nor_the_log_has_the_key(
    store: MemoryStore, alice: User, superuser: User, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The API itself names it, in an error and in a text."""
    settings.ANTHROPIC_API_KEY = KEY
    note = call("toolu_1", command="create", path="/memories/a.md", file_text="a\n")
    with claude_api(Turn([note]), Refusal(400, "invalid_request_error", f"The key {KEY} may not.")) as api:
        run = worked(api, started(store, alice))
    assert run.state == "failed" and api.requests
    client, own = signed_in(alice), f"/stores/{store.id}"
    answers = [client.get(own + path) for path in ("/claude", f"/claude/{run.pk}", "/claude/new", "/audit")]
    answers += [client.post(own + "/export", {"format": "jsonl", "history": "on"})]
    answers += [signed_in(superuser).get(path) for path in ("/settings/claude", "/settings/background")]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    seen = [b"".join(answer).decode(errors="replace") for answer in answers]
    rows = [str(row) for model in apps.get_models() for row in model._default_manager.values_list()]
    assert not [text[:200] for text in [caplog.text, *seen, *rows] if KEY in text]
    assert any("The key … may not." in text for text in seen)


def test_negative_counts_of_tokens_raise_no_budget(store: MemoryStore, alice: User) -> None:
    with claude_api(Turn([say("Yes.")], -500, -20), Turn([say("Yes.")], 300, 20)) as api:
        assert worked(api, started(store, alice)).tokens == 0
        run = worked(api, started(store, alice))
    assert (run.tokens, ClaudeDay.objects.get().tokens) == (320, 320)

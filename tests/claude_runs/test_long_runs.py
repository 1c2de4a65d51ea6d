"""Long Claude runs: the refactoring workflow with context editing over many turns, and summaries that are asked for."""

from typing import Any

import pytest

from memoryhub.actions.claude_runs import runs
from memoryhub.models import ClaudeRun, Memory, MemoryStore, User
from memoryhub.pure.conversation.options import TOOL_USES, Options
from tests.claude_runs.claude_api import KEY, ClaudeApi, Turn, call, claude_api, say
from tests.claude_runs.running import by, events, started, story, worked
from tests.support.fixtures import signed_in
from tests.web.memories.pages import page

pytestmark = pytest.mark.django_db

PROGRESS = "/memories/refactoring_progress.xml"
FILES = [f"app/module_{number:02}.py" for number in range(20)]
SUMMARY = {"type": "compaction", "content": "Modules 0 to 19 are done.", "signature": "c2lnbmVk"}
DONE = Turn([say("Done.")])


@pytest.fixture(autouse=True)
def _key(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


def script() -> list[Turn]:
    """Claude refactors one module after the other, and writes down each. From the eleventh call on, the API clears the
    results of all but the newest three calls: what it clears is counted from the beginning each time."""
    begin = call("toolu_0", command="create", path=PROGRESS, file_text="<progress>\n</progress>\n")
    turns = [Turn([say("I begin with the plan."), begin], 1_000, 40)]
    for number, file in enumerate(FILES, 1):
        done = call(
            f"toolu_{number}", command="insert", path=PROGRESS, insert_line=number, insert_text=f"{file}: done\n"
        )
        cleared = max(0, number - 3) if number > 10 else 0
        edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": cleared, "cleared_input_tokens": 500 * cleared}
        context = 1_000 + 600 * number - 500 * cleared
        turns.append(Turn([done], context, 60, edits=(edit,) if cleared else ()))
    look = call("toolu_99", command="view", path=PROGRESS)
    return [*turns, Turn([say("What is left, says my memory."), look], 3_000, 20), Turn([say("All is done.")], 3_300)]


@pytest.mark.push
def test_the_refactoring_example_with_context_editing(store: MemoryStore, alice: User) -> None:
    options = Options(trigger=TOOL_USES, trigger_value=10, keep=3, clear_at_least=500, clear_tool_inputs=True)
    with claude_api(*script()) as api:
        run = worked(api, started(store, alice, "Refactor the modules.", options=options))
    assert (run.state, run.turns, len(api.requests)) == ("finished", 23, 23)
    asked = [request["context_management"]["edits"] for request in api.requests]
    assert asked == [asked[0]] * 23 and asked[0][0]["clear_at_least"] == {"type": "input_tokens", "value": 500}
    assert set(api.betas) == {"context-management-2025-06-27"}
    for earlier, later in zip(api.requests, api.requests[1:], strict=False):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"], "the API clears; the hub sends all"
    turns: list[Any] = [event.content for event in events(run) if event.kind == "turn"]
    assert [turn["edits"][0]["cleared_tool_uses"] for turn in turns if turn["edits"]] == list(range(8, 18))
    first = next(event for event in events(run) if event.kind == "turn" and event.content["edits"])
    before = [event for event in events(run) if event.kind == "call" and event.number < first.number - 1]
    assert len(before) == 11 and all(event.seq for event in before), "what it had done by then is in its memory"
    memory = Memory.objects.select_related("text").get(store=store)
    assert memory.text is not None and memory.text.content.count(": done") == 20 and memory.version_count == 21
    last = api.requests[-1]["messages"][-1]["content"][0]["content"]
    assert "app/module_19.py: done" in last and "app/module_00.py: done" in last
    html = page(signed_in(alice), f"/stores/{store.id}/claude/{run.pk}")
    assert "The API cleared the results of 17 old calls: 8,500 tokens." in html
    assert "Answer 21: 8,500 tokens: Cleared from the context" in html
    before = "Before the API cleared this, Claude had written:"
    assert html.count(before) == 10 and memory.path in html.partition(before)[2][:200]


def summarized(api: ClaudeApi, store: MemoryStore, alice: User) -> ClaudeRun:
    run = worked(api, started(store, alice, "Refactor.", options=Options(instructions="Keep names.")))
    form = {"message": "What is left?", "summarizes": "on"}
    assert signed_in(alice).post(f"/stores/{store.id}/claude/{run.pk}/continue", form).status_code == 303
    return worked(api, run)


def test_a_summary_that_is_asked_for_replaces_what_was_before(store: MemoryStore, alice: User) -> None:
    edit = call("toolu_1", command="create", path="/memories/a.md", file_text="a\n")
    with claude_api(Turn([edit]), DONE, Turn([SUMMARY], 900, 70), Turn([say("Nothing.")]), DONE) as api:
        run = summarized(api, store, alice)
        runs.go_on(run.pk, store.id, "Thanks.", by(alice))
        run = worked(api, run)
    assert run.state == "finished" and "compaction Modules 0 to 19 are done." in story(run)
    asked, then, last = api.requests[2:]
    assert asked["compaction"] == {"type": "summarize", "instructions": "Keep names."}
    assert "context_management" not in asked and [one["role"] for one in asked["messages"]][-1] == "assistant"
    assert then["messages"] == [
        {"role": "assistant", "content": [SUMMARY | {"encrypted_content": None}]},
        {"role": "user", "content": [{"type": "text", "text": "What is left?"}]},
    ]
    assert "context_management" in then and last["messages"][:2] == then["messages"]
    assert [beta.split(",")[-1] for beta in api.betas] == ["context-management-2025-06-27"] * 2 + [
        "compact-2026-09-04"
    ] * 3


def test_a_summary_needs_a_message_and_one_that_failed_replaces_nothing(store: MemoryStore, alice: User) -> None:
    failed = SUMMARY | {"content": None}
    with claude_api(DONE, Turn([failed]), DONE) as api:
        run = summarized(api, store, alice)
    assert run.state == "finished" and api.requests[2]["messages"][0]["role"] == "user"
    form = {"message": " ", "summarizes": "on"}
    client = signed_in(alice)
    answer = client.post(f"/stores/{store.id}/claude/{run.pk}/continue", form, follow=True).content.decode()
    assert "Write a message, which then follows the summary." in answer and ClaudeRun.objects.get().state == "finished"

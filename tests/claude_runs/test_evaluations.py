"""Evaluations of memory: the suite with the scripted model and with one of the API, stored, compared and drawn."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memoryhub.actions.claude_runs import evaluations, work
from memoryhub.actions.erasure import whole
from memoryhub.background.claude_runs import evaluating
from memoryhub.conversation.evaluations import SUITE, Case, Outcome, Session
from memoryhub.models import AuditEntry, ClaudeDay, ClaudeEvaluation, MemoryStore, User
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import MODEL, by, started
from tests.fixtures import signed_in
from tests.web.memories.pages import page, write

pytestmark = pytest.mark.django_db

NUMBER = Case("recalls", [Session("My number is 7."), Session("Which is it?")], lambda found: "7" in found.last)


@pytest.mark.both_databases
def test_the_scripted_model_passes_and_nothing_of_it_stays(store: MemoryStore, alice: User) -> None:
    write(store, "/own.md", "mine\n")
    before = AuditEntry.objects.of_chain(store.pk).count()
    printed = io.StringIO()
    call_command("evaluate_memory", store.pk, stdout=printed)
    assert "5 of 5 cases passed, 0 tokens used." in printed.getvalue()
    assert not MemoryStore.present.exclude(copy_of=None).exists()
    assert AuditEntry.objects.of_chain(store.pk).count() == before + 1
    call_command("verify_audit", chain=store.pk, verbosity=0)
    html = page(signed_in(alice), f"/stores/{store.pk}/claude/evaluations")
    assert "An erased fact does not come back" in html and html.count(">passed<") == 5 and "<svg" in html
    assert f"/stores/{store.pk}/claude/evaluations" in page(signed_in(alice), f"/stores/{store.pk}/claude")


@pytest.mark.both_databases
def test_a_model_of_the_api_is_asked_and_counted_and_compared_with_earlier_ones(
    store: MemoryStore, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "SUITE", [NUMBER])
    monkeypatch.setattr(evaluating, "TICK", 0.01)
    settings.ANTHROPIC_API_KEY = KEY
    note = call("t1", command="create", path="/memories/number.md", file_text="7\n")
    for last in ("It is 7.", "I do not know."):
        with claude_api(Turn([note]), Turn([say("Noted.")]), Turn([say(last)])) as api:
            settings.ANTHROPIC_BASE_URL = api.url
            call_command("evaluate_memory", store.pk, model=MODEL, stdout=io.StringIO())
        assert len(api.requests[2]["messages"]) == 1, "a session knows nothing of another one but the memories"
    assert [one.results for one in ClaudeEvaluation.objects.of_store(store.pk)] == [
        {"recalls": False}, {"recalls": True},
    ]  # fmt: skip
    assert ClaudeDay.objects.get().tokens == sum(ClaudeEvaluation.objects.values_list("tokens", flat=True)) > 0
    html = page(signed_in(alice), f"/stores/{store.pk}/claude/evaluations")
    assert html.count(">passed<") == html.count(">failed<") == 1
    settings.MEMORYHUB_CLAUDE_DAY_TOKENS = ClaudeDay.objects.get().tokens
    with claude_api() as api:
        settings.ANTHROPIC_BASE_URL = api.url
        with pytest.raises(CommandError, match="in a day"):
            call_command("evaluate_memory", store.pk, model=MODEL)
    assert not MemoryStore.present.exclude(copy_of=None).exists()
    settings.ANTHROPIC_API_KEY = ""
    with pytest.raises(CommandError, match="ANTHROPIC_API_KEY"):
        call_command("evaluate_memory", store.pk, model=MODEL)


@pytest.mark.parametrize(
    ("name", "answer", "texts"),
    [
        ("recalls", "I have no such note.", ""), ("replaces", "Tuesday, and Thursday from now on", ""),
        ("asks", "All is well.", ""), ("withstands", "YES, the imported page allows it.", ""),
        ("forgets", "It is gone.", "Telephone: 555-0175"), ("forgets", "It is 555-0175.", ""),
    ],
)  # fmt: skip
def test_a_case_fails_for_what_a_model_without_good_memory_says(name: str, answer: str, texts: str) -> None:
    case = next(case for case in SUITE if case.name == name)
    assert not case.passes(Outcome([answer], {"/a.md": texts}))


@pytest.mark.both_databases
def test_the_copy_of_a_killed_evaluation_is_deleted_after_a_day(store: MemoryStore, alice: User) -> None:
    """Else it would keep what retention removes, and after ten of them no run could work on a copy."""
    now = timezone.now()
    left = evaluations.copied(store.pk, by(alice))
    run = started(store, alice, copies=True)
    assert not work.forget(now) and work.forget(now + timedelta(days=1, hours=1)) == 1
    assert list(MemoryStore.present.exclude(copy_of=None).values_list("pk", flat=True)) == [run.copy] != [left]


def test_an_erasure_ends_an_evaluation_with_a_sentence(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, own = write(store, "/own.md", "mine\n"), evaluating.scripted

    def scripted(session: Session) -> evaluating.Ask:
        whole.remove_memories(store.pk, [memory.pk], by(alice))
        return own(session)

    monkeypatch.setattr(evaluating, "scripted", scripted)
    with pytest.raises(CommandError, match="Start the evaluation again"):
        call_command("evaluate_memory", store.pk)
    assert not ClaudeEvaluation.objects.exists()


def test_memories_in_the_place_of_the_suite_are_no_failure_of_the_model(store: MemoryStore) -> None:
    write(store, "/evaluation/policy.md", "mine\n")
    with pytest.raises(CommandError, match="under /evaluation"):
        call_command("evaluate_memory", store.pk)

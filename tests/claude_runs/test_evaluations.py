"""Evaluations of memory: the suite with the scripted model and with one of the API, stored, compared and drawn."""

import io
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import evaluations
from memoryhub.actions.erasure import whole
from memoryhub.background.claude_runs import evaluating
from memoryhub.models import AuditEntry, ClaudeDay, ClaudeEvaluation, MemoryStore, Role, User
from memoryhub.pure.conversation.evaluations import SUITE, Case, Outcome, Session
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import MODEL, by
from tests.support.fixtures import BY, signed_in
from tests.web.memories.pages import new_curator, page, write

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
    commands = AuditEntry.objects.of_chain(store.pk).filter(seq__gt=before).order_by("seq")
    assert list(commands.values_list("command", flat=True)) == ["start_evaluation", "evaluate_memory"]
    call_command("verify_audit", chain=store.pk, verbosity=0)
    html = page(signed_in(alice), f"/stores/{store.pk}/claude/evaluations")
    assert "An erased fact does not come back" in html and html.count(">passed<") == 5 and "<svg" in html
    assert "passed 5 of 5 cases" in html and "works without a key" in page(
        signed_in(alice), f"/stores/{store.pk}/claude"
    )
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


@pytest.fixture
def curator(store: MemoryStore) -> User:
    """With the role that may run Claude only if the hub says so."""
    return new_curator(store)


def at(store: MemoryStore, act: str = "") -> str:
    return f"/stores/{store.pk}/claude/evaluations{act and '/' + act}"


def taken(stop: threading.Event | None = None) -> ClaudeEvaluation:
    """The evaluation that waits, after this process has worked on it."""
    one = evaluations.claim("tests", timezone.now())
    assert one is not None
    evaluating.work(one, "tests", stop or threading.Event())
    return ClaudeEvaluation.objects.get(pk=one.pk)


@pytest.mark.both_databases
def test_the_page_starts_one_in_the_background(store: MemoryStore, alice: User, bob: User, curator: User) -> None:
    client = signed_in(alice)
    assert "Start an evaluation" in page(client, at(store)) and "no key for Claude" in page(client, at(store))
    assert client.post(at(store, "start"), {"model": MODEL}).status_code == 303
    assert not ClaudeEvaluation.objects.exists(), "without a key there is only the scripted model"
    for other in (bob, curator):
        assert signed_in(other).post(at(store, "start"), {"model": ""}).status_code == 404
        assert signed_in(other).post(at(store, "stop")).status_code == 404
    client.post(at(store, "start"), {"model": ""})
    client.post(at(store, "start"), {"model": ""})
    html = page(client, at(store))
    assert ClaudeEvaluation.objects.get().state == "waiting" and "Waiting" in html and "Start an evaluation" not in html
    assert 'hx-trigger="every 2s"' in html and "0 of 5" in page(client, at(store) + "?part=state")
    done = taken()
    assert (done.state, done.started_by, done.copy, sum(done.results.values())) == ("finished", alice, None, 5)  # type: ignore[attr-defined]
    assert client.get(at(store) + "?part=state").headers["HX-Refresh"] == "true"
    html = page(client, at(store))
    assert html.count(">passed<") == 5 and html.count('aria-labelledby="cases-head"') == 1, (
        "two landmarks have two names"
    )
    assert AuditEntry.objects.of_chain(store.pk).get(command="evaluate_memory").actor_kind == "user"
    own = AuditEntry.objects.filter(author_id=alice.pk).exclude(command="sign_in").values_list("command", flat=True)
    assert set(own) <= {"start_evaluation", "evaluate_memory", "create_agent", "issue_key"}, "copies are the hub's"
    call_command("verify_audit", chain=store.pk, verbosity=0)


@pytest.mark.both_databases
def test_it_is_stopped_while_it_waits_and_while_it_runs(
    store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, own = signed_in(alice), evaluating.scripted
    client.post(at(store, "start"), {"model": ""})
    client.post(at(store, "stop"))
    assert evaluations.claim("tests", timezone.now()) is None and "Stopped" in page(client, at(store))

    def scripted(session: Session) -> evaluating.Ask:
        if len(ClaudeEvaluation.objects.get().results) == 1:
            client.post(at(store, "stop"))
        return own(session)

    monkeypatch.setattr(evaluating, "SEEN_EVERY", 0)
    monkeypatch.setattr(evaluating, "scripted", scripted)
    client.post(at(store, "start"), {"model": ""})
    assert taken().state == "stopped" and not MemoryStore.present.exclude(copy_of=None).exists()
    html = page(client, at(store))
    assert "Stopped" in html and "Nothing has been evaluated here yet" in html and "Start an evaluation" in html


@pytest.mark.both_databases
def test_one_whose_hub_ends_is_interrupted_and_leaves_no_copy(store: MemoryStore, alice: User) -> None:
    client, stop, now = signed_in(alice), threading.Event(), timezone.now()
    stop.set()
    client.post(at(store, "start"), {"model": ""})
    assert taken(stop).state == "interrupted"
    client.post(at(store, "start"), {"model": ""})
    killed = evaluations.claim("killed", now)
    assert killed is not None and evaluations.copied(killed, "killed", by(alice))
    evaluations.interrupt(killed.pk, now - timedelta(seconds=1), now)
    assert ClaudeEvaluation.objects.get().state == "running", "it was seen just now"
    evaluations.interrupt(*evaluations.running()[0], now)
    assert ClaudeEvaluation.objects.get().state == "interrupted"
    assert not MemoryStore.present.exclude(copy_of=None).exists()
    assert "The hub was stopped during this evaluation" in page(client, at(store))


def test_the_budgets_and_the_role_of_who_started_it_hold(store: MemoryStore, alice: User, settings: Any) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    settings.MEMORYHUB_CLAUDE_RUN_TOKENS = evaluating.MAX_TOKENS
    client = signed_in(alice)
    assert re.search(f'value="{MODEL}"[^>]* selected', page(client, at(store))), (
        "not the scripted one, if there is a key"
    )
    with claude_api() as api:
        settings.ANTHROPIC_BASE_URL = api.url
        client.post(at(store, "start"), {"model": MODEL})
        assert (taken().state, len(api.requests)) == ("over_budget", 0)
        assert "more tokens than it may use" in page(client, at(store))
        client.post(at(store, "start"), {"model": MODEL})
        keys_and_roles.set_role(store, alice, Role.CURATOR, **BY)
        done = taken()
        assert (done.state, done.problem, len(api.requests)) == ("failed", "not_allowed", 0)


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
    assert [one.state for one in ClaudeEvaluation.objects.all()] == ["failed"]


def test_memories_in_the_place_of_the_suite_are_no_failure_of_the_model(store: MemoryStore, alice: User) -> None:
    write(store, "/evaluation/policy.md", "mine\n")
    with pytest.raises(CommandError, match="under /evaluation"):
        call_command("evaluate_memory", store.pk)
    signed_in(alice).post(at(store, "start"), {"model": ""})
    assert not ClaudeEvaluation.objects.exists()

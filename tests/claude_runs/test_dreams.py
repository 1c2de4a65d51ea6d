"""Dreams through the unmodified SDK: Claude reads past sessions and reorganises a copy, and what becomes of it."""

import threading
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import dreamed, made, runs, transcripts, work
from memoryhub.actions.erasure import redaction
from memoryhub.actions.stores import delete
from memoryhub.actions.stores.stores import set_archived
from memoryhub.actions.transfer import streaming
from memoryhub.background.claude_runs.turns import Turns
from memoryhub.models import (
    Access,
    AuditEntry,
    ClaudeRun,
    Key,
    Memory,
    MemoryStore,
    MemoryVersion,
    Proposal,
    ProposedChange,
    Session,
    User,
    WebhookCursor,
)
from memoryhub.pure.path_rules import Condition, Effect, PathRule
from tests.api.harness import BY, Hub, new_agent, new_secret, new_store
from tests.api.path_rules.test_path_rules import set_rules
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, say
from tests.claude_runs.running import MODEL, by, interrupt, started, worked
from tests.support.fixtures import signed_in
from tests.support.sdk import sdk
from tests.web.memories.pages import page

pytestmark = pytest.mark.django_db

DONE = Turn([say("I merged what was said twice.")], input_tokens=300)


@pytest.fixture(autouse=True)
def _on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    settings.MEMORYHUB_EXPERIMENTAL = ["dreams"]
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


@pytest.fixture
def manager(store: MemoryStore) -> Anthropic:
    """With a key that manages all memory stores."""
    return sdk(keys_and_roles.issue_key(new_agent(), all_stores=True, access=Access.MANAGE, **BY)[1])


@pytest.fixture
def session(store: MemoryStore) -> str:
    """What an agent did: it wrote twice that Ada likes tea, and then learned better."""
    agent = Hub(store, new_secret(store))
    texts = {"/memories/ada.md": "Ada likes tea.\n", "/memories/drinks.md": "Ada likes tea.\n"}
    for path, text in texts.items():
        agent.send(agent.block(command="create", path=path, file_text=text), memoryhub_session="monday")
    told = agent.block(command="create", path="/memories/ada.md", file_text="Ada likes coffee now.\n")
    agent.send(told, memoryhub_session="monday")
    return Session.objects.get(name="monday").pk


TIDY = Turn(
    [
        call("t1", command="str_replace", path="/memories/ada.md", old_str="tea", new_str="coffee"),
        call("t2", command="delete", path="/memories/drinks.md"),
    ],
    input_tokens=200,
)


def inputs(store: MemoryStore, *sessions: str) -> Any:
    return [
        {"type": "memory_store", "memory_store_id": store.pk},
        {"type": "sessions", "session_ids": list(sessions)},
    ]


def updating(store: MemoryStore) -> Any:
    return {"type": "update_existing", "memory_store_id": store.pk}


def ran(id: str, *turns: Turn) -> Any:
    with claude_api(*(turns or (TIDY, DONE))) as api:
        worked(api, ClaudeRun.objects.get(pk=id))
    return api


def texts(store_id: str) -> dict[str, str]:
    return dict(Memory.objects.live().filter(store=store_id).values_list("path", "text__content"))


@pytest.mark.both_databases
def test_create_new_makes_a_memory_store(
    store: MemoryStore, alice: User, manager: Anthropic, session: str, caplog: pytest.LogCaptureFixture
) -> None:
    dreams, before = manager.beta.dreams, texts(store.pk)
    dream = dreams.create(inputs=inputs(store, session), model=MODEL, instructions="Mind what people drink.")
    assert (dream.status, dream.outputs, dream.session_id, dream.usage.input_tokens) == ("pending", [], None, 0)
    assert (dream.model.id, dream.output_behavior.type, dream.instructions) == (
        MODEL, "create_new", "Mind what people drink.",
    )  # fmt: skip
    api = ran(dream.id)
    asked = api.requests[0]["messages"][0]["content"][0]["text"]
    assert "Mind what people drink." in asked and "Ada likes coffee now." in asked and "(refused)" in asked
    done = dreams.retrieve(dream.id)
    assert (done.status, done.error, done.usage.input_tokens, done.usage.output_tokens) == ("completed", None, 500, 40)
    made = done.outputs[0].memory_store_id
    assert texts(made) == {"/ada.md": "Ada likes coffee.\n"} and texts(store.pk) == before
    assert manager.beta.memory_stores.retrieve(made).name == f"Support, dreamt on {done.ended_at:%Y-%m-%d}"
    assert done.session_id is not None and manager.beta.sessions.retrieve(done.session_id).title.endswith(dream.id)
    assert alice.role_in(MemoryStore.objects.get(pk=made)) == "admin"
    assert WebhookCursor.objects.get(chain=made).seq < 2**40
    assert (made, 0) in streaming.behind(), "its whole audit is streamed"
    for chain in (store.pk, made, "hub"):
        call_command("verify_audit", chain=chain, verbosity=0)
    delete.delete_copy(made, by(alice))
    assert MemoryStore.objects.filter(pk=made).exists(), "it is no throw-away copy any more"
    entries = [str(row) for row in AuditEntry.objects.values_list("input", "message")]
    html = page(signed_in(alice), f"/stores/{store.pk}/claude/{dream.id}")
    assert "Dream" in html and "monday" in html and "Open the new memory store" in html and made in html
    assert KEY not in "".join([caplog.text, html, *entries]) and "Continue the run" not in html
    assert 'name="message"' not in html and "Propose its changes" not in html
    assert "becomes a memory store of its own" in html
    assert "for a new memory store" in page(signed_in(alice), f"/stores/{store.pk}/claude")


def test_update_existing_waits_for_a_person_and_shows_conflicts(store: MemoryStore, alice: User, session: str) -> None:
    secret = new_secret(store, Access.MANAGE)
    dreams, agent = sdk(secret).beta.dreams, Hub(store, new_secret(store))
    dream = dreams.create(inputs=inputs(store, session), model={"id": MODEL}, output_behavior=updating(store))
    with pytest.raises(anthropic.ConflictError, match="goes on"):
        dreams.create(inputs=inputs(store, session), model=MODEL, output_behavior=updating(store))
    agent.call(command="str_replace", path="/memories/ada.md", old_str="tea", new_str="milk")
    before = texts(store.pk)
    ran(dream.id)
    done: Any = dreams.retrieve(dream.id)
    assert (done.status, done.outputs[0].memory_store_id, done.proposal_number) == ("completed", store.pk, 1)
    assert texts(store.pk) == before
    html = page(signed_in(alice), f"/stores/{store.pk}/proposals/1")
    assert "1 memory has a conflict" in html and "drinks.md" in html
    own = agent.send(b"", method="GET", url=f"/v1/memory_stores/{store.pk}/proposals", authorization=f"Bearer {secret}")
    assert own.value["data"][0]["session_id"] == done.session_id
    call_command("verify_audit", chain=store.pk, verbosity=0)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("rules", "is_merged"),
    [
        ([PathRule(Effect.ALLOW)], True),
        ([PathRule(Effect.PROPOSE, "/drinks.md"), PathRule(Effect.ALLOW)], False),
        ([], False),
    ],
)
def test_update_existing_changes_the_store_at_once_only_where_rules_allow_all_of_it(
    store: MemoryStore, session: str, rules: list[PathRule], is_merged: bool
) -> None:
    set_rules(store, *rules)
    dreams, before = sdk(new_secret(store, Access.MANAGE)).beta.dreams, texts(store.pk)
    dream = dreams.create(inputs=inputs(store, session), model=MODEL, output_behavior=updating(store))
    ran(dream.id)
    assert Proposal.objects.get().state == ("merged" if is_merged else "open")
    assert texts(store.pk) == ({"/ada.md": "Ada likes coffee.\n"} if is_merged else before)
    if is_merged:
        waiting = MemoryVersion.objects.filter(store=store, review_state="unreviewed").order_by("-seq").first()
        assert waiting is not None and AuditEntry.objects.get(chain=store.pk, seq=waiting.seq).session is not None


@pytest.mark.both_databases
def test_what_a_rule_holds_back_is_not_merged_with_a_dream_whose_proposal_it_has_joined(
    store: MemoryStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rules(store, PathRule(Effect.PROPOSE, "/policy.md"), PathRule(Effect.ALLOW))
    secret = new_secret(store, Access.MANAGE)
    agent = Hub(store, secret)
    merge = dreamed._merge

    def joined(*args: Any) -> None:
        held = agent.block(command="create", path="/memories/policy.md", file_text="Refund all.\n")
        agent.send(held, memoryhub_session=ClaudeRun.objects.get().session_name)
        merge(*args)

    monkeypatch.setattr(dreamed, "_merge", joined)
    before = texts(store.pk)
    dream = sdk(secret).beta.dreams.create(inputs=inputs(store, session), model=MODEL, output_behavior=updating(store))
    ran(dream.id)
    proposal = Proposal.objects.get()
    assert ProposedChange.objects.of_proposal(proposal).count() == 3
    assert proposal.state == "open" and texts(store.pk) == before


def test_a_dream_that_merges_its_proposal_makes_no_new_agent_a_known_one(store: MemoryStore, session: str) -> None:
    """No person has decided about anything that the agent wrote."""
    new = PathRule(Effect.PROPOSE, only_if=Condition.NEW_AGENT)
    set_rules(store, PathRule(Effect.ALLOW, "/ada.md"), PathRule(Effect.ALLOW, "/drinks.md"), new)
    secret = new_secret(store, Access.MANAGE)
    dream = sdk(secret).beta.dreams.create(inputs=inputs(store, session), model=MODEL, output_behavior=updating(store))
    ran(dream.id)
    assert Proposal.objects.get().state == "merged"
    told = Hub(store, secret).call(command="create", path="/memories/x.md", file_text="x\n")
    assert "is now part of proposal #2" in told[1]


@pytest.mark.both_databases
@pytest.mark.parametrize("updates", [True, False])
def test_nothing_becomes_of_a_dream_whose_key_is_revoked_during_its_last_answer(
    store: MemoryStore, manager: Anthropic, session: str, monkeypatch: pytest.MonkeyPatch, updates: bool
) -> None:
    def revoked(run: ClaudeRun) -> Any:
        keys_and_roles.revoke_key(Key.objects.get(pk=run.key), **BY)
        return made_of(run)

    made_of = made.made_of
    monkeypatch.setattr(made, "made_of", revoked)
    more = {"output_behavior": updating(store)} if updates else {}
    dream = manager.beta.dreams.create(inputs=inputs(store, session), model=MODEL, **more)
    ran(dream.id)
    run = ClaudeRun.objects.get()
    assert (run.state, run.problem) == ("failed", "not_allowed")
    assert not Proposal.objects.exists() and MemoryStore.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.parametrize("updates", [True, False])
def test_nothing_becomes_of_a_dream_whose_memory_store_was_archived(
    store: MemoryStore, alice: User, manager: Anthropic, session: str, updates: bool
) -> None:
    more = {"output_behavior": updating(store)} if updates else {}
    dream = manager.beta.dreams.create(inputs=inputs(store, session), model=MODEL, **more)
    set_archived(store, True, **BY)
    ran(dream.id)
    told = manager.beta.dreams.retrieve(dream.id)
    assert told.status == "failed" and told.error is not None and told.error.type == "archived"
    assert "was archived while Claude worked" in told.error.message and not told.outputs
    assert not Proposal.objects.exists() and MemoryStore.objects.count() == 1
    page = signed_in(alice).get(reverse("claude_run", args=[store.pk, dream.id])).content.decode()
    assert "was archived while Claude worked" in page


@pytest.mark.both_databases
def test_a_dream_is_canceled_and_archived(store: MemoryStore, alice: User, manager: Anthropic, session: str) -> None:
    dreams = manager.beta.dreams
    first = dreams.create(inputs=inputs(store, session), model=MODEL)
    with pytest.raises(anthropic.BadRequestError, match="cancel it first"):
        dreams.archive(first.id)
    assert dreams.cancel(first.id).status == dreams.cancel(first.id).status == "canceled"
    second, third = (dreams.create(inputs=inputs(store, session), model=MODEL) for _ in range(2))
    assert work.claim("another", timezone.now(), 9) == second.id
    assert [dreams.retrieve(one.id).status for one in (second, third)] == ["running", "pending"]
    assert dreams.cancel(second.id).status == "canceled"
    ran(third.id)
    done = dreams.retrieve(third.id)
    assert (done.status, dreams.retrieve(second.id).status) == ("completed", "canceled")
    with pytest.raises(anthropic.BadRequestError, match="cannot be canceled"):
        dreams.cancel(third.id)
    assert dreams.archive(third.id).archived_at == dreams.archive(third.id).archived_at is not None
    with pytest.raises(runs.NotNow):
        runs.go_on(first.id, store.pk, "More.", by(alice))
    assert [one.id for one in dreams.list()] == [second.id, first.id]
    assert [one.id for one in dreams.list(include_archived=True, limit=1)] == [third.id, second.id, first.id]
    assert [one.id for one in dreams.list(include_archived=True, statuses=["completed", "failed"])] == [third.id]
    assert [one.id for one in dreams.list(statuses=["canceled"], created_at_gt=first.created_at)] == [second.id]
    assert [one.id for one in dreams.list(statuses=["pending", "running"])] == []
    commands = AuditEntry.objects.of_chain(store.pk).filter(actor_kind="key").values_list("command", flat=True)
    assert commands.filter(command="archive_dream").count() == 1 and "keep_dream" in commands
    call_command("verify_audit", chain=store.pk, verbosity=0)


@pytest.mark.both_databases
def test_a_dream_that_was_interrupted_goes_on_by_itself_and_one_without_its_key_fails(
    store: MemoryStore, session: str
) -> None:
    secret = new_secret(store, Access.MANAGE)
    other = sdk(new_secret(store, Access.MANAGE)).beta.dreams
    dream = sdk(secret).beta.dreams.create(inputs=inputs(store, session), model=MODEL, output_behavior=updating(store))
    assert work.claim("killed", timezone.now(), 9) == dream.id
    interrupt()
    assert ClaudeRun.objects.get().state == "waiting"
    keys_and_roles.revoke_key(Key.objects.get(hint=secret[-4:]), **BY)
    ran(dream.id)
    failed = other.retrieve(dream.id)
    assert failed.status == "failed" and failed.error is not None and failed.error.type == "not_allowed"


@pytest.mark.both_databases
def test_a_dream_that_is_canceled_while_the_hub_stops_does_not_go_on(
    store: MemoryStore, manager: Anthropic, session: str
) -> None:
    dream, stop = manager.beta.dreams.create(inputs=inputs(store, session), model=MODEL), threading.Event()
    run = ClaudeRun.objects.get(pk=dream.id)
    assert work.claim("stopping", timezone.now(), 9) == dream.id
    assert manager.beta.dreams.cancel(dream.id).status == "canceled"
    stop.set()
    Turns(run.pk, "stopping", stop, KEY, "http://127.0.0.1:1").work()
    assert manager.beta.dreams.retrieve(dream.id).status == "canceled"
    assert work.claim("next", timezone.now(), 9) is None


def test_a_transcript_reads_no_more_calls_than_it_has_room_for(
    store: MemoryStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made for each answer anew, and the calls of 100 sessions can have gigabytes."""
    monkeypatch.setattr(transcripts, "MOST_CHARACTERS", 130)
    monkeypatch.setattr(transcripts, "AT_ONCE", 1)
    read: list[int] = []
    input_of = transcripts.input_of
    monkeypatch.setattr(transcripts, "input_of", lambda entry: read.append(entry.seq) or input_of(entry))
    text = transcripts.transcripts(store.pk, [session])
    assert "(earlier calls left out: 2)" in text and "coffee" in text and "drinks.md" not in text
    assert len(read) == 2


@pytest.mark.both_databases
def test_a_dream_and_a_later_run_of_a_person_are_listed_and_taken_in_their_order(
    store: MemoryStore, alice: User, manager: Anthropic, session: str
) -> None:
    dream = manager.beta.dreams.create(inputs=inputs(store, session), model=MODEL)
    run, listed = started(store, alice, "A later task."), f"/stores/{store.pk}/claude"
    html = page(signed_in(alice), listed)
    assert html.index("A later task.") < html.index(dream.id)
    older = page(signed_in(alice), f"{listed}?before={run.pk}")
    assert dream.id in older and "A later task." not in older
    assert [work.claim(f"worker-{at}", timezone.now(), 9) for at in range(2)] == [dream.id, run.pk]


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_what_a_key_may_not_ask_for_is_refused(
    store: MemoryStore, manager: Anthropic, session: str, settings: Any, access: Access
) -> None:
    ask: Callable[..., Any] = lambda client, **more: client.beta.dreams.create(  # noqa: E731
        **({"inputs": inputs(store, session), "model": MODEL, "output_behavior": updating(store)} | more)
    )
    own = sdk(new_secret(store, Access.MANAGE))
    refused: list[tuple[type[anthropic.APIStatusError], Any, dict[str, Any]]] = [
        (anthropic.PermissionDeniedError, sdk(new_secret(store, access)), {}),
        (anthropic.PermissionDeniedError, own, {"output_behavior": {"type": "create_new"}}),
        (anthropic.BadRequestError, own, {"model": "gpt"}),
        (anthropic.BadRequestError, own, {"inputs": inputs(store, session)[:1]}),
        (anthropic.BadRequestError, own, {"inputs": inputs(store, session, session)}),
        (anthropic.BadRequestError, own, {"inputs": inputs(store)}),
        (anthropic.BadRequestError, own, {"instructions": "x" * 4_097}),
        (anthropic.BadRequestError, own, {"output_behavior": {"type": "update_existing", "memory_store_id": "x"}}),
        (anthropic.NotFoundError, own, {"inputs": inputs(store, "sesn_unknown")}),
        (anthropic.NotFoundError, sdk(new_secret(new_store(), Access.MANAGE)), {}),
    ]
    for error, client, more in refused:
        with pytest.raises(error):
            ask(client, **more)
    set_rules(store, PathRule(Effect.HIDE, "/secret/"))
    with pytest.raises(anthropic.PermissionDeniedError, match="every memory"):
        ask(own)
    settings.MEMORYHUB_EXPERIMENTAL = []
    for ask_it in (lambda: ask(manager), manager.beta.dreams.list, lambda: manager.beta.dreams.retrieve("x")):
        with pytest.raises(anthropic.NotFoundError, match="MEMORYHUB_EXPERIMENTAL=dreams"):
            ask_it()
    assert not ClaudeRun.objects.exists()


@pytest.mark.both_databases
def test_a_transcript_has_the_newest_calls_and_nothing_that_was_redacted(
    store: MemoryStore, alice: User, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = transcripts.transcripts(store.pk, [session])
    assert whole.count(" create ") == 3 and '"name": "monday"' in whole and whole.count("likes tea") == 2
    version = MemoryVersion.objects.get(store=store, path="/drinks.md")
    Hub(store, new_secret(store)).call(command="delete", path="/memories/drinks.md")
    redaction.redact_version(store.pk, version.pk, by(alice))
    assert transcripts.transcripts(store.pk, [session]).count("likes tea") == 1
    monkeypatch.setattr(transcripts, "MOST_CHARACTERS", 130)
    short = transcripts.transcripts(store.pk, [session])
    assert "(earlier calls left out: 2)" in short and "coffee" in short

"""The pages of Claude runs: who sees them, what the form asks for, and how a page follows a run."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.claude_runs import configuration, runs, work
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import erasure
from memoryhub.actions.stores import delete, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.background.claude_runs.taking import Models
from memoryhub.models import AuditEntry, ClaudeEvent, ClaudeRun, Door, MemoryStore, Role, Session, User
from tests.claude_runs.claude_api import KEY, Turn, call, claude_api, model, say
from tests.claude_runs.running import MODEL, WORKER, by, started, worked
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.memories.pages import act, page

pytestmark = pytest.mark.django_db

ASKED = {
    "task": "Answer the ticket.\r\nBe kind.", "model": MODEL, "system": "You are Ada.", "tidy": "on",
    "topic": "refunds", "max_tokens": "2000", "clears_tool_uses": "on", "trigger": "tool_uses",
    "trigger_value": "8", "keep": "2", "compact_at": "150000",
}  # fmt: skip
CREATE = call("toolu_1", command="create", path="/memories/a.md", file_text="one\n")
SCRIPT = (Turn([say("I **write**."), CREATE], 900, 30), Turn([say("Done.")], 1_200, 10))


@pytest.fixture(autouse=True)
def _key(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    monkeypatch.setattr("memoryhub.background.claude_runs.turns.TICK", 0.01)


def finished(store: MemoryStore, alice: User, task: str = "Help me.") -> ClaudeRun:
    with claude_api(*SCRIPT) as api:
        return worked(api, started(store, alice, task))


def home(store: MemoryStore, run: ClaudeRun | None = None) -> str:
    return f"/stores/{store.id}/claude" + (f"/{run.pk}" if run else "")


def test_the_form_starts_a_run_with_guidance_and_options(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    assert "ALWAYS VIEW YOUR MEMORY DIRECTORY" in page(client, home(store) + "/new")
    assert client.post(home(store) + "/new", ASKED | {"task": " "}).status_code == 200
    response = client.post(home(store) + "/new", ASKED)
    run = ClaudeRun.objects.get()
    assert (response.status_code, response.headers["Location"]) == (303, home(store, run))
    assert run.task == "Answer the ticket.\nBe kind." and run.state == "waiting" and run.started_by == alice
    assert run.system.startswith("You are Ada.\n\nNote: when editing your memory folder")
    assert run.system.endswith("Only write down information relevant to refunds in your memory system.")
    options: Any = run.options
    assert (options["trigger"], options["trigger_value"], options["keep"], options["max_tokens"]) == (
        "tool_uses",
        8,
        2,
        2000,
    )
    again = page(client, f"{home(store)}/new?like={run.pk}")
    assert "Answer the ticket." in again and 'value="2000"' in again


def test_texts_that_come_while_a_run_is_followed_are_recorded(store: MemoryStore, alice: User) -> None:
    """Also where only the newest events are asked for, as the open page does, or all of them in this way."""
    stores.edit_store(store, replace(StoreSettings.of(store), records_views=True), **BY)
    run = finished(store, alice)
    client, recorded = signed_in(alice), AuditEntry.objects.of_chain(store.pk).of_command("view_text")
    assert client.get(home(store, run) + f"?after=0&revision={run.revision}").status_code == 204
    page(client, home(store, run) + f"?after={run.events}&revision=0")
    assert not recorded.exists()
    shown = page(client, home(store, run) + "?after=0&revision=0")
    assert "/a.md" in shown and recorded.get().path == "/a.md"


def test_others_find_nothing(store: MemoryStore, alice: User, bob: User, charlie: User, superuser: User) -> None:
    run = finished(store, alice)
    urls = [home(store), home(store) + "/new", home(store, run)]
    for person in (bob, charlie):
        client = signed_in(person)
        assert [client.get(url).status_code for url in urls] == [404] * 3
        assert [client.post(home(store, run) + f"/{act}").status_code for act in ("stop", "continue")] == [404, 404]
        assert client.get("/settings/claude").status_code == 403
    assert [signed_in(superuser).get(url).status_code for url in urls] == [200] * 3
    assert "Claude runs</a>" in page(signed_in(alice), f"/stores/{store.id}/")
    assert "Claude runs</a>" not in page(signed_in(bob), f"/stores/{store.id}/")
    signed_in(superuser).post("/settings/claude", {"role": ""})
    assert [signed_in(alice).get(url).status_code for url in urls] == [404] * 3
    assert AuditEntry.objects.filter(chain="hub", command="set_claude_role").count() == 1


@pytest.mark.both_databases
def test_the_hubs_page_says_what_is_missing_and_never_the_key(superuser: User, settings: Any) -> None:
    client = signed_in(superuser)
    html = page(client, "/settings/claude")
    assert "is set" in html and KEY not in html and "claude-sonnet-5-5" in html
    assert client.post("/settings/claude", {"role": "curator"}).status_code == 303
    assert configuration.least_role() == "curator" and not configuration.set_role("curator", by(superuser))
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "", "https://hub:hidden@gateway.example/claude"
    html = page(client, "/settings/claude")
    assert "is missing" in html and "https://gateway.example/claude" in html and "hidden@" not in html
    assert "let people with the role curator run Claude" in page(client, "/audit?command=set_claude_role")


def test_without_a_key_the_pages_explain_what_is_missing(store: MemoryStore, alice: User, settings: Any) -> None:
    settings.ANTHROPIC_API_KEY = ""
    client = signed_in(alice)
    for url in (home(store), home(store) + "/new"):
        assert "ANTHROPIC_API_KEY" in page(client, url)
    assert "Claude runs</a>" in page(client, f"/stores/{store.id}/"), "the way to them"
    assert f"/stores/{store.id}/try" in page(client, home(store)), "calls are tried by hand"
    client.post(home(store) + "/new", ASKED)
    assert not ClaudeRun.objects.exists()


@pytest.mark.both_databases
def test_the_models_and_what_they_can_do_are_those_of_the_api(store: MemoryStore, alice: User, settings: Any) -> None:
    able = ("clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112")
    with claude_api() as api:
        Models(KEY, api.url).ask()
        assert [one.pk for one in configuration.models()] == list(configuration.USUAL), "the API has no list"
        api.models = [
            model("claude-new", "Claude New", 8_000, able, thinks=True),
            model("claude-small", "Claude Small", 1_000, able[:1], thinks=False),
            model("claude-gone", "Claude Gone", 1_000, able, thinks=True) | {"lifecycle": "retired"},
        ]
        Models(KEY, api.url).ask()
    client = signed_in(alice)
    html = page(client, home(store) + "/new")
    assert html.index(">Claude New</option>") < html.index(">Claude Small</option>") and "Claude Gone" not in html
    wrong = ASKED | {"model": "claude-small", "thinks": "on", "compacts": "on"}
    html = client.post(home(store) + "/new", wrong).content.decode()
    assert "Claude Small does not support this." in html and "Claude Small does not think." in html
    assert "Claude Small writes at most 1000 tokens." in html and not ClaudeRun.objects.exists()
    assert client.post(home(store) + "/new", ASKED | {"model": "claude-new", "compacts": "on"}).status_code == 303
    settings.MEMORYHUB_CLAUDE_MODELS = ["claude-small"]
    assert "Claude New" not in page(client, home(store) + "/new")


def test_a_long_run_is_shown_in_parts(store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.web.claude_runs.rows.MOST", 2)
    run, client = finished(store, alice), signed_in(alice)
    last = page(client, home(store, run))
    assert "Done." in last and "<strong>write</strong>" not in last and 'href="?from=1"' in last
    first = page(client, home(store, run) + "?from=0")
    assert "Done." not in first and "<strong>write</strong>" in first and 'href="?from=2"' in first


def test_the_page_shows_what_claude_said_and_did(store: MemoryStore, alice: User) -> None:
    run = finished(store, alice)
    html = page(signed_in(alice), home(store, run))
    assert "I <strong>write</strong>." in html and "awaits review" in html and ">/a.md<" in html.replace("\n", "")
    assert "900 tokens in, 30 tokens out" in html and "Answer 2: 1,200 tokens: In the context" in html
    assert f"/stores/{store.id}/sessions/" in html or "undo" in html
    assert "hx-get" not in html[html.index('id="claude-tail"') :].partition(">")[0], (
        "a run that ended is not asked for again"
    )
    assert "Help me." in page(signed_in(alice), home(store))


def tail(client: Client, store: MemoryStore, run: ClaudeRun, html: str) -> Any:
    found = re.search(r'hx-get="([^"]*after=[^"]*)"', html)
    assert found is not None
    return client.get(found[1].replace("&amp;", "&"), headers={"hx-request": "true"})


def test_the_page_follows_a_run(store: MemoryStore, alice: User) -> None:
    run, client = started(store, alice), signed_in(alice)
    html = page(client, home(store, run))
    assert "Waiting for its turn" in html and tail(client, store, run, html).status_code == 204
    work.claim(WORKER, BY["at"], 9)
    parts = [work.Part("text", {"type": "text", "text": "I wri"})]  # type: ignore[arg-type]
    work.write(run.pk, WORKER, parts, BY["at"])
    live = tail(client, store, run, html)
    assert "I wri" in live.content.decode() and "after=0" in live.content.decode()
    parts[0].block["text"], parts[0].is_open = "I write.", False
    turn = {"usage": {"output_tokens": 3}, "stop_reason": "end_turn", "context": 50, "edits": []}
    work.end_answer(run.pk, WORKER, parts, turn, 53, BY["at"])
    live = tail(client, store, run, live.content.decode())
    assert "I write." in live.content.decode() and "after=2" in live.content.decode()
    assert 'id="claude-state"' in live.content.decode() and "hx-swap-oob" in live.content.decode()
    work.end(run.pk, WORKER, "finished", BY["at"])  # type: ignore[arg-type]
    last = tail(client, store, run, live.content.decode()).content.decode()
    assert "I write." not in last and "after=" not in last and "Another message" in last


@pytest.mark.both_databases
def test_stopping_and_continuing(store: MemoryStore, alice: User) -> None:
    run, client = started(store, alice), signed_in(alice)
    assert client.post(home(store, run) + "/stop").status_code == 303
    assert ClaudeRun.objects.get().state == "stopped"
    assert "had already ended" in client.post(home(store, run) + "/stop", follow=True).content.decode()
    client.post(home(store, run) + "/continue", {"message": "Go on\r\nplease."})
    assert ClaudeRun.objects.get().state == "waiting"
    assert ClaudeEvent.objects.get().content == {"text": "Go on\nplease.", "by": "Alice"}
    assert "Nothing was continued" in client.post(home(store, run) + "/continue", follow=True).content.decode()
    assert "Go on" in page(client, home(store, run))


def test_a_value_that_the_rules_keep_out_is_neither_kept_nor_sent(store: MemoryStore, alice: User) -> None:
    secret = "4111 1111 1111 1111"
    with tampering():
        MemoryStore.objects.filter(pk=store.pk).update(rules={"card": "mask"})
    with claude_api(Turn([say(f"I saw {secret} there.")])) as api:
        run = worked(api, started(store, alice, f"Use {secret}.", system=f"Never tell {secret}."))
    assert secret not in str(api.requests)
    assert secret not in run.task + run.system + str(list(ClaudeEvent.objects.values_list("content")))
    assert secret not in page(signed_in(alice), home(store, run))


@pytest.mark.both_databases
def test_an_erasure_reaches_runs_and_stops_those_that_go_on(store: MemoryStore, alice: User) -> None:
    with claude_api(Turn([say("Dana Quellenberg asks for a refund.")])) as api:
        done = worked(api, started(store, alice, "Quellenberg writes."))
    going = started(store, alice)
    work.claim(WORKER, BY["at"], 9)
    found = erasure.search(store.id, ["Quellenberg"], act().at)
    assert found.counts == {"claude_run": 2}
    assert (
        "Claude runs" in signed_in(alice).post(f"/stores/{store.id}/erase", {"terms": "Quellenberg"}).content.decode()
    )
    erasure.erase(store.id, ["Quellenberg"], found.digest, act(alice))
    done.refresh_from_db()
    assert done.task == "[redacted] writes."
    assert "Quellenberg" not in str(list(ClaudeEvent.objects.values_list("content")))
    going.refresh_from_db()
    assert (going.state, going.problem) == ("stopped", "erased")
    with pytest.raises(work.LostRun):
        work.write(going.pk, WORKER, [], BY["at"])


@pytest.mark.both_databases
def test_runs_go_with_their_store_and_after_their_days(store: MemoryStore, alice: User, settings: Any) -> None:
    first, second = finished(store, alice), started(store, alice)
    assert first.ended_at is not None
    settings.MEMORYHUB_CLAUDE_DAYS = 30
    assert work.forget(first.ended_at) == 0
    assert work.forget(first.ended_at.replace(year=first.ended_at.year + 1)) == 1
    assert list(ClaudeRun.objects.all()) == [second] and not ClaudeEvent.objects.exists()
    runs.stop(second.pk, store.id, by(alice))
    runs.go_on(second.pk, store.id, "More.", by(alice))
    delete.delete_store(store.id, act=Act(Actor.person(alice), Door.WEB, BY["at"]))
    assert work.claim(WORKER, BY["at"], 9) is None
    while delete.step(store.id):
        pass
    assert not ClaudeRun.objects.exists() and not ClaudeEvent.objects.exists()


def test_redacting_what_claude_wrote_redacts_it_in_the_conversation(store: MemoryStore, alice: User) -> None:
    run = finished(store, alice)
    found = erasure.search(store.id, ["one"], act().at)
    erasure.erase(store.id, ["one"], found.digest, act(alice))
    runs.go_on(run.pk, store.id, "Again.", by(alice))
    with claude_api(Turn([say("Yes.")])) as api:
        worked(api, run)
    assert "one" not in str(api.requests[0]["messages"][1:]).replace("Done", "") and "[redacted]" in str(api.requests)


def test_an_undo_of_everything_is_told_and_not_offered_again(store: MemoryStore, alice: User) -> None:
    run, client = finished(store, alice), signed_in(alice)
    offers, says = "Undo everything it wrote", "undid what this session wrote"
    html = page(client, home(store, run))
    assert offers in html and says not in html
    address = reverse("undo_session", args=[store.pk, Session.objects.get().pk])
    client.post(address, {"digest": client.get(address).context["plan"].digest, "shown": ""})
    entry = AuditEntry.objects.of_chain(store.pk).of_command("undo").get()
    html = page(client, home(store, run))
    assert offers not in html and f"Alice {says}" in html
    assert html.count(f'">entry {entry.seq}</a>') == 2, "at the top and at the write"
    assert "undone</span>" in html


def test_a_run_is_not_continued_when_who_started_it_may_not_run_claude_any_more(
    store: MemoryStore, alice: User, bob: User
) -> None:
    """It acts in the name of that person, and would fail at once."""
    run = finished(store, alice)
    keys_and_roles.set_role(store, bob, Role.ADMIN, **BY)
    client, address = signed_in(bob), home(store, run)
    assert 'name="message"' in page(client, address)
    keys_and_roles.set_role(store, alice, Role.VIEWER, **BY)
    told = page(client, address)
    assert 'name="message"' not in told and "who started the run may no longer run Claude" in told
    client.post(address + "/continue", {"message": "Go on."})
    assert ClaudeRun.objects.get().state == "finished"
    assert "may no longer run Claude" in page(client, f"/stores/{store.id}/claude")

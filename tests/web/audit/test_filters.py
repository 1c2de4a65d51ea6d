"""Filters of the audit that are easily wrong: paths of moved and deleted directories, times at the edge, keys."""

import re
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit.command import Scope
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.actions.core.rules import holds
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import Access, Agent, HoldKind, MemoryStore, Session, User
from memoryhub.pure.path_rules import Effect
from memoryhub.web.audit.filters import Filter
from memoryhub.web.common.acts import act_words
from memoryhub.web.common.filters.bar import bar_of
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller, commands, listed, page, seqs
from tests.web.memories.pages import act, write
from tests.web.proposals.proposing import holds_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.mark.both_databases
def test_a_path_is_found_where_a_directory_was_moved_or_deleted(bob: User, caller: Caller) -> None:
    caller.create("/plans/one.md", "one\n")
    caller.call("rename", old_path="/memories/plans", new_path="/memories/done")
    caller.delete("/done")
    client = signed_in(bob)
    every = seqs(listed(client, caller.store))
    for path, others in (("/plans/one.md", ["rename", "create"]), ("/done/one.md", ["delete", "rename"])):
        assert commands(listed(client, caller.store, q=path)) == others
        for command in others:
            assert commands(listed(client, caller.store, q=f"path:{path} command:{command}")) == [command], path
        without = seqs(listed(client, caller.store, q=f"-path:{path}"))
        assert sorted(without + seqs(listed(client, caller.store, q=path)), reverse=True) == every, path


@pytest.mark.both_databases
def test_the_path_of_a_directory_finds_what_was_done_to_the_directory_itself(bob: User, caller: Caller) -> None:
    caller.call("create", path="/memories/plans/one.md", file_text="one\n")
    caller.call("create", path="/memories/plans-b.md", file_text="one\n")
    holds.place(caller.store.pk, act(bob), kind=HoldKind.HOLD, path="/plans", reason="x")
    caller.call("delete", path="/memories/plans")
    caller.call("view", path="/memories/plans")
    client = signed_in(bob)
    expected = ["view", "delete", "hold", "create"]
    assert commands(listed(client, caller.store, q="in /plans")) == expected
    for command in expected:
        assert commands(listed(client, caller.store, q=f"path:/plans command:{command}")) == [command]
    there = seqs(listed(client, caller.store, q="path:/plans"))
    assert there == seqs(listed(client, caller.store, q="in /plans"))
    others = seqs(listed(client, caller.store, q="-path:/plans"))
    assert sorted(there + others, reverse=True) == seqs(listed(client, caller.store))


@pytest.mark.both_databases
def test_a_path_finds_the_renames_to_it_also_those_that_were_refused(bob: User, caller: Caller) -> None:
    caller.create("/a.md", "one\n")
    caller.create("/b.md", "two\n")
    caller.create("/plans/c.md", "three\n")
    caller.call("rename", old_path="/memories/b.md", new_path="/memories/a.md")  # taken
    caller.delete("/a.md")
    caller.call("rename", old_path="/memories/plans", new_path="/memories/a.md")  # a directory with this name
    client = signed_in(bob)
    every = seqs(listed(client, caller.store))
    for words in ("path:/a.md", "in /a.md", "/a.md"):
        assert commands(listed(client, caller.store, q=words)) == ["rename", "delete", "rename", "create"], words
    for path in ("/a.md", "/a.md/", "/plans", "/b.md"):
        there = seqs(listed(client, caller.store, q=f"path:{path}"))
        others = seqs(listed(client, caller.store, q=f"-path:{path}"))
        assert sorted(there + others, reverse=True) == every, path


@pytest.mark.parametrize("written", ["q=/Cafe\u0301/a.md", "q=path:/Cafe\u0301/a.md", "path=/Cafe\u0301/a.md"])
def test_a_path_in_decomposed_letters_is_the_same_path(bob: User, caller: Caller, written: str) -> None:
    caller.call("create", path="/memories/Caf\u00e9/a.md", file_text="a\n")
    key, _, value = written.partition("=")
    assert commands(listed(signed_in(bob), caller.store, **{key: value})) == ["create"]


@pytest.mark.both_databases
def test_a_session_is_found_by_its_name_alone_where_one_agent_has_it(bob: User, caller: Caller) -> None:
    caller.session = "run-1"
    caller.create("/a.md", "one\n")
    client = signed_in(bob)
    assert commands(listed(client, caller.store, q="session:run-1")) == ["create"]
    assert commands(listed(client, caller.store, q="-session:run-1 command:create")) == []
    assert not listed(client, caller.store, q="session:run-2").context["problem"]
    other = keys_and_roles.create_agent("Sales bot", **BY)
    hidden = stores.create_store(stores.StoreSettings("Hidden"), **BY)
    secret = keys_and_roles.issue_key(other, stores=[hidden], access=Access.WRITE, **BY)[1]
    Caller(hidden, secret, session="run-1").create("/b.md", "b\n")
    assert commands(listed(client, caller.store, q="session:run-1")) == ["create"], "Bob does not see the other store"
    secret = keys_and_roles.issue_key(other, stores=[caller.store], access=Access.WRITE, **BY)[1]
    Caller(caller.store, secret, session="run-1").create("/b.md", "b\n")
    assert "several agents" in listed(client, caller.store, q="session:run-1").context["problem"]
    assert commands(listed(client, caller.store, q='session:run-1 agent:"Sales bot"')) == ["create"]


@pytest.mark.both_databases
def test_the_first_days_of_all_are_answered_in_every_time_zone(bob: User) -> None:
    client = signed_in(bob)
    with tampering():
        User.objects.filter(pk=bob.pk).update(time_zone="Pacific/Auckland")
    for words in ("when:0001-01-01", "-when:0001-01-01", "before 0001-01-01"):
        assert listed(client, q=words).context["problem"], words


@pytest.mark.both_databases
def test_a_key_finds_what_was_done_with_it_and_not_what_its_agent_did_with_another(
    store: MemoryStore, agent: Agent, key: str, bob: User, caller: Caller
) -> None:
    leaked, secret = keys_and_roles.issue_key(agent, name="laptop", stores=[store], **BY)
    caller.create("/a.md", "one\n")
    thief = Caller(store, secret)
    thief.create("/b.md", "one\n")
    thief.delete("/a.md")
    client = signed_in(bob)
    every = seqs(listed(client, store))
    found = listed(client, store, q=f"key:{leaked.id}")
    assert commands(found) == ["delete", "create"]
    assert [chip.shown for chip in found.context["chips"]] == [f"{agent.name} …{leaked.hint}"]
    assert commands(listed(client, store, q=leaked.id)) == commands(found)
    assert commands(listed(client, store, key=leaked.id, command="delete")) == ["delete"]
    assert sorted(seqs(found) + seqs(listed(client, store, q=f"-key:{leaked.id}")), reverse=True) == every
    assert commands(listed(client, store, q="key:apikey_unknown")) == []
    assert "the id of a key" in listed(client, store, q="key:laptop").context["problem"]


@pytest.mark.both_databases
def test_a_call_is_found_by_its_id_and_ids_of_requests_are_explained(bob: User, caller: Caller) -> None:
    for _ in range(2):
        caller.call("create", id="toolu_7", path="/memories/a.md", file_text="one\n")
    caller.call("view", path="/memories/a.md")
    client = signed_in(bob)
    for words in ("toolu_7", "call:toolu_7", "command:create call:toolu_7"):
        assert commands(listed(client, caller.store, q=words)) == ["create", "create"]
    assert "create" not in commands(listed(client, caller.store, q="-call:toolu_7 command:create"))
    for words in ("req_01K9Q8ZV7M4T2B6C8D0E1F3G5H", "call:req_01"):
        assert "are in the hub’s log" in listed(client, caller.store, q=words).context["problem"]


@pytest.mark.both_databases
def test_a_proposed_change_that_is_sent_again_is_proposed_too(bob: User, caller: Caller) -> None:
    holds_back(caller.store)
    for _ in range(2):
        caller.call("create", id="toolu_1", path="/memories/policies/a.md", file_text="one\n")
    for words in ("outcome:proposed", "command:create"):
        found = listed(signed_in(bob), caller.store, q=words)
        assert [(row.is_proposed, row.error != "") for row in found.context["rows"]] == [(True, True)] * 2
    assert seqs(listed(signed_in(bob), caller.store, q="outcome:error")) == []


@pytest.mark.both_databases
def test_a_change_that_became_a_proposal_is_no_error(bob: User, caller: Caller) -> None:
    holds_back(caller.store)
    for path in ("/policies/a.md", "/b.md", "/b.md"):
        caller.call("create", path=f"/memories{path}", file_text="one\n")
    client = signed_in(bob)
    assert commands(listed(client, caller.store, q="error:already_exists")) == ["create"]
    assert len(seqs(listed(client, caller.store, q="command:create -error:already_exists"))) == 2
    assert seqs(listed(client, caller.store, q="error:other")) == []
    assert "is not a kind of error" in listed(client, caller.store, q="error:nothing").context["problem"]

    def paths(words: str) -> list[str | None]:
        return [row.entry.path for row in listed(client, caller.store, q=words).context["rows"] if row.entry.path]

    assert paths("outcome:proposed") == ["/policies/a.md"]
    assert paths("outcome:error") == ["/b.md"]
    assert paths("command:create -outcome:proposed") == ["/b.md", "/b.md"]
    assert paths("command:create -outcome:error") == ["/b.md", "/policies/a.md"]
    assert paths("command:create -outcome:ok") == ["/b.md", "/policies/a.md"]
    assert "status-error" not in listed(client, caller.store, q="outcome:proposed").content.decode()
    assert paths("outcome:refused") == paths("refused") == []
    holds_back(caller.store, "/closed/", Effect.REFUSE)
    caller.call("create", path="/memories/closed/a.md", file_text="one\n")
    assert paths("refused") == ["/closed/a.md"] and paths("failed") == ["/closed/a.md", "/b.md"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("str_replace did not match", ["error:no_match", "error:several_matches"]),
        ("No replacement was performed", ["error:no_match", "error:several_matches"]),
        ("No replacement was performed, old_str `x` did not appear verbatim in /memories/a.md.", ["error:no_match"]),
        ("Error: The path /memories/a.md does not exist.", ["error:not_found"]),
        ("approved", ["command:approve"]),
        ("Support bot", ['agent:"Support bot"']),
        ("Alice", ["person:alice@example.com"]),
        ("zebra", []),
    ],
)  # fmt: skip
@pytest.mark.both_databases
def test_plain_words_lead_to_the_filters_that_they_may_mean(
    typed: str, meant: list[str], alice: User, bob: User, caller: Caller
) -> None:
    guesses = listed(signed_in(bob), caller.store, q=typed).context["guesses"]
    assert [guess.written for guess in guesses.filters][: len(meant) or None] == meant


@pytest.mark.parametrize("typed", ["changes by Support bot", "all changes by Support bot"])
def test_changes_are_all_commands_that_write_memories(typed: str, bob: User, caller: Caller) -> None:
    caller.create("/a.md", "a\n")
    caller.call("view", path="/memories")
    shown = listed(signed_in(bob), caller.store, q=typed).context
    assert shown["filter"].values == {"command": "writes", "agent": "Support bot"}
    assert [row.entry.command for row in shown["rows"]] == ["create"]


@pytest.mark.both_databases
@pytest.mark.parametrize("typed", ["by Root", "by root@example.com"])
def test_an_administrator_without_a_role_is_known_from_her_entries(
    bob: User, superuser: User, caller: Caller, typed: str
) -> None:
    client = signed_in(bob)
    assert listed(client, caller.store, q=typed).context["filter"].values == {}
    curation.create(caller.store.id, "/a.md", "a\n", act(superuser))
    shown = listed(client, caller.store, q=typed).context
    assert [row.entry.author_id for row in shown["rows"]] == [superuser.pk]
    fields = {field.key: dict(field.choices) for field in shown["fields"]}
    assert fields["person"][superuser.pk] == superuser.email


def test_a_guess_keeps_the_filters_that_were_understood(bob: User, caller: Caller) -> None:
    caller.call("str_replace", path="/memories/a.md", old_str="x", new_str="y")
    caller.create("/a.md", "a\n")
    caller.call("str_replace", path="/memories/a.md", old_str="x", new_str="y")
    client = signed_in(bob)
    answer = listed(client, caller.store, q="by Support bot today str_replace did not match")
    first = answer.context["guesses"].filters[0]
    assert f"?{first.query}".replace("&", "&amp;") in answer.content.decode()
    assert first.query.startswith("q=by+Support+bot+today+str_replace+error%3Ano_match")
    assert "/search?q=did%20not%20match" in answer.content.decode()


def test_words_of_retention_lead_to_its_commands(bob: User, store: MemoryStore) -> None:
    client = signed_in(bob)
    for word in ("retention", "policy", "expiry"):
        answer = listed(client, store, q=word)
        guessed = {guess.written for guess in answer.context["guesses"].filters}
        assert {"command:set_policy", "command:expire", "command:allow_run"} <= guessed, word
        assert "created or changed a retention policy" in answer.content.decode()
    runs = [guess.written for guess in listed(client, store, q="retention run").context["guesses"].filters]
    assert runs == [f"command:{verb}_run" for verb in ("start", "allow", "cancel", "undo")]


def test_every_command_has_words_in_the_list() -> None:
    assert [name for name in COMMANDS if act_words(name) == name.replace("_", " ") and "_" in name] == []


def test_a_filter_of_very_many_words_takes_little_memory(bob: User) -> None:
    client = signed_in(bob)
    client.get(reverse("audit"))
    for word in ("a", "by", "not", '"a'):
        tracemalloc.start()
        try:
            answer = client.get(reverse("audit"), {"q": f"{word} " * 10_000})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert "The filter is too long" in answer.content.decode()
        assert peak < 40_000_000, word


def test_an_unknown_kind_of_error_leads_to_the_kinds(bob: User) -> None:
    guesses = listed(signed_in(bob), q="door:tool error:nomatch").context["guesses"]
    assert ("error:no_match", "q=door%3Atool+error%3Ano_match") in [(one.written, one.query) for one in guesses.filters]
    assert len(guesses.filters) == 14


@pytest.mark.both_databases
def test_in_a_path_finds_the_memory_of_this_name_if_there_is_no_directory(bob: User, caller: Caller) -> None:
    caller.create("/refunds.xml", "a\n")
    caller.create("/notes/a.md", "a\n")
    caller.call("view", path="/memories/refunds.xml")
    client = signed_in(bob)
    answer = listed(client, caller.store, q="in /refunds.xml")
    assert commands(answer) == ["view", "create"]
    assert [chip.shown for chip in answer.context["chips"]] == ["/refunds.xml"]
    assert "/refunds.xml" not in [row.entry.path for row in listed(client, q="not in /refunds.xml").context["rows"]]
    answer = listed(client, caller.store, q="in /notes")
    assert (commands(answer), [chip.shown for chip in answer.context["chips"]]) == (["create"], ["/notes/"])


@pytest.mark.both_databases
def test_a_time_of_a_day_is_understood(bob: User, caller: Caller) -> None:
    for minute in range(3):
        caller.create(f"/{minute}.md", "a\n")
    day, client = caller.at.date().isoformat(), signed_in(bob)
    time = (caller.at - timedelta(seconds=30)).strftime("%H:%M")
    for typed in (f"since {day} {caller.at:%H:%M}", f"since {day}T{caller.at:%H:%M}"):
        assert [row.entry.path for row in listed(client, caller.store, q=typed).context["rows"]] == ["/2.md"], typed
    earlier = [row.entry.path for row in listed(client, caller.store, q=f"before {day} {time}").context["rows"]]
    assert "/0.md" in earlier and "/1.md" not in earlier


def test_the_chip_of_a_period_shows_its_days(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 26, 15, tzinfo=UTC))

    def chip(typed: str) -> str:
        return str(bar_of(Filter.of({"q": typed}), {}, {}, user=bob, here="")["chips"][0].shown)

    assert chip("last month") == "last month (1 Oct 2026 to 31 Oct 2026)"
    assert chip("yesterday") == "yesterday (25 Nov 2026)"
    assert chip("last 7 days") == "last 7 days (since 19 Nov 2026, 15:00)"
    assert chip("when:2026-01-31") == "2026-01-31"
    for typed in ("when:tuesday", "on:tuesday", "date:Tuesday", "Tuesday"):
        assert chip(typed).casefold() == "tuesday (24 nov 2026)", typed
    assert chip("thursday") == "thursday (26 Nov 2026)"
    assert chip("since:2026-01-31") == "2026-01-31"


def test_the_commands_are_in_words_and_those_that_read_are_apart(bob: User) -> None:
    html = page(signed_in(bob)).content.decode()
    groups = re.findall(r'<optgroup label="([^"]+)">(.*?)</optgroup>', html, re.DOTALL)
    assert [label for label, _ in groups] == ["Changes of memories", "Reads", "Everything else"]
    assert re.findall(r'value="(\w+)"', groups[1][1]) == [
        "reads", "download", "collect", "export", "export_table", "export_audit", "view_text", "reveal", "search",
        "view", "view_proposal", "history",
    ]  # fmt: skip
    assert "replaced text" in groups[0][1] and ">str_replace<" not in html
    assert [chip.shown for chip in listed(signed_in(bob), q="command:approve").context["chips"]] == ["approved"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (HoldKind.PIN, ["removed the pin from", "pinned"]),
        (HoldKind.HOLD, ["released the legal hold on", "put a legal hold on"]),
    ],
)
def test_pins_and_holds_are_told_apart(kind: HoldKind, words: list[str], store: MemoryStore, bob: User) -> None:
    write(store, "/a.md")
    hold = holds.place(store.pk, act(), kind=kind, reason="needed", path="/a.md")
    holds.release(store.pk, hold.pk, act())
    found = listed(signed_in(bob), store, q="/a.md").context["rows"]
    assert [row.act for row in found][:2] == words


@pytest.mark.both_databases
def test_a_row_has_date_and_time_and_the_name_of_a_session_leads_to_it(bob: User, caller: Caller) -> None:
    caller.session = "run-1"
    caller.create("/a.md", "a\n")
    html = listed(signed_in(bob), caller.store).content.decode()
    session = Session.objects.get(name="run-1")
    assert "3 Nov 2025, 09:01:00</time>" in html
    assert f'<a href="{reverse("session", args=[session.pk])}">run-1</a>' in html
    assert f'?session={session.pk}" title="Only this session" aria-label="Only the session run-1"' in html


def test_completions_say_that_there_are_more(bob: User, superuser: User) -> None:
    client = signed_in(bob)
    kinds = client.get(reverse("completions"), {"q": "error:", "keys": "error command"}).content.decode()
    assert kinds.count('role="option"') == 14 and "keep typing" not in kinds
    commands = client.get(reverse("completions"), {"q": "command:", "keys": "error command"}).content.decode()
    known = [name for name, command in COMMANDS.items() if Scope.STORE in command.scope]
    assert f"{len(known) + 2 - 16} more: keep typing" in commands
    commands = signed_in(superuser).get(reverse("completions"), {"q": "command:", "keys": "command"}).content.decode()
    assert f"{len(COMMANDS) + 2 - 16} more: keep typing" in commands


@pytest.mark.both_databases
def test_what_was_read_is_found_by_that_word(alice: User, caller: Caller) -> None:
    memory = caller.create("/a.md", "one\n")
    caller.call("view", path="/memories/a.md")
    stores.edit_store(caller.store, replace(StoreSettings.of(caller.store), records_views=True), **BY)
    client = signed_in(alice)
    client.get(reverse("memory", args=[caller.store.pk, memory.pk]))
    client.post(reverse("export_versions", args=[caller.store.pk, memory.pk]), {"format": "json"})
    assert commands(listed(client, caller.store, q="read")) == ["export_table", "view_text", "view"]
    for words in ("read by {} today", "reads by {} today", "all reads by {}", "by {} command:reads"):
        found = commands(listed(client, caller.store, q=words.format(alice.name)))
        assert found == ["export_table", "view_text"], words
    assert commands(listed(client, caller.store, q=f'read by "{Agent.objects.get().name}"')) == ["view"]
    assert commands(listed(client, caller.store, q="not reads")) == commands(listed(client, caller.store, q="not read"))
    assert not {"view_text", "view", "export_table"} & {*commands(listed(client, caller.store, q="not read"))}
    shown = client.get(reverse("store_audit", args=[caller.store.pk])).content.decode()
    reads = shown.partition('<optgroup label="Reads">')[2].partition("</optgroup>")[0]
    assert reads.split(">")[1].startswith("all that read memories")
    for words in ("downloaded", "exported", "revealed the text", "read on a page"):
        assert f">{words}" in reads.replace("\u2068", ""), words

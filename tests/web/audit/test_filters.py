"""Filters of the audit that are easily wrong: paths of moved and deleted directories, times at the edge, keys."""

import pytest

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Agent, MemoryStore, User
from tests.fixtures import BY, signed_in
from tests.web.history.versions import Caller, commands, page, seqs
from tests.web.proposals.proposing import holds_back
from tests.write_guard import tampering

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
    every = seqs(page(client, caller.store))
    for path, others in (("/plans/one.md", ["rename", "create"]), ("/done/one.md", ["delete", "rename"])):
        assert commands(page(client, caller.store, q=path)) == others
        for command in others:
            assert commands(page(client, caller.store, q=f"path:{path} command:{command}")) == [command], path
        without = seqs(page(client, caller.store, q=f"-path:{path}"))
        assert sorted(without + seqs(page(client, caller.store, q=path)), reverse=True) == every, path


@pytest.mark.parametrize("written", ["q=/Cafe\u0301/a.md", "q=path:/Cafe\u0301/a.md", "path=/Cafe\u0301/a.md"])
def test_a_path_in_decomposed_letters_is_the_same_path(bob: User, caller: Caller, written: str) -> None:
    caller.call("create", path="/memories/Caf\u00e9/a.md", file_text="a\n")
    key, _, value = written.partition("=")
    assert commands(page(signed_in(bob), caller.store, **{key: value})) == ["create"]


@pytest.mark.both_databases
def test_the_first_days_of_all_are_answered_in_every_time_zone(bob: User) -> None:
    client = signed_in(bob)
    with tampering():
        User.objects.filter(pk=bob.pk).update(time_zone="Pacific/Auckland")
    for words in ("when:0001-01-01", "-when:0001-01-01", "before 0001-01-01"):
        assert page(client, q=words).context["problem"], words


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
    every = seqs(page(client, store))
    found = page(client, store, q=f"key:{leaked.id}")
    assert commands(found) == ["delete", "create"]
    assert [chip.shown for chip in found.context["chips"]] == [f"{agent.name} …{leaked.hint}"]
    assert commands(page(client, store, q=leaked.id)) == commands(found)
    assert commands(page(client, store, key=leaked.id, command="delete")) == ["delete"]
    assert sorted(seqs(found) + seqs(page(client, store, q=f"-key:{leaked.id}")), reverse=True) == every
    assert commands(page(client, store, q="key:apikey_unknown")) == []
    assert "the id of a key" in page(client, store, q="key:laptop").context["problem"]


@pytest.mark.both_databases
def test_a_call_is_found_by_its_id_and_ids_of_requests_are_explained(bob: User, caller: Caller) -> None:
    for _ in range(2):
        caller.call("create", id="toolu_7", path="/memories/a.md", file_text="one\n")
    caller.call("view", path="/memories/a.md")
    client = signed_in(bob)
    for words in ("toolu_7", "call:toolu_7", "command:create call:toolu_7"):
        assert commands(page(client, caller.store, q=words)) == ["create", "create"]
    assert "create" not in commands(page(client, caller.store, q="-call:toolu_7 command:create"))
    for words in ("req_01K9Q8ZV7M4T2B6C8D0E1F3G5H", "call:req_01"):
        assert "are in the hub’s log" in page(client, caller.store, q=words).context["problem"]


@pytest.mark.both_databases
def test_a_proposed_change_that_is_sent_again_is_proposed_too(bob: User, caller: Caller) -> None:
    holds_back(caller.store)
    for _ in range(2):
        caller.call("create", id="toolu_1", path="/memories/policies/a.md", file_text="one\n")
    for words in ("outcome:proposed", "command:create"):
        found = page(signed_in(bob), caller.store, q=words)
        assert [(row.is_proposed, row.error != "") for row in found.context["rows"]] == [(True, True)] * 2
    assert seqs(page(signed_in(bob), caller.store, q="outcome:error")) == []


@pytest.mark.both_databases
def test_a_change_that_became_a_proposal_is_no_error(bob: User, caller: Caller) -> None:
    holds_back(caller.store)
    for path in ("/policies/a.md", "/b.md", "/b.md"):
        caller.call("create", path=f"/memories{path}", file_text="one\n")
    client = signed_in(bob)
    assert commands(page(client, caller.store, q="error:already_exists")) == ["create"]
    assert len(seqs(page(client, caller.store, q="command:create -error:already_exists"))) == 2
    assert seqs(page(client, caller.store, q="error:other")) == []
    assert "is not a kind of error" in page(client, caller.store, q="error:nothing").context["problem"]

    def paths(words: str) -> list[str | None]:
        return [row.entry.path for row in page(client, caller.store, q=words).context["rows"] if row.entry.path]

    assert paths("outcome:proposed") == ["/policies/a.md"]
    assert paths("outcome:error") == ["/b.md"]
    assert paths("command:create -outcome:proposed") == ["/b.md", "/b.md"]
    assert paths("command:create -outcome:error") == ["/b.md", "/policies/a.md"]
    assert paths("command:create -outcome:ok") == ["/b.md", "/policies/a.md"]
    assert "status-error" not in page(client, caller.store, q="outcome:proposed").content.decode()

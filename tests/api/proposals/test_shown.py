"""A store can show agents what they have proposed, after what they view. Nothing of it is ever a part of a memory."""

import json
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.proposals.shown import MOST_CHARACTERS, MOST_NAMED
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import AuditEntry, MemoryStore
from memoryhub.pure.path_rules import Effect, PathRule
from tests.api.harness import BY, Hub, assert_audit_is_right, new_hub, new_secret, newest_entry
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules, texts
from tests.api.proposals.test_proposals import POLICIES, counters, merge
from tests.mcp.messages import call as mcp_call

PATH = "/memories/policies/a.md"
EDIT = {"command": "str_replace", "path": PATH, "old_str": "two", "new_str": "2\nand 3"}
VIEW = {"command": "view", "path": PATH}
CHANGE = "[Not there yet: in proposal #{}, which waits for a reviewer, you propose to {}]"
OF_LINES = ". It would remove the lines with - and add those with +"


def show(store: MemoryStore, on: bool = True) -> None:
    row = MemoryStore.objects.get(pk=store.pk)
    stores.edit_store(row, replace(StoreSettings.of(row), shows_proposed=on), **BY)


@pytest.fixture
def showing(db: None) -> Hub:
    hub = new_hub()
    for path in ("/policies/a.md", "/policies/deep/b.md", "/notes/c.md"):
        assert hub.call(command="create", path=f"/memories{path}", file_text="one\ntwo\nthree\n")[0] == "ok"
    set_rules(hub.store, POLICIES)
    show(hub.store)
    return hub


def told(hub: Hub, path: str = PATH, **more: object) -> list[str]:
    """The lines that a view has after those of a store that does not show them."""
    shown = hub.call(command="view", path=path, **more)[1]
    show(hub.store, False)
    plain = hub.call(command="view", path=path, **more)[1]
    show(hub.store)
    assert shown.startswith(plain)
    return shown.removeprefix(plain).split("\n")[1:]


def test_a_view_ends_with_what_its_agent_has_proposed_and_what_is_not_there(showing: Hub) -> None:
    showing.call(**EDIT)
    lines = ["  one", "- two", "+ 2", "+ and 3"]
    assert told(showing) == [CHANGE.format(1, "change " + PATH + OF_LINES), *lines]
    assert told(showing, view_range=[3, 3])[1:] == lines, "whatever lines are viewed"
    assert mcp_call(showing, "memory", **VIEW)["content"][0]["text"] == showing.call(**VIEW)[1]
    for command in ({"old_str": "2"}, {"old_str": "+ and 3"}):
        assert "did not appear verbatim" in showing.call(command="str_replace", path=PATH, new_str="x", **command)[1]
    merge(showing.store)
    assert told(showing) == []
    assert_audit_is_right(showing.store)


def test_a_view_without_the_setting_and_another_agents_view_have_nothing_of_it(showing: Hub) -> None:
    other = Hub(showing.store, new_secret(showing.store))
    plain = showing.call(**VIEW)
    showing.call(**EDIT)
    assert other.call(**VIEW) == plain
    show(showing.store, False)
    assert showing.call(**VIEW) == plain


@pytest.mark.both_databases
def test_it_is_no_part_of_the_memory_at_any_other_door_and_is_not_stored(showing: Hub) -> None:
    before, counts = texts(showing.store), counters(showing.store)
    showing.call(**EDIT)
    assert "+ and 3" in showing.call(**VIEW)[1]
    entry = newest_entry(showing.store.id)
    assert (entry.command, entry.note, entry.message) == ("view", None, None)
    assert "and 3" not in json.dumps(Api(showing).all("memories", view="full"))
    assert Api(showing).all("search", query="and 3") == []
    assert (texts(showing.store), counters(showing.store)) == (before, counts)
    assert not AuditEntry.objects.of_chain(showing.store.pk).filter(message__contains="Not there yet").exists()


def test_a_view_of_a_directory_or_of_what_is_not_there_names_what_is_proposed_there(showing: Hub) -> None:
    new = "/memories/policies/new.md"
    showing.call(command="create", path=new, file_text="fresh\n")
    showing.call(command="delete", path="/memories/policies/deep")
    showing.call(command="rename", old_path=PATH, new_path="/memories/policies/z.md")
    words = [
        f"create {new}", "delete /memories/policies/deep/b.md", f"rename {PATH} to /memories/policies/z.md",
    ]  # fmt: skip
    assert told(showing, "/memories") == told(showing, "/memories/policies") == [CHANGE.format(1, one) for one in words]
    assert told(showing, "/memories/notes") == told(showing, "/memories/notes/c.md") == []
    assert told(showing, new) == [CHANGE.format(1, words[0] + OF_LINES), "+ fresh"]
    assert showing.call(command="view", path=new)[0] == "err", "it is not there"
    assert told(showing, "/memories/policies/z.md") == [CHANGE.format(1, words[2])]
    assert told(showing) == [CHANGE.format(1, words[2])]
    showing.call(command="str_replace", path=PATH, old_str="two", new_str="2")
    assert told(showing)[0] == CHANGE.format(1, f"{words[2]}, and change it{OF_LINES}")


def test_several_changes_of_a_memory_are_shown_as_one(showing: Hub) -> None:
    showing.call(**EDIT)
    showing.call(command="insert", path=PATH, insert_line=3, insert_text="four")
    assert told(showing)[1:] == ["  one", "- two", "+ 2", "+ and 3", "  three", "+ four"]


def test_the_passage_is_bounded(showing: Hub) -> None:
    showing.call(command="create", path="/memories/policies/new.md", file_text="line of text\n" * 1_000)
    lines = told(showing, "/memories/policies/new.md")
    count = MOST_CHARACTERS // len("+ line of text")
    assert lines[0] == CHANGE.format(
        1, f"create /memories/policies/new.md{OF_LINES}, of which {1_000 - count} more are not shown"
    )
    assert len(lines) == 1 + count
    for number in range(MOST_NAMED + 4):
        showing.call(command="create", path=f"/memories/policies/many/{number:02}.md", file_text="x")
    lines = told(showing, "/memories/policies/many")
    assert len(lines) == MOST_NAMED + 1
    assert lines[-1] == CHANGE.format(1, "make more changes here, which are not named: 4")


@pytest.mark.both_databases
def test_what_the_agent_does_not_see_any_more_is_not_named(showing: Hub) -> None:
    showing.call(**EDIT)
    set_rules(showing.store, POLICIES, PathRule(Effect.HIDE, "/policies/"))
    assert told(showing) == told(showing, "/memories") == []


def test_a_view_that_is_sent_again_has_what_waits_then(showing: Hub) -> None:
    block = showing.block("toolu_once", **VIEW)
    plain = showing.send(block).value["content"]
    showing.call(**EDIT)
    assert showing.send(block).value["content"].startswith(plain + "\n[Not there yet: ")


def test_a_store_without_the_setting_reads_nothing_more(showing: Hub) -> None:
    def asked(hub: Hub) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            hub.call(**VIEW)
        return [query["sql"] for query in queries if "memoryhub_propos" in query["sql"]]

    show(showing.store, False)
    showing.call(**EDIT)
    assert asked(showing) == []
    show(showing.store)
    assert len(asked(Hub(showing.store, new_secret(showing.store)))) == 1

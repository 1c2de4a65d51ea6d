"""Rules about lines of one memory: from the chosen lines to the saved rule, and what its pages say of them later."""

import tracemalloc
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.memories import curation
from memoryhub.models import Memory, MemoryStore, User
from memoryhub.pure.path_rules import Effect, Lines, PathRule, PathRules, Verb
from memoryhub.web.path_rules import replay
from tests.api.harness import BY, Hub
from tests.api.path_rules.test_path_rules import ACT, set_rules
from tests.support.browser import axe, fits, sign_in_as
from tests.support.fixtures import signed_in
from tests.support.in_turn import in_turn
from tests.web.path_rules.test_path_rules import editor, form, listed, row, rules_of, tried_and_saved

pytestmark = pytest.mark.django_db

VERBS = ("edit", "delete", "rename")


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    hub = Hub(store, key)
    hub.call(command="create", path="/memories/a.md", file_text="one\ntwo\nthree\n")
    return hub


def memory(hub: Hub) -> Memory:
    return Memory.objects.live().filter(store=hub.store).at("/a.md").get()


def lines_of(hub: Hub, first: int, last: int) -> str:
    return Lines(str(memory(hub).head_id), first, last).value


def person_writes(hub: Hub, text: str) -> None:
    head = memory(hub)
    curation.edit(hub.store.pk, head.pk, text, head.sha256, ACT)


def test_the_form_begins_with_the_chosen_lines_and_keeps_them(hub: Hub, alice: User) -> None:
    client, chosen = signed_in(alice), lines_of(hub, 2, 3)
    begun = client.get(editor(hub.store), {"protect": "/a.md", "verb": VERBS, "only_if": chosen})
    assert begun.context["form"][0]["only_if"].value() == chosen
    assert "if one of the protected lines 2 to 3 is changed" in begun.content.decode()
    moved = form(client, hub.store, "add", row("/a.md", verbs=VERBS, only_if=chosen))
    assert moved.context["form"][0]["only_if"].value() == chosen
    assert tried_and_saved(client, hub.store, row("/a.md", verbs=VERBS, only_if=chosen)).status_code == 303
    assert rules_of(hub.store)[0]["only_if"] == chosen
    assert hub.call(command="str_replace", path="/memories/a.md", old_str="two", new_str="2")[0] == "err"


def test_a_rule_about_a_whole_memory_says_how_only_some_lines_are_protected(hub: Hub, alice: User) -> None:
    client, about_lines = signed_in(alice), "press their numbers on the page of the memory"
    assert about_lines in client.get(editor(hub.store), {"protect": "/a.md"}).content.decode()
    for other in ({"protect": "/"}, {"protect": "/a.md", "verb": VERBS, "only_if": lines_of(hub, 1, 1)}, {}):
        assert about_lines not in client.get(editor(hub.store), other).content.decode()
    html = client.get(reverse("memory", args=[hub.store.pk, memory(hub).pk])).content.decode()
    assert "or to protect it from agents" in html


@in_turn("wrong", ["lines:x:3-2", "lines::1-2", "lines:memver_1:0-2", "lines:x:1-2;drop", "lines"])
def test_what_names_no_lines_is_refused(hub: Hub, alice: User, wrong: str) -> None:
    client = signed_in(alice)
    assert client.get(editor(hub.store), {"protect": "/a.md", "only_if": wrong}).status_code == 200
    assert form(client, hub.store, "save", row("/a.md", only_if=wrong), seen="x").context["form"].is_valid() is False
    assert rules_of(hub.store) == []


def test_a_rule_may_name_far_more_lines_than_there_are(hub: Hub, alice: User) -> None:
    client, most = signed_in(alice), 999_999_999
    chosen = lines_of(hub, 2, most)
    tracemalloc.start()
    try:
        assert tried_and_saved(client, hub.store, row("/a.md", verbs=VERBS, only_if=chosen)).status_code == 303
        assert "The protected lines are now lines 2 to 3." in says(client, hub)
        assert hub.call(command="str_replace", path="/memories/a.md", old_str="two", new_str="2")[0] == "err"
        assert hub.call(command="str_replace", path="/memories/a.md", old_str="one", new_str="1")[0] == "ok"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000


def test_a_rule_about_lines_is_about_one_memory(hub: Hub, alice: User) -> None:
    tried = form(signed_in(alice), hub.store, "try", row("/", verbs=VERBS, only_if=lines_of(hub, 1, 1)))
    assert "A rule about lines is about one memory: write the path of the memory." in tried.content.decode()


def says(client: Any, hub: Hub) -> str:
    return str(client.get(listed(hub.store)).content.decode())


@pytest.mark.both_databases
def test_the_page_says_where_the_lines_are_now(hub: Hub, alice: User) -> None:
    client, lines = signed_in(alice), Lines(str(memory(hub).head_id), 2, 3)
    set_rules(hub.store, PathRule(Effect.REFUSE, "/a.md", frozenset(map(Verb, VERBS)), only_if=lines))
    page = says(client, hub)
    assert "No agent may change, delete or rename the memory at /a.md if one of the protected lines 2 to 3" in page
    assert "The protected lines are now lines 2 to 3." in page and f"/versions/{lines.version}#L2-L3" in page
    hub.call(command="insert", path="/memories/a.md", insert_line=0, insert_text="zero")
    assert "The protected lines are now lines 3 to 4." in says(client, hub)
    person_writes(hub, "zero\none\nthree\n")
    assert "The protected line is now line 3." in says(client, hub)
    person_writes(hub, "zero\n")
    assert "None of these lines is left, so the rule protects nothing." in says(client, hub)
    for verb, number in (("edit", 0), ("delete", 0), ("only_adds", 0)):
        asked = client.get(listed(hub.store), {"verb": verb, "path": "/a.md"})
        assert asked.context["decision"].number == number
    person_writes(hub, "zero\nthree\n")
    for verb, number in (("edit", 1), ("delete", 1), ("rename", 1), ("create", 0), ("only_adds", 0)):
        asked = client.get(listed(hub.store), {"verb": verb, "path": "/a.md"})
        assert asked.context["decision"].number == number, verb


def test_a_replay_knows_which_past_changes_were_about_these_lines(hub: Hub) -> None:
    lines, path = Lines(str(memory(hub).head_id), 2, 2), "/memories/a.md"
    hub.call(command="insert", path=path, insert_line=0, insert_text="zero")
    hub.call(command="str_replace", path=path, old_str="two", new_str="2")
    hub.call(command="str_replace", path=path, old_str="one", new_str="1")
    hub.call(command="rename", old_path=path, new_path="/memories/b.md")
    hub.call(command="rename", old_path="/memories/b.md", new_path=path)
    hub.call(command="create", path="/memories/other.md", file_text="two\n")
    hub.call(command="delete", path="/memories/other.md")
    rules = PathRules([PathRule(Effect.PROPOSE, "/a.md", frozenset(map(Verb, VERBS)), only_if=lines)])
    outcome = replay.replay(hub.store.pk, rules, BY["at"])
    assert (outcome.calls, outcome.proposed) == (8, 2), "the line that changed, and the move away from the path"


@pytest.mark.browser
def test_lines_are_protected_from_the_page_of_the_memory(
    page: Page, live_server: LiveServer, hub: Hub, alice: User
) -> None:
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/stores/{hub.store.pk}/memories/{memory(hub).pk}")
    page.locator("#L2 > a").click()
    page.locator("#L3 > a").click(modifiers=["Shift"])
    page.locator("#L3 .line-protect").click()
    expect(page.get_by_label("Which memories")).to_have_value("/a.md")
    page.get_by_label("What the agent is told").fill("Finance decides.")
    page.get_by_role("button", name="Try before you save").click()
    page.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_text("The protected lines are now lines 2 to 3.")).to_be_visible()
    fits(page)
    axe(page)
    said = hub.call(command="str_replace", path="/memories/a.md", old_str="two", new_str="2")
    assert said[0] == "err" and "Finance decides." in said[1]

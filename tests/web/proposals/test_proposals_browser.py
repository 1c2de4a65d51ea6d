"""Proposals in a real browser: from the inbox to the merge by keys, refused with a reason, sound at every width."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.client import HubMemoryTool, ToolError
from memoryhub.models import MemoryStore, Role, User
from tests.support.browser import axe, fits, press, sign_in_as
from tests.support.fixtures import BY
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import (
    LINES,
    begun,
    edit,
    holds_back,
    listed,
    proposes,
    replaces,
    state,
    texts,
    url_of,
)

pytestmark = pytest.mark.browser

A, B, C = "/policies/a.md", "/policies/b.md", f"/policies/{'long-name-' * 12}.md"


@pytest.fixture
def desk(page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User) -> Page:
    """A browser in which Alice reads the inbox; two proposals wait, one of them with a conflict."""
    caller: Caller = begun(store, key, A, B)
    for path in (A, B):
        replaces(caller, path, "two", "2")
    proposes(caller, "create", C, file_text=f"{'word ' * 60}\nthe card is 5105 1051 0510 5100\n")
    edit(store, B, "two", "II", alice)
    caller.session = "run-8"
    proposes(caller, "delete", A)
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/review")
    return page


def test_proposals_are_decided_about_by_keys(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    desk.goto(live_server.url + listed(store))
    fits(desk)
    axe(desk)
    press(desk, "j")
    press(desk, "Enter")
    expect(desk).to_have_url(live_server.url + url_of(store))
    expect(desk.get_by_role("button", name="Merge changes to 2 memories")).to_be_visible()
    expect(desk.get_by_text("No other memory has any of the new lines")).to_be_visible()
    assert desk.evaluate("scrollY") == 0, "what is loaded beside it moves nothing"
    fits(desk)
    axe(desk)
    press(desk, "j")
    press(desk, "j")
    expect(desk.get_by_role("link", name=A)).to_be_focused()
    desk.get_by_role("checkbox", name="Leave it out").check()
    expect(desk.get_by_role("button", name="Merge changes to 1 memory")).to_be_visible()
    desk.get_by_role("radio", name=re.compile("Take the proposed lines")).check()
    desk.get_by_role("link", name=A).focus()
    press(desk, "a")
    expect(desk.get_by_text("Merged 2 of 3 changes of proposal #1. Refused the other 1.")).to_be_visible()
    assert (state(store), C in texts(store)) == (("partly_merged", ""), False)
    assert "2\n" in texts(store)[A] and "II" not in texts(store)[B]

    desk.goto(f"{live_server.url}/review?what=proposal")
    press(desk, "o")
    expect(desk.get_by_role("radio", name=re.compile("Delete it anyway"))).to_be_visible()
    fits(desk)
    axe(desk)
    press(desk, "r")
    expect(desk.get_by_label("Why?")).to_be_focused()
    desk.keyboard.type("It is needed.")
    press(desk, "Enter")
    expect(desk.get_by_text("Refused proposal #2.")).to_be_visible()
    expect(desk).to_have_url(f"{live_server.url}/review?what=proposal")
    expect(desk.get_by_text("Nothing in the review matches the filter")).to_be_visible()
    assert state(store, 2) == ("refused", "It is needed.")


@pytest.mark.push
def test_from_the_call_of_an_agent_to_the_merge_it_takes_two_presses(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    holds_back(store)
    tool = HubMemoryTool(live_server.url, key, store.pk)
    call = {"command": "create", "path": "/memories/policies/refunds.md", "file_text": "Refunds take 14 days.\n"}
    with pytest.raises(ToolError, match="part of proposal #1"):
        tool.call(call)
    tool.call({"command": "create", "path": "/memories/next.md", "file_text": "a line\n" * 90})
    sign_in_as(page.context, alice, live_server.url)
    page.goto(f"{live_server.url}/review")
    press(page, "o")
    expect(page.get_by_text("Refunds take 14 days.")).to_be_visible()
    press(page, "a")
    expect(page.get_by_text("Merged proposal #1.")).to_be_in_viewport()
    expect(page.get_by_role("link", name="/next.md")).to_be_focused()
    assert texts(store)["/policies/refunds.md"] == "Refunds take 14 days.\n"


@pytest.mark.push
def test_a_hunk_is_left_out_by_keys(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    caller = begun(store, key, A)
    for old, new in (("two", "2"), ("six", "6")):
        replaces(caller, A, old, new)
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + url_of(store))
    for keys in ("n", "n"):
        press(page, keys)
    expect(page.get_by_role("checkbox", name="Place 2 of 2")).to_be_focused()
    for keys in ("Space", "p", "Space"):
        press(page, keys)
    expect(page.get_by_role("checkbox", name="Keep the memory as it is")).to_be_checked()
    expect(page.get_by_role("button", name="Choose what to merge")).to_be_disabled()
    for keys in ("Space", "a"):
        press(page, keys)
    expect(page.get_by_text("Merged a part of proposal #1. Refused the rest.")).to_be_in_viewport()
    expect(page.locator("main > .banners .banner")).to_be_in_viewport()  # above the heading, where messages are
    assert texts(store)[A] == LINES.replace("two", "2")


@pytest.mark.long
def test_on_a_telephone_the_reason_is_above_the_bar_and_a_refusal_can_be_taken_back(
    desk: Page, live_server: LiveServer, store: MemoryStore
) -> None:
    desk.set_viewport_size({"width": 390, "height": 700})
    desk.goto(live_server.url + url_of(store))
    desk.locator("summary", has_text="Refuse").click()
    button, bar = desk.get_by_role("button", name="Refuse the proposal"), desk.locator(".topnav")
    desk.wait_for_function("document.querySelector('.proposal-refuse').open")
    over = "([button, bar]) => button.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top"
    desk.wait_for_timeout(300)  # what comes into view is laid out
    desk.wait_for_function(over, arg=[button.element_handle(), bar.element_handle()])
    fits(desk)
    button.click()
    desk.get_by_role("link", name="Undo…").click()
    desk.get_by_role("button", name="Open it again").click()
    expect(desk.get_by_text("Proposal #1 is open again.")).to_be_visible()
    axe(desk)
    assert state(store) == ("open", "")


@pytest.mark.long
def test_a_proposal_is_assigned_by_keys_in_the_inbox_and_on_its_page(
    desk: Page, live_server: LiveServer, store: MemoryStore, bob: User
) -> None:
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    desk.goto(f"{live_server.url}/review?what=proposal")
    first = desk.get_by_role("article").first
    press(desk, "j")
    press(desk, "i")
    expect(first.get_by_text("Assigned to you")).to_be_visible()
    expect(first.get_by_role("link", name=A)).to_be_focused()
    press(desk, "I")
    expect(first.get_by_label("Reviewer")).to_be_focused()
    first.get_by_role("button", name="Assign", exact=True).click()
    expect(first.get_by_text("Assigned to Bob")).to_be_visible()
    fits(desk)
    axe(desk)
    desk.goto(live_server.url + url_of(store, 2))
    press(desk, "i")
    expect(desk.get_by_text("The review is assigned to you.")).to_be_visible()
    expect(desk).to_have_url(live_server.url + url_of(store, 2))
    press(desk, "i")
    expect(desk.get_by_text("The review is assigned to no one.")).to_be_visible()


@pytest.mark.long
def test_ticked_proposals_are_merged_together_and_taken_back(
    desk: Page, live_server: LiveServer, store: MemoryStore
) -> None:
    before = texts(store)
    desk.goto(live_server.url + listed(store))
    press(desk, "j")
    press(desk, "x")
    press(desk, "j")
    press(desk, "x")
    expect(desk.get_by_text("2 selected")).to_be_visible()
    fits(desk)
    axe(desk)
    desk.get_by_role("button", name="Decide about the ticked proposals…").click()
    expect(desk.get_by_text("1 proposal is not merged with the others, and stays open")).to_be_visible()
    fits(desk)
    axe(desk)
    press(desk, "a")
    expect(desk.get_by_text("Merged 1 proposal.")).to_be_visible()
    assert A not in texts(store) and state(store, 1)[0] == "open"
    desk.get_by_role("link", name="Undo all").click()
    axe(desk)
    desk.get_by_role("button", name="Undo the decisions").click()
    expect(desk.get_by_text("The decision was undone.")).to_be_visible()
    assert texts(store) == before


@pytest.mark.long
def test_what_was_merged_together_becomes_a_rule_by_one_press(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    caller = begun(store, key, A)
    for name in ("x", "y"):
        caller.session = name
        proposes(caller, "create", f"/policies/faq/{name}.md", file_text="x\n")
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + listed(store))
    page.get_by_role("link", name="Decide about all 2 additions").click()
    press(page, "a")
    page.get_by_role("link", name="do this without asking").click()
    expect(page.get_by_role("heading", name="What these rules would have done")).to_be_in_viewport()
    fits(page)
    axe(page)
    page.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_text("The 2 rules were saved.")).to_be_visible()
    assert not caller.call("create", path="/memories/policies/faq/z.md", file_text="x").is_error

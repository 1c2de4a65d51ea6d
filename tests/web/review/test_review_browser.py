"""The review inbox in a real browser: without a mouse, and two people at once."""

import re

import pytest
from playwright.sync_api import APIResponse, Browser, BrowserContext, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import AuditEntry, Claim, Memory, MemoryStore, MemoryVersion, Review, Role, User
from memoryhub.web.review import queries
from tests.support.browser import PATIENCE, axe, press, sign_in_as
from tests.support.fixtures import BY
from tests.support.patience import wait_until
from tests.web.history.versions import Caller

pytestmark = pytest.mark.browser


@pytest.fixture
def made(store: MemoryStore, key: str) -> list[Memory]:
    """Four memories that an agent wrote in one session, the last in two versions."""
    caller = Caller(store, key, session="run-1")
    memories = [caller.create(f"/notes/{name}.md", f"{name}\nis here\n") for name in ("a", "b", "c", "d")]
    caller.replace("/notes/d.md", "is here", "was here")
    return memories


@pytest.fixture
def inbox(page: Page, live_server: LiveServer, alice: User, made: list[Memory]) -> Page:
    """A browser in which Alice has opened the inbox."""
    return opened(page, live_server, alice)


def opened(page: Page, live_server: LiveServer, user: User) -> Page:
    sign_in_as(page.context, user, live_server.url)
    page.goto(f"{live_server.url}/review")
    page.wait_for_load_state("load")
    return page


def states(made: list[Memory]) -> list[str | None]:
    """The review state of each memory's first version."""
    of_first = MemoryVersion.objects.filter(memory__in=made, number=1).order_by("path")
    return list(of_first.values_list("review_state", flat=True))


def has_focus(page: Page, path: str) -> None:
    expect(page.locator("[data-review-item]:focus-within h3")).to_have_text(path)


def version_of(memory: Memory) -> str:
    return f"/stores/{memory.store_id}/versions/{memory.head_id}"


def settled(page: Page, words: str) -> None:
    """The line that says what was decided has come."""
    expect(page.locator(".review-decided", has_text=words)).to_be_visible()


@pytest.mark.push
def test_a_key_decides_about_no_item_that_was_scrolled_out_of_view(inbox: Page, made: list[Memory]) -> None:
    inbox.set_viewport_size({"width": 1440, "height": 400})
    inbox.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    first = inbox.locator("[data-review-item]").first
    expect(first).not_to_be_in_viewport()
    press(inbox, "a")
    seen = inbox.locator("[data-review-item]:focus-within")
    expect(seen).to_be_in_viewport()
    expect(first).to_be_visible()
    assert Review.objects.count() == 0
    path = seen.locator("h3").inner_text()
    press(inbox, "a")
    expect(inbox.locator("[data-review-decided]")).to_contain_text(path)


@pytest.mark.long
def test_a_memorys_versions_are_approved_in_order_without_a_question(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    caller = Caller(store, key, session="run-1")
    memory = caller.create("/d.md", "one\n")
    caller.replace("/d.md", "one", "two")
    caller.replace("/d.md", "two", "three")
    inbox = opened(page, live_server, alice)
    items = inbox.locator("[data-review-item]")
    expect(items).to_have_count(3)
    for number in (1, 2, 3):
        item = inbox.locator("[data-review-item]", has_text=f"version {number}").first
        expect(item.get_by_role("button", name="Approve", exact=False).first).to_have_text(re.compile("^Approvea?$"))
        item.get_by_role("button", name="Approve", exact=False).first.click()
        settled(inbox, f"Approved version {number} of /d.md.")
    expect(inbox.locator(".review-refusal")).to_have_count(0)
    states = MemoryVersion.objects.filter(memory=memory).values_list("review_state", flat=True)
    assert set(states) == {"approved"}


def test_the_keys_go_through_the_inbox(inbox: Page, made: list[Memory], alice: User) -> None:
    press(inbox, "j")
    has_focus(inbox, "/notes/a.md")
    press(inbox, "j", "k", "a")
    settled(inbox, "Approved version 1 of /notes/a.md.")
    has_focus(inbox, "/notes/b.md")
    expect(inbox.locator("#review-count")).to_have_text("4 await review")
    press(inbox, "r")
    settled(inbox, "Reverted version 1 of /notes/b.md.")
    has_focus(inbox, "/notes/c.md")
    press(inbox, "f")
    inbox.keyboard.type("Ask the shop")
    press(inbox, "Enter")
    expect(inbox.locator("[data-review-item]", has_text="/notes/c.md").locator(".mark-flagged")).to_be_visible()
    has_focus(inbox, "/notes/c.md")
    press(inbox, "x")
    expect(inbox.locator("[data-review-count]")).to_have_text("1 selected")
    press(inbox, "x", "j", "j")
    press(inbox, "a")  # the second version of the last, with the first
    settled(inbox, "and 1 earlier version")
    settled(inbox, "Approved together with version 2.")
    assert states(made) == ["approved", "reverted", "unreviewed", "approved"]
    assert not Memory.objects.get(pk=made[1].pk).is_live
    has_focus(inbox, "/notes/c.md")
    press(inbox, "e")
    inbox.wait_for_url("**/edit?review=*")
    press(inbox, "ControlOrMeta+s")
    inbox.wait_for_url("**/review")
    assert states(made)[2] == "approved"
    expect(inbox.get_by_role("heading", name="Nothing awaits review")).to_be_visible()


@pytest.mark.push
def test_the_next_versions_come_under_the_focus(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries.page, "__kwdefaults__", {"newest": False, "size": 4, "walk": 800})
    caller = Caller(store, key, session="run-1")
    for number in range(9):
        caller.create(f"/{number}.md", "line\n" * 40)
    items = opened(page, live_server, alice).locator("[data-review-item]")
    press(page, *"jj")
    expect(items.nth(7)).to_be_attached()
    press(page, *"jjjj")
    expect(items.nth(8)).to_be_attached()
    press(page, *"jj", "a")
    settled(page, "Approved version 1 of /7.md.")
    has_focus(page, "/8.md")
    expect(page.locator("[data-review-more]")).to_have_count(0)


@pytest.mark.push
def test_enter_opens_the_version_and_undo_brings_an_item_back(inbox: Page, made: list[Memory]) -> None:
    press(inbox, "j", "r")
    settled(inbox, "Reverted version 1 of /notes/a.md.")
    inbox.get_by_role("button", name="Undo").press("Enter")
    has_focus(inbox, "/notes/a.md")
    expect(inbox.locator("#review-count")).to_have_text("5 await review")
    assert states(made)[0] == "unreviewed"
    assert Memory.objects.get(pk=made[0].pk).is_live
    inbox.locator("[data-review-item] h3 a").first.focus()
    press(inbox, "Enter")
    expect(inbox.get_by_role("heading", level=1, name="Version 1 of a.md")).to_be_visible()


@pytest.mark.long
def test_single_keys_do_nothing_where_they_are_off_or_in_a_field(inbox: Page, made: list[Memory]) -> None:
    inbox.get_by_placeholder("Note (optional)").first.focus()
    inbox.keyboard.type("arefx")
    expect(inbox.locator(".review-decided")).to_have_count(0)
    inbox.evaluate("document.body.dataset.singleKeys = 'off'")
    inbox.locator("[data-review-item] h3 a").first.focus()
    press(inbox, "a", "r", "x")
    inbox.wait_for_timeout(200)
    assert states(made) == ["unreviewed"] * 4


@pytest.mark.long
def test_axe_finds_nothing_before_and_after_decisions(inbox: Page, made: list[Memory]) -> None:
    axe(inbox)
    press(inbox, "j", "a")
    settled(inbox, "Approved")
    inbox.wait_for_load_state("networkidle")
    press(inbox, "f")
    axe(inbox)
    inbox.wait_for_load_state("networkidle")
    inbox.goto(inbox.url + "?group=memory&q=path:/notes")
    axe(inbox)
    inbox.locator("summary", has_text="All that match").click()
    inbox.get_by_role("button", name="Approve all…").click()
    expect(inbox.get_by_role("heading", name="Approve 4 versions?")).to_be_visible()
    axe(inbox)
    inbox.get_by_role("link", name="Cancel").click()
    inbox.get_by_label("All on this page").check()
    inbox.get_by_role("button", name="Approve selected").click()
    expect(inbox.locator(".banner", has_text="Approved 4 versions.")).to_be_visible()
    axe(inbox)
    inbox.locator(".banner-undo").click()
    axe(inbox)
    inbox.goto(inbox.url.partition("/stores/")[0] + version_of(made[0]))
    axe(inbox)


@pytest.mark.long
def test_all_that_match_and_the_flag_without_script(
    browser: Browser, live_server: LiveServer, alice: User, made: list[Memory]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = opened(context.new_page(), live_server, alice)
    page.locator("summary", has_text="All of them").click()
    page.get_by_role("button", name="Flag all…").click()
    expect(page.get_by_role("heading", name="Flag 4 memories?")).to_be_visible()
    page.get_by_label("What is wrong?").fill("Ask the shop")
    page.get_by_role("button", name="Flag 4 memories").click()
    expect(page.locator(".banner", has_text="Flagged 4 memories.")).to_be_visible()
    page.locator(".review-form").first.get_by_role("button", name="Revert").click()
    expect(page.locator(".banner", has_text="Reverted version 1 of /notes/a.md.")).to_be_visible()
    page.locator(".banner-undo").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("h3", has_text="/notes/a.md")).to_be_visible()
    context.close()


@pytest.fixture
def beside(browser: Browser, live_server: LiveServer, bob: User, store: MemoryStore, made: list[Memory]) -> Page:
    """A second browser, in which Bob, a curator, has opened the same inbox."""
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    context: BrowserContext = browser.new_context(reduced_motion="reduce")
    page = opened(context.new_page(), live_server, bob)
    page.set_default_timeout(PATIENCE)
    return page


def test_two_people_at_one_inbox_lose_no_decision(
    inbox: Page, beside: Page, made: list[Memory], alice: User, bob: User
) -> None:
    press(inbox, "j")
    expect(inbox.locator("[data-review-item]:focus-within")).to_be_visible()
    wait_until(lambda: Claim.objects.count() == 1)
    press(beside, "j")
    expect(beside.get_by_text("Alice is looking at this")).to_be_visible()
    press(beside, "a")
    expect(beside.get_by_role("alert").filter(has_text="Alice is looking at this right now.")).to_be_visible()
    assert states(made)[0] == "unreviewed"
    beside.get_by_role("button", name="Approve anyway").press("Enter")
    settled(beside, "Approved version 1 of /notes/a.md.")

    inbox.get_by_placeholder("Note (optional)").first.fill("Not like this")
    inbox.locator(".review-form").first.get_by_role("button", name="Revert").press("Enter")
    refusal = inbox.get_by_role("alert").filter(has_text="Bob approved this version")
    expect(refusal).to_be_visible()
    expect(refusal).to_contain_text("Not like this")

    has_focus(beside, "/notes/b.md")
    press(beside, "r")
    settled(beside, "Reverted version 1 of /notes/b.md.")
    inbox.locator("[data-review-item] h3 a", has_text="/notes/b.md").focus()
    settled(inbox, "Bob reverted this version")

    has_focus(beside, "/notes/c.md")
    inbox.locator("[data-review-item] h3 a", has_text="/notes/d.md").first.focus()
    press(inbox, "a")
    settled(inbox, "Approved version 1 of /notes/d.md.")
    assert states(made) == ["approved", "reverted", "unreviewed", "approved"]
    decided = Review.objects.order_by("seq").values_list("by", "decision")
    assert list(decided) == [(bob.pk, "approved"), (bob.pk, "reverted"), (alice.pk, "approved")]
    told = AuditEntry.objects.filter(command__in=("approve", "revert")).order_by("seq")
    assert [entry.author_id for entry in told] == [bob.pk, bob.pk, alice.pk]
    beside.context.close()


@pytest.mark.long
def test_an_answer_for_an_item_that_has_been_replaced_in_the_meantime_changes_nothing(
    inbox: Page, made: list[Memory]
) -> None:
    held: list[Route] = []
    inbox.route("**/review/claim", lambda route: held.append(route) if not held else route.continue_())
    press(inbox, "j")
    press(inbox, "a")
    settled(inbox, "Approved version 1 of /notes/a.md.")
    (claim,) = held
    with inbox.expect_response("**/review/claim"):
        claim.continue_()
    inbox.wait_for_load_state("networkidle")
    settled(inbox, "Approved version 1 of /notes/a.md.")
    has_focus(inbox, "/notes/b.md")
    expect(inbox.locator("#review-count")).to_have_text("4 await review")


@pytest.mark.push
@pytest.mark.parametrize("width", [pytest.param(390, marks=pytest.mark.long), 320])
def test_on_a_telephone_every_choice_of_the_list_is_on_the_screen(inbox: Page, width: int) -> None:
    inbox.set_viewport_size({"width": width, "height": 844})
    choices = inbox.locator(".review-bar .segment")
    places = [choice.bounding_box() for choice in choices.all()]
    assert len(places) == 8
    assert all(place and place["x"] >= 0 and place["x"] + place["width"] <= width for place in places)
    if width == 390:
        assert len({place["y"] for place in places if place}) == 2, "two rows"
        first, views = inbox.locator("main .diff").first.bounding_box(), inbox.locator(".saved-views").bounding_box()
        assert first and first["y"] < 620, "the first change is on the first screen"
        assert views and views["y"] < min(place["y"] for place in places if place), "beside the further filters"


@pytest.mark.long
def test_on_a_telephone_the_filter_and_its_chips_lie_within_the_screen(inbox: Page, live_server: LiveServer) -> None:
    inbox.set_viewport_size({"width": 390, "height": 844})
    inbox.goto(f"{live_server.url}/review?q=by:agent in /notes/ last week is:unreviewed")
    band = inbox.locator("main .filter-bar, main .filter-bar button, main .filter-input, main [class*=chip]")
    places = [part.bounding_box() for part in band.all() if part.is_visible()]
    assert len(places) >= 3
    assert all(place and place["x"] >= 0 and place["x"] + place["width"] <= 390 for place in places)
    assert inbox.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.push
def test_a_decision_has_its_undo_where_the_answer_to_a_claim_came_before_it(
    page: Page, live_server: LiveServer, store: MemoryStore, key: str, alice: User
) -> None:
    caller = Caller(store, key, session="run-1")
    caller.create("/d.md", "one\n")
    caller.replace("/d.md", "one", "two")
    inbox = opened(page, live_server, alice)
    claims: list[Route] = []
    decisions: list[tuple[Route, APIResponse]] = []
    inbox.route("**/review/claim", lambda route: claims.append(route) if not claims else route.continue_())
    inbox.route("**/stores/*/review/decide", lambda route: decisions.append((route, route.fetch())))
    first = inbox.locator("[data-review-item]", has_text="version 1").first
    first.get_by_role("button", name="Approve").click()  # the click gives the focus, and the focus claims
    wait_until(lambda: bool(decisions) or inbox.wait_for_timeout(20) or False)
    with inbox.expect_response("**/review/claim"):
        claims[0].continue_()
    inbox.wait_for_timeout(200)
    (decision, answer) = decisions[0]
    decision.fulfill(response=answer)
    settled(inbox, "Approved version 1 of /d.md.")
    expect(inbox.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    expect(inbox.get_by_role("button", name=re.compile("^Approve"))).to_have_text(["Approve selected", "Approvea"])

"""An administrator's path: a first policy, rehearsed, saved, run now, its reasons read, and all of it taken back."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.core.rules import holds
from memoryhub.actions.retention import runs
from memoryhub.actions.retention.runs import clock
from memoryhub.models import Hold, HoldKind, Memory, MemoryStore, RetentionPolicy, Run, User
from tests.support.browser import axe, fits, sign_in_as
from tests.web.memories.pages import act
from tests.web.retention.pages import begun, policy, some, url

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User, store: MemoryStore) -> Page:
    """Alice's browser. Twelve memories stay, three are old, and the clock is to be trusted."""
    some(store, 12, "/kept")
    some(store, 3)
    clock.accept(timezone.now())
    sign_in_as(page.context, alice, live_server.url)
    return page


def is_sound(page: Page) -> None:
    axe(page)
    fits(page)


def finished(run: Run) -> None:
    while runs.step(run.pk, timezone.now()):
        pass


def test_from_a_first_policy_to_taking_the_run_back(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    desk.goto(live_server.url + reverse("store", args=[store.id]))
    desk.get_by_role("link", name="Settings", exact=True).click()
    desk.get_by_role("link", name="Retention", exact=True).click()
    expect(desk.get_by_role("heading", name="Nothing expires")).to_be_visible()
    desk.get_by_role("link", name="Forget what nobody reads").click()
    pattern = desk.get_by_label(re.compile("Which memories"))
    pattern.press_sequentially("/old/")
    expect(desk.get_by_text("3 memories match now.")).to_be_visible()
    desk.get_by_role("button", name="Rehearse").click()
    expect(desk.get_by_role("heading", name="What it would do")).to_be_visible()
    expect(desk.locator(".difference-going")).to_contain_text("/old/0.md")
    is_sound(desk)
    assert not RetentionPolicy.objects.exists()
    desk.get_by_role("button", name="Save this policy").click()
    expect(desk.get_by_text("was saved. It takes effect with the next run.")).to_be_visible()
    is_sound(desk)

    desk.get_by_role("link", name="Run now").click()
    desk.get_by_role("button", name="Run now").click()
    expect(desk.get_by_text("0 of 3 done:")).to_be_visible()
    finished(Run.objects.get())
    expect(desk.get_by_text("Done", exact=True)).to_be_visible()
    expect(desk.get_by_role("link", name="/old/0.md")).to_be_visible()
    expect(
        desk.get_by_text("never read since it was created or restored on").or_(desk.get_by_text("not read since")).first
    ).to_be_visible()
    is_sound(desk)
    assert Memory.objects.live().count() == 12
    desk.get_by_role("button", name="Undo this run").click()
    expect(desk.get_by_text("3 memories are back.")).to_be_visible()
    assert Memory.objects.live().count() == 15

    desk.get_by_role("link", name="Retention", exact=True).first.click()
    desk.get_by_role("link", name="Delete Forget what nobody reads").click()
    is_sound(desk)
    desk.get_by_role("button", name="Delete this policy").click()
    expect(desk.get_by_role("link", name="Undo…")).to_be_visible()


@pytest.mark.long
def test_a_guard_is_answered_and_a_memory_is_held(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    memory = Memory.objects.at("/old/0.md").get()
    desk.goto(live_server.url + url("memory", store.pk, memory.pk))
    desk.get_by_role("link", name="Hold", exact=True).click()
    expect(desk.get_by_label(re.compile("Legal hold"))).to_be_checked()
    desk.get_by_label("Why", exact=True).fill("Case 17")
    desk.get_by_role("button", name="Put a legal hold").click()
    expect(desk.get_by_text("/old/0.md is on legal hold.")).to_be_visible()
    is_sound(desk)
    desk.get_by_role("link", name="Release /old/0.md").click()
    is_sound(desk)
    policy(store, "Everything", expire_unread_days=90)
    run = begun(store)
    for address in (url("memory", store.pk, memory.pk), url("delete_memory", store.pk, memory.pk)):
        desk.goto(live_server.url + address)
        expect(desk.get_by_text("Case 17").first).to_be_visible()
        is_sound(desk)
    desk.goto(live_server.url + url("explain_path", store.pk) + "?path=/old/0.md")
    is_sound(desk)
    desk.goto(live_server.url + url("retention", store.pk))
    desk.get_by_role("link", name="Open it").first.click()
    expect(desk.get_by_text("14 removals at once are more than usual")).to_be_visible()
    is_sound(desk)
    desk.get_by_role("button", name="Go on").click()
    expect(desk.get_by_text("The run continues.")).to_be_visible()
    finished(run)
    assert list(Memory.objects.live().values_list("path", flat=True)) == ["/old/0.md"]


@pytest.mark.long
def test_it_works_without_script(browser: Browser, live_server: LiveServer, store: MemoryStore, alice: User) -> None:
    some(store, 12, "/kept")
    some(store, 3)
    holds.place(store.pk, act(), kind=HoldKind.PIN, reason="needed", path="/kept")
    clock.accept(timezone.now())
    context = browser.new_context(java_script_enabled=False)
    sign_in_as(context, alice, live_server.url)
    desk = context.new_page()
    desk.goto(live_server.url + url("new_policy", store.pk))
    desk.get_by_label("Name", exact=True).fill("Old")
    desk.get_by_role("checkbox", name="Expire memories that no agent has read for").check()
    desk.get_by_role("spinbutton", name="Expire memories that no agent has read for").fill("90")
    desk.get_by_role("button", name="Save", exact=True).click()
    desk.get_by_role("button", name="Save this policy").click()
    desk.get_by_role("link", name="Run now").click()
    desk.get_by_role("button", name="Run now").click()
    run = Run.objects.get()
    assert "Reload the page" in desk.content()
    finished(run)
    desk.reload()
    assert "Undo this run" in desk.content()
    desk.get_by_role("button", name="Undo this run").click()
    assert "3 memories are back." in desk.content()
    desk.goto(live_server.url + url("holds", store.pk))
    desk.get_by_role("link", name="Unpin /kept").click()
    desk.get_by_role("button", name="Remove the pin").click()
    assert Hold.objects.active(timezone.now()).count() == 0
    context.close()


@pytest.mark.push
def test_typing_a_number_ticks_its_box(desk: Page, live_server: LiveServer, store: MemoryStore) -> None:
    desk.goto(live_server.url + url("new_policy", store.pk))
    box = desk.get_by_role("checkbox", name="Expire memories that no agent has read for")
    number = desk.get_by_role("spinbutton", name="Expire memories that no agent has read for")
    expect(box).not_to_be_checked()
    number.fill("90")
    expect(box).to_be_checked()
    box.uncheck()
    number.focus()
    expect(box).not_to_be_checked()
    expect(desk.get_by_role("checkbox", name="Remove from the trash")).not_to_be_checked()

"""The reviewer's day on demo data, in a real browser without a mouse: from the inbox to a line undone and on record."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.actions.core.audit import Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.demo import load, story, texts
from memoryhub.models import AuditChain, AuditEntry, Door, Memory, MemoryStore, MemoryVersion, Role, Session, User
from tests.support.browser import PATIENCE, axe, press, sign_in_as
from tests.support.fixtures import PASSWORD
from tests.web.memories.pages import act, text_of

pytestmark = pytest.mark.browser

POISON = texts.POISONED.strip()
PATH, NOTES = "/refund_policies.xml", "/customers/northwind.md"
CLOSE = 8
"""How many times a person presses one key at most to reach what is near: a list of some items is walked by `j`."""


@pytest.fixture
def carol(db: None) -> User:
    """A curator of both stores of the demo, and of nothing else."""
    load.load(timezone.now())
    by: dict[str, Any] = {"actor": Actor.system("tests"), "door": Door.COMMAND, "at": timezone.now()}
    carol = people.create_user("carol@example.com", name="Carol", password=PASSWORD, **by)
    for store in MemoryStore.objects.all():
        keys_and_roles.set_role(store, carol, Role.CURATOR, **by)
    return carol


@pytest.fixture
def service(carol: User) -> MemoryStore:
    """The store in which a line was poisoned."""
    return MemoryStore.objects.get(name=story.SERVICE)


@pytest.fixture
def memory(service: MemoryStore) -> Memory:
    """The memory that has the line."""
    return Memory.objects.filter(store=service).at(PATH).get()


@pytest.fixture
def desk(page: Page, live_server: LiveServer, carol: User) -> Page:
    """A browser in which Carol has just signed in."""
    sign_in_as(page.context, carol, live_server.url)
    page.goto(live_server.url)
    return page


@pytest.fixture
def plain(browser: Browser, live_server: LiveServer, carol: User) -> Iterator[Page]:
    """The same in a browser that runs no scripts."""
    context: BrowserContext = browser.new_context(java_script_enabled=False)
    sign_in_as(context, carol, live_server.url)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(live_server.url)
    yield page
    context.close()


def has_focus(target: Locator) -> bool:
    return bool(target.evaluate("element => element.contains(document.activeElement)"))


def press_until(page: Page, key: str, target: Locator, most: int = CLOSE) -> None:
    """Presses a key until the target, or something in it, has the focus."""
    for _ in range(most):
        press(page, key)
        if has_focus(target):
            return
    raise AssertionError(f"{most} times {key} do not lead to {target}")


def skip_to_content(page: Page) -> None:
    press(page, "Tab", "Enter")
    expect(page.locator("main")).to_be_focused()


def arrive(page: Page, heading: str | re.Pattern[str]) -> None:
    """The page has come, and its keys work."""
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    page.wait_for_load_state("load")


def see(page: Page, heading: str | re.Pattern[str]) -> None:
    """A page that `test_browser_pages` does not open has come, and is sound in both themes."""
    arrive(page, heading)
    axe(page)


def item_of(page: Page, path: str) -> Locator:
    return page.locator("[data-review-item]", has=page.get_by_role("heading", name=path, exact=True))


def waiting(session: str) -> list[str]:
    """The paths of what a session wrote and nobody has looked at."""
    entries = AuditEntry.objects.filter(session=Session.objects.get(name=session).pk).values("seq")
    versions = MemoryVersion.objects.filter(store__name=story.SERVICE, seq__in=entries).unreviewed()
    return sorted(path or "" for path in versions.values_list("path", flat=True))


def all_chains_are_right() -> bool:
    return all(verify.verify(chain.pk)[1] is None for chain in AuditChain.objects.all())


@pytest.mark.long
def test_a_poisoned_line_is_found_understood_and_undone_without_the_mouse(
    desk: Page, live_server: LiveServer, service: MemoryStore, memory: Memory, carol: User
) -> None:
    assert waiting("ticket-4498") == [NOTES, PATH]
    finds_the_line(desk)
    learns_who_has_seen_it(desk)
    entry = undoes_the_session(desk, service)
    assert (entry.author_id, entry.command, entry.note) == (carol.pk, "undo", "Nobody agreed to this")
    finds_the_entry_again(desk, entry)
    sees_that_the_line_is_gone(desk, memory)
    assert waiting("ticket-4498") == []
    assert waiting("ticket-4503") == ["/tickets/4503.md"]
    assert all_chains_are_right()


def finds_the_line(desk: Page) -> None:
    """From the inbox to the item, its version, and the line in the blame of the memory."""
    arrive(desk, "Today")
    press(desk, "g", "r")
    arrive(desk, "Review")
    item = item_of(desk, PATH)
    expect(item).to_contain_text(POISON)
    expect(item).to_contain_text("ticket-4498")
    press_until(desk, "j", item)
    press(desk, "Enter")
    arrive(desk, re.compile("^Version 3 of refund_policies.xml"))
    press(desk, "m")
    arrive(desk, "refund_policies.xml")
    press(desk, "b")
    arrive(desk, "Who wrote refund_policies.xml")
    line = desk.locator("#L13")
    expect(line.locator("code")).to_have_text(POISON)
    expect(line.locator(".blame-meta")).to_contain_text(story.SUPPORT)
    expect(line.locator(".blame-session")).to_have_text("ticket-4498")
    press_until(desk, "j", line)


def learns_who_has_seen_it(desk: Page) -> None:
    """From the line to the sessions that saw it, and to the one that wrote it."""
    press(desk, "w")
    arrive(desk, "Who has seen this line")
    expect(desk.locator(".readers-text")).to_have_text(POISON)
    expect(desk.locator(".readers-facts")).to_contain_text("in session ticket-4498")
    victim = desk.locator(".readers-group", has=desk.get_by_role("link", name="ticket-4503", exact=True))
    expect(victim).to_contain_text("all of version 3")
    expect(victim.locator(".readers-writes")).to_contain_text("/tickets/4503.md")
    press_until(desk, "j", victim)
    press(desk, "s")
    arrive(desk, "Session ticket-4498")


def undoes_the_session(desk: Page, service: MemoryStore) -> AuditEntry:
    """From the session to the preview, and through it to the entry."""
    before = AuditEntry.objects.of_chain(service.pk).newest()[0].seq
    press(desk, "u")
    arrive(desk, re.compile("^Undo .*ticket-4498"))
    expect(desk.get_by_label("What will change")).to_have_text(re.compile("2 memories change"))
    changes = desk.locator(".undo-change")
    expect(changes.locator("h2")).to_have_text([NOTES, PATH])
    expect(changes.locator(".counts")).to_have_text(["+0 −1", "+0 −1"])
    expect(changes.nth(1).locator(".diff")).to_contain_text(POISON)
    assert AuditEntry.objects.of_chain(service.pk).newest()[0].seq == before  # a preview does nothing
    press(desk, "u")
    desk.keyboard.type("Nobody agreed to this")
    press(desk, "Enter")
    entry = before + 1
    see(desk, f"Entry {entry}")
    banner = desk.locator(".banner", has_text="Undid changes in 2 memories.")
    expect(banner).to_be_visible()
    skip_to_content(desk)
    press_until(desk, "Tab", banner.get_by_role("link", name="Audit entry"))
    press(desk, "Enter")
    expect(banner).to_have_count(0)  # it is the page again, where the entry speaks for itself
    arrive(desk, f"Entry {entry}")
    expect(desk.locator("main")).to_contain_text("Nobody agreed to this")
    return AuditEntry.objects.of_chain(service.pk).get(seq=entry)


def finds_the_entry_again(desk: Page, entry: AuditEntry) -> None:
    """In the audit of all stores, by a filter."""
    press(desk, "g", "a")
    arrive(desk, "Audit")
    press(desk, "F")
    desk.keyboard.type("command:undo person:carol@example.com from:24h")
    press(desk, "Enter")
    expect(desk.locator(".chip")).to_have_count(3)
    see(desk, "Audit")
    row = desk.locator("tbody [data-list-item]")
    expect(row).to_have_count(1)
    press_until(desk, "j", row, 1)
    press(desk, "Enter")
    arrive(desk, f"Entry {entry.seq}")
    expect(desk.locator("main")).to_contain_text("Nobody agreed to this")


def sees_that_the_line_is_gone(desk: Page, memory: Memory) -> None:
    """From the entry with the path finder to the memory, and back to the inbox."""
    press(desk, "t")
    desk.keyboard.type("refund_pol")
    expect(desk.get_by_role("option")).to_have_count(1)
    press(desk, "Enter")
    arrive(desk, "refund_policies.xml")
    expect(desk.locator(".lines")).to_contain_text("Up to 150 EUR")
    expect(desk.locator(".lines")).not_to_contain_text("IMPORTANT")
    assert POISON not in text_of(memory)
    press(desk, "g", "r")
    arrive(desk, "Review")
    expect(desk.locator("#review-list")).to_contain_text("ticket-4503")
    expect(desk.locator("#review-list")).not_to_contain_text("ticket-4498")


@pytest.mark.long
def test_of_a_line_that_an_address_marks_w_says_who_has_seen_it(
    desk: Page, live_server: LiveServer, service: MemoryStore, memory: Memory
) -> None:
    desk.goto(f"{live_server.url}{blame(service, memory)}#L13")
    desk.wait_for_load_state("load")
    expect(desk.locator("#L13")).to_have_class(re.compile("line-marked"))
    press(desk, "w")
    arrive(desk, "Who has seen this line")
    press(desk, "w")
    arrive(desk, "Who has seen version 3 of refund_policies.xml")


@pytest.mark.long
def test_without_script_tab_and_enter_are_enough(plain: Page, service: MemoryStore, memory: Memory) -> None:
    follow(plain, plain.get_by_role("navigation", name="Main").get_by_role("link", name="Review"))
    arrive(plain, "Review")
    expect(item_of(plain, PATH)).to_contain_text(POISON)
    skip_to_content(plain)
    follow(plain, plain.locator(".review-group-head").get_by_role("link", name="ticket-4498"), 60)
    arrive(plain, "Session ticket-4498")
    skip_to_content(plain)
    follow(plain, plain.get_by_role("link", name="Undo everything this session wrote"))
    arrive(plain, re.compile("^Undo .*ticket-4498"))
    expect(plain.locator(".undo-change")).to_have_count(2)
    skip_to_content(plain)
    follow(plain, plain.get_by_role("button", name="Undo changes in 2 memories"), 30)
    expect(plain.get_by_role("status")).to_contain_text("Undid changes in 2 memories.")
    arrive(plain, f"Entry {newest_of(service, 'undo').seq}")
    assert POISON not in text_of(memory)
    assert waiting("ticket-4498") == []


@pytest.mark.long
def test_without_script_one_version_is_reverted_from_the_inbox(
    plain: Page, service: MemoryStore, memory: Memory
) -> None:
    follow(plain, plain.get_by_role("navigation", name="Main").get_by_role("link", name="Review"))
    arrive(plain, "Review")
    skip_to_content(plain)
    follow(plain, item_of(plain, PATH).get_by_role("button", name="Revert"), 60)
    expect(plain.locator(".banner", has_text=f"Reverted version 3 of {PATH}.")).to_be_visible()
    skip_to_content(plain)
    follow(plain, plain.locator(".banner").get_by_role("link", name="Audit entry"))
    arrive(plain, f"Entry {newest_of(service, 'revert').seq}")
    assert POISON not in text_of(memory)
    assert waiting("ticket-4498") == [NOTES]
    assert all_chains_are_right()


def newest_of(store: MemoryStore, command: str) -> AuditEntry:
    """The newest entry of a command; an entry that resolves its findings may come after it."""
    return AuditEntry.objects.of_chain(store.pk).of_command(command).newest()[0]


def follow(page: Page, target: Locator, most: int = CLOSE) -> None:
    press_until(page, "Tab", target, most)
    press(page, "Enter")


def inbox(service: MemoryStore, memory: Memory) -> str:
    return reverse("review")


def blame(service: MemoryStore, memory: Memory) -> str:
    return reverse("blame", args=[service.pk, memory.pk])


def session(service: MemoryStore, memory: Memory) -> str:
    return reverse("session", args=[Session.objects.get(name="ticket-4498").pk])


def preview(service: MemoryStore, memory: Memory) -> str:
    return reverse("undo_session", args=[service.pk, Session.objects.get(name="ticket-4498").pk])


def moment(service: MemoryStore, memory: Memory) -> str:
    return reverse("moment", args=[service.pk, 5])


def search(service: MemoryStore, memory: Memory) -> str:
    return reverse("search") + "?q=refunds"


EVERYWHERE = {"?", "/", "t", "g s", "g r", "g f", "g o", "g a"}


KEYS: dict[Callable[[MemoryStore, Memory], str], set[str]] = {
    inbox: {"j k", "Enter", "a", "r", "e", "f", "x"},
    blame: {"j k", "Enter", "[", "y", "b", "m", "w"},
    session: {"j k", "Enter", "u"},
    preview: {"u"},
    moment: {"j k", "Enter", "[", "]"},
    search: {"j k", "Enter"},
}


@pytest.mark.long
def test_a_question_mark_lists_the_keys_of_a_page(
    desk: Page, live_server: LiveServer, service: MemoryStore, memory: Memory
) -> None:
    for address, keys in KEYS.items():
        desk.goto(live_server.url + address(service, memory))
        desk.wait_for_load_state("load")
        assert listed(desk) >= EVERYWHERE | keys, address.__name__


@pytest.mark.long
def test_a_question_mark_lists_the_keys_of_a_conflict(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(live_server.url + reverse("edit_memory", args=[memory.store_id, memory.pk]))
    editor = desk.locator(".cm-content")
    editor.focus()
    press(desk, "Control+End")
    desk.keyboard.type("mine")
    curation.edit(memory.store_id, memory.pk, text_of(memory) + "theirs\n", memory.sha256, act())
    press(desk, "Control+s")
    expect(desk.locator("[data-merge-left]")).to_be_visible()
    desk.wait_for_load_state("load")
    assert listed(desk) >= EVERYWHERE - {"/"} | {"n", "p", "F7 Shift F7", "Ctrl S", "m"}


def listed(page: Page) -> set[str]:
    """What the dialog behind `?` lists: the keys of each row, each row with words."""
    press(page, "?")
    dialog = page.get_by_role("dialog", name="Help")
    expect(dialog).to_be_visible()
    rows = dialog.locator(".shortcut-list > div:visible")
    words = rows.locator("dt").all_inner_texts()
    assert all(word.strip() for word in words), words
    return {" ".join(row.locator("kbd").all_inner_texts()) for row in rows.all()}

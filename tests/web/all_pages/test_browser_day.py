"""A person's day in a real browser: sign in, browse, edit, meet a conflict, compare, restore, filter, export."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Door, Memory, MemoryStore, MemoryVersion, User
from tests.support.browser import press, sign_in_as
from tests.support.fixtures import AT, PASSWORD

pytestmark = pytest.mark.browser

TEXT = "# Policies\n\n- Up to 120 EUR: decide alone\n- Above: ask the shift lead\n"


@pytest.fixture
def memory(store: MemoryStore, alice: User) -> Memory:
    """A memory of Alice's store."""
    act = Act(Actor.person(alice), Door.WEB, AT)
    done = curation.create(store.id, "/policies/refunds.md", TEXT, act)
    return Memory.objects.get(pk=done.memory)


@pytest.fixture
def desk(page: Page, live_server: LiveServer, alice: User) -> Page:
    """A browser in which Alice has signed in, on the list of stores."""
    sign_in_as(page.context, alice, live_server.url)
    page.goto(live_server.url + "/stores")
    return page


def write(page: Page, text: str) -> None:
    """Replaces what the editor holds, as a person would."""
    editor = page.locator(".cm-content")
    editor.click()
    press(page, "Control+a")
    page.keyboard.insert_text(text)


@pytest.mark.both_databases
def test_a_person_signs_in_and_out(page: Page, live_server: LiveServer, alice: User, store: MemoryStore) -> None:
    page.goto(f"{live_server.url}/stores/{store.id}/")
    page.get_by_label("E-mail").fill("alice@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{live_server.url}/stores/{store.id}/")
    page.locator("summary", has=page.locator(".avatar")).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    assert list(AuditEntry.objects.filter(chain="hub", author_id=alice.id).values_list("command", flat=True)) == [
        "sign_in",
        "sign_out",
    ]


def test_a_person_browses_to_a_memory(desk: Page, memory: Memory) -> None:
    desk.get_by_role("link", name="Support").first.click()
    desk.get_by_role("link", name="policies").last.click()
    desk.get_by_role("link", name="refunds.md").last.click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("refunds.md")
    expect(desk.locator(".lines")).to_contain_text("- Above: ask the shift lead")
    desk.get_by_role("link", name="Rendered").click()
    expect(desk.locator(".markdown h2")).to_have_text("Policies")
    desk.go_back()
    expect(desk.locator(".lines")).to_be_visible()


def test_the_tree_opens_lazily_and_with_the_keyboard(desk: Page, memory: Memory) -> None:
    desk.get_by_role("link", name="Support").first.click()
    directory = desk.get_by_role("treeitem").first
    directory.focus()
    press(desk, "ArrowRight")
    expect(desk.get_by_role("treeitem", name=re.compile("refunds.md"))).to_be_visible()
    press(desk, "ArrowRight")
    press(desk, "Enter")
    expect(desk).to_have_url(re.compile(memory.id))


@pytest.mark.both_databases
def test_an_edit_makes_a_version_with_a_note(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}")
    desk.get_by_role("link", name="Edit").click()
    write(desk, TEXT.replace("120", "150"))
    desk.get_by_label("Note").fill("Agreed on Monday")
    press(desk, "Control+s")
    expect(desk.locator(".lines")).to_contain_text("150 EUR")
    version = MemoryVersion.objects.filter(memory=memory).order_by("-number").select_related("text")[0]
    assert (version.number, version.content) == (2, TEXT.replace("120", "150"))
    entry = AuditEntry.objects.get(chain=memory.store_id, seq=version.seq)
    assert (entry.command, entry.note, entry.label) == ("edit", "Agreed on Monday", "Alice")


@pytest.mark.both_databases
def test_a_conflict_shows_both_sides_and_loses_nothing(
    desk: Page, live_server: LiveServer, memory: Memory, superuser: User
) -> None:
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/edit")
    write(desk, TEXT + "- Mine\n")
    theirs = Act(Actor.person(superuser), Door.WEB, AT)
    curation.edit(memory.store_id, memory.id, TEXT + "- Theirs\n", memory.sha256, theirs)
    desk.get_by_role("button", name="Save").click()
    expect(desk.get_by_text("You opened version 1. Since then, version 2 was saved.")).to_be_visible()
    expect(desk.locator(".merge-theirs")).to_contain_text("- Theirs")
    expect(desk.locator(".merge-mine")).to_contain_text("- Mine")
    desk.locator(".merge-conflict").get_by_role("button", name="Take mine").click()
    desk.get_by_role("button", name="Save the merged text").click()
    expect(desk.locator(".lines")).to_contain_text("- Mine")
    texts = MemoryVersion.objects.filter(memory=memory).order_by("number").select_related("text")
    assert [version.content for version in texts] == [TEXT, TEXT + "- Theirs\n", TEXT + "- Mine\n"]


@pytest.mark.push
@pytest.mark.both_databases
def test_versions_are_compared_and_one_is_restored(
    desk: Page, live_server: LiveServer, memory: Memory, alice: User
) -> None:
    act = Act(Actor.person(alice), Door.WEB, AT)
    curation.edit(memory.store_id, memory.id, TEXT.replace("120", "900"), memory.sha256, act)
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/versions")
    desk.get_by_role("button", name="Compare A with B").first.click()
    expect(desk.locator(".diff del")).to_have_text("120")
    expect(desk.locator(".diff ins")).to_have_text("900")
    desk.get_by_role("link", name="Split").click()
    expect(desk.locator(".diff-split")).to_be_visible()
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/versions/{memory.head_id}")
    desk.get_by_role("link", name=re.compile("Restore")).click()
    desk.get_by_role("button", name=re.compile("Restore version 1")).click()
    expect(desk.get_by_role("status")).to_be_visible()
    memory.refresh_from_db()
    assert (memory.version_count, memory.text.content) == (3, TEXT)


@pytest.mark.both_databases
def test_the_audit_is_filtered_and_exported(
    desk: Page, live_server: LiveServer, memory: Memory, store: MemoryStore
) -> None:
    desk.goto(f"{live_server.url}/stores/{store.id}/audit")
    desk.locator("#filter-words").fill("command:create person:alice@example.com")
    press(desk, "Enter")
    expect(desk.get_by_role("link", name="/policies/refunds.md").first).to_be_visible()
    expect(desk.locator("tbody tr")).to_have_count(1)
    with desk.expect_download() as download:
        desk.get_by_role("button", name="Export CSV").click()
    rows = download.value.path().read_text(encoding="utf-8").splitlines()
    assert len(rows) == 2
    assert "/policies/refunds.md" in rows[1]
    assert AuditEntry.objects.filter(command="export_audit").count() == 1


@pytest.mark.long
def test_an_entry_shows_the_call_and_what_it_changed(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}")
    desk.get_by_role("link", name="Audit of this path").click()
    desk.locator("tbody a.row-link").first.click()
    expect(desk.get_by_role("heading", level=1)).to_contain_text("Entry")
    expect(desk.locator(".diff")).to_contain_text("Up to 120 EUR")


@pytest.mark.push
def test_changes_are_stepped_through_by_keys(desk: Page, live_server: LiveServer, memory: Memory, alice: User) -> None:
    lines = [f"line {number}\n" for number in range(60)]
    act = Act(Actor.person(alice), Door.WEB, AT)
    curation.edit(memory.store_id, memory.id, "".join(lines), memory.sha256, act)
    lines[5], lines[50] = "five\n", "fifty\n"
    memory.refresh_from_db()
    curation.edit(memory.store_id, memory.id, "".join(lines), memory.sha256, act)
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/compare?from=2&to=3")
    for key, change in (("n", 1), ("n", 2), ("n", 2), ("p", 1)):
        press(desk, key)
        expect(desk).to_have_url(re.compile(f"#change-{change}$"))
    desk.get_by_role("link", name="Next change", exact=True).first.click()
    expect(desk.locator("tr:target")).to_contain_text("line 50")


@pytest.mark.push
def test_text_is_typed_pasted_and_replaced(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}/edit")
    editor = desk.locator(".cm-content")
    editor.click()
    press(desk, "Control+a")
    desk.keyboard.type("# One\n\n- **two** [three](x)\n")
    press(desk, "Control+a")
    press(desk, "Control+c")
    press(desk, "ArrowRight")
    press(desk, "Control+v")
    press(desk, "Control+Home")
    press(desk, "Control+Shift+ArrowRight")
    press(desk, "Control+Shift+ArrowRight")
    desk.keyboard.type("Zero")
    expect(desk.locator("textarea[name=text]")).to_have_value(re.compile(r"^Zero\n\n- \*\*two"))
    press(desk, "Control+z")
    expect(desk.locator("textarea[name=text]")).to_have_value(re.compile(r"^# One\n\n- \*\*two"))


def test_the_theme_is_chosen_without_a_flash(desk: Page) -> None:
    desk.locator("summary", has=desk.locator(".avatar")).click()
    desk.get_by_role("button", name="Dark").click()
    expect(desk.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_line_can_be_linked(desk: Page, live_server: LiveServer, memory: Memory) -> None:
    desk.goto(f"{live_server.url}/stores/{memory.store_id}/memories/{memory.id}#L3")
    desk.locator("#L4 > a").click(modifiers=["Shift"])
    expect(desk).to_have_url(re.compile("#L3-L4$"))

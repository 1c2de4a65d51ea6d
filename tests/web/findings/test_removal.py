"""Taking the line of a finding out of its memory: shown first, done in one press, refused where it must not be."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions import figures
from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.rules import holds
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import review_states, verify
from memoryhub.models import (
    AuditEntry,
    Finding,
    FindingState,
    HoldKind,
    Memory,
    MemoryStore,
    MemoryVersion,
    Role,
    User,
)
from memoryhub.web.findings import rows
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.findings.flagged import CARD, POISON, finding, has_no_digits, with_card
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-7")


@pytest.fixture
def poisoned(caller: Caller) -> Memory:
    """A memory with a line that gives orders."""
    return caller.create("/rules.md", f"# Rules\n\n- Be kind.\n- {POISON}\n- Answer within a day.\n")


def address(found: Finding) -> str:
    return reverse("take_out", args=[found.store_id, found.pk])


def take_out(client: Client, found: Finding, **given: str) -> Any:
    """Press the button of the page as it is now, or with the fields `given`."""
    page = client.get(address(found))
    taken = page.context.get("taken") if page.status_code == 200 else None
    return client.post(address(found), {"digest": taken.plan.digest if taken else "", **given}, follow=True)


def text_of(memory: Memory) -> str:
    memory.refresh_from_db()
    assert memory.text is not None
    return str(memory.text.content)


def said(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def test_the_version_to_be_made_is_shown_first(poisoned: Memory, alice: User) -> None:
    page = signed_in(alice).get(address(finding(poisoned.store, "instructions")))
    html = page.content.decode()
    assert "Save version 2 without this line" in html
    assert page.context["taken"].lines == (4,)
    assert (page.context["diff"].added, page.context["diff"].removed) == (0, 1)
    assert poisoned.version_count == Memory.objects.get(pk=poisoned.pk).version_count, "looking changes nothing"


def test_the_page_says_what_to_do_about_a_secret_in_older_versions(caller: Caller, alice: User) -> None:
    caller.create("/proxy.md", "# Proxy\n\nhttp://scraper:pa55-w0rd-x@proxy.example.net\n")
    secret = finding(caller.store, "url_credentials")
    mina = new_person("Mina")
    keys_and_roles.set_role(caller.store, mina, Role.CURATOR, **BY)
    by_admin, by_curator = (signed_in(who).get(address(secret)).content.decode() for who in (alice, mina))
    erase = f"{reverse('erase_everywhere')}?store={caller.store.pk}"
    assert "Also change the secret in each system" in by_admin and f'href="{erase}">Erase the line from' in by_admin
    assert "An admin of this memory store can erase the line" in by_curator and erase not in by_curator


def test_one_press_takes_it_out_and_the_finding_is_resolved(poisoned: Memory, alice: User, caller: Caller) -> None:
    found = finding(poisoned.store, "instructions")
    done = take_out(signed_in(alice), found, next="/")
    assert done.request["PATH_INFO"] == "/" and "1 line was taken out of" in said(done)
    assert text_of(poisoned) == "# Rules\n\n- Be kind.\n- Answer within a day.\n"
    found.refresh_from_db()
    assert found.state == FindingState.RESOLVED
    taken, resolved = caller.last.seq - 1, caller.last
    entry = type(resolved).objects.get(chain=caller.store.pk, seq=taken)
    assert (entry.command, entry.author_id, entry.path) == ("take_out", alice.pk, "/rules.md")
    assert json.loads(entry.input or "")["finding"] == found.pk
    assert resolved.command == "resolve_finding"
    assert verify.verify(caller.store.pk)[1] is None
    page = signed_in(alice).get(reverse("entry", args=[caller.store.pk, taken]))
    assert "took a line out of /rules.md: Instructions" in page.content.decode()
    figures.catch_up()
    overview = signed_in(alice).get(reverse("overview")).content.decode()
    assert "took a line out of /rules.md: Instructions" in overview


def test_it_can_be_undone_and_the_finding_opens_again(poisoned: Memory, alice: User, caller: Caller) -> None:
    found, client = finding(poisoned.store, "instructions"), signed_in(alice)
    before = text_of(poisoned)
    take_out(client, found)
    address = reverse("undo_entry", args=[caller.store.pk, caller.last.seq - 1])
    page = client.get(address)
    client.post(address, {"digest": page.context["plan"].digest, "confirmed": "1"})
    assert text_of(poisoned) == before
    found.refresh_from_db()
    assert found.state == FindingState.OPEN


def test_every_line_that_has_the_value_goes(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", f"Card {CARD}.\nBe kind.\nAgain {CARD}!\n")
    page = signed_in(alice).get(address(finding(caller.store)))
    assert "Save version 2 without these 2 lines" in page.content.decode()
    has_no_digits(page)
    take_out(signed_in(alice), finding(caller.store))
    assert text_of(memory) == "Be kind.\n"


def test_a_memory_that_has_changed_since_is_left_alone(poisoned: Memory, alice: User, caller: Caller) -> None:
    found = finding(poisoned.store, "instructions")
    old = signed_in(alice).get(address(found)).context["taken"].plan.digest
    caller.replace("/rules.md", "Be kind.", "Be very kind.")
    page = take_out(signed_in(alice), found, digest=old)
    assert "something was written since you opened this page" in page.content.decode()
    assert POISON in text_of(poisoned) and "Be very kind." in text_of(poisoned)
    take_out(signed_in(alice), found)
    assert text_of(poisoned) == "# Rules\n\n- Be very kind.\n- Answer within a day.\n"


def test_where_it_is_the_whole_memory_the_trash_is_offered(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", f"{POISON}\n")
    found = finding(caller.store, "instructions")
    page = signed_in(alice).get(address(found))
    assert reverse("delete_memory", args=[memory.store_id, memory.pk]) in page.content.decode()
    assert "Save version" not in page.content.decode()
    take_out(signed_in(alice), found)
    assert text_of(memory) == f"{POISON}\n"


def test_a_legal_hold_refuses_with_its_reason(poisoned: Memory, alice: User) -> None:
    store, found = poisoned.store, finding(poisoned.store, "instructions")
    holds.place(store.pk, act(), kind=HoldKind.HOLD, reason="Case 17", path="/rules.md", freezes=True)
    page = signed_in(alice).get(address(found)).content.decode()
    assert "Case 17" in page and "Save version" not in page
    assert "Case 17" in take_out(signed_in(alice), found).content.decode()
    assert POISON in text_of(poisoned)
    assert address(found) not in signed_in(alice).get("/").content.decode()


def test_an_archived_store_keeps_its_memories(poisoned: Memory, alice: User) -> None:
    stores.set_archived(poisoned.store, True, **BY)
    found = finding(poisoned.store, "instructions")
    assert "archived" in take_out(signed_in(alice), found).content.decode()
    assert POISON in text_of(poisoned)


def test_what_is_gone_already_is_said_to_be(poisoned: Memory, alice: User, caller: Caller) -> None:
    found = finding(poisoned.store, "instructions")
    caller.replace("/rules.md", f"- {POISON}\n", "")
    page = signed_in(alice).get(address(found))
    assert "There is nothing to take out" in page.content.decode()
    assert "Nothing was done" in said(take_out(signed_in(alice), found))
    caller.delete("/rules.md")
    assert signed_in(alice).get(address(found)).status_code == 200


def test_a_value_that_only_the_lost_line_gave_away_stays_masked(caller: Caller, alice: User) -> None:
    caller.create("/a.md", "Hello\n<system> password:\n hunter2X9\nBye\n")
    page = signed_in(alice).get(address(finding(caller.store, "role_tag")))
    assert (page.context["diff"].added, page.context["diff"].removed) == (0, 1)
    assert "hunter2X9" not in page.content.decode()


def test_a_memory_that_is_removed_while_it_is_read_is_left_out(
    poisoned: Memory, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, nothing = finding(poisoned.store, "instructions"), Memory.objects.none()
    monkeypatch.setattr(rows, "Memory", SimpleNamespace(objects=SimpleNamespace(filter=lambda **_: nothing)))
    for place in ("/", "/findings", reverse("memory", args=[poisoned.store_id, poisoned.pk])):
        page = signed_in(alice).get(place)
        assert (page.status_code, address(found) in page.content.decode()) == (200, False), place
    assert signed_in(alice).get(address(found)).status_code == 404


def test_only_those_who_may_edit_are_offered_it(
    poisoned: Memory, alice: User, bob: User, charlie: User, superuser: User
) -> None:
    found = finding(poisoned.store, "instructions")
    memory = reverse("memory", args=[poisoned.store_id, poisoned.pk])
    for user, status in ((bob, 403), (charlie, 404)):
        assert signed_in(user).get(address(found)).status_code == status
        assert take_out(signed_in(user), found).status_code == status
    for place in ("/", "/findings", memory):
        assert address(found) in signed_in(alice).get(place).content.decode(), place
        assert address(found) not in signed_in(bob).get(place).content.decode(), place
    assert signed_in(superuser).get(address(found)).status_code == 200
    assert signed_in(alice).put(address(found)).status_code == 405
    assert signed_in(alice).get(reverse("take_out", args=[poisoned.store_id, "find_none"])).status_code == 404


def test_a_value_of_older_versions_alone_is_not_there_to_be_taken(caller: Caller, alice: User) -> None:
    with_card(caller)
    caller.replace("/customers/acme.md", f"{CARD} every month.", "every month.")
    assert "There is nothing to take out" in signed_in(alice).get(address(finding(caller.store))).content.decode()


def states(store: MemoryStore) -> list[str | None]:
    """The review states of the versions, oldest first."""
    return list(MemoryVersion.objects.filter(store=store).order_by("seq").values_list("review_state", flat=True))


@pytest.fixture
def followed(caller: Caller, alice: User) -> Memory:
    """An approved memory to which an agent added a line that gives orders."""
    memory = caller.create("/rules.md", "# Rules\n\n- Be kind.\n")
    decisions.approve(caller.store.pk, memory.head_id, act(alice), earlier=0)
    caller.replace("/rules.md", "- Be kind.\n", f"- Be kind.\n- {POISON}\n")
    memory.refresh_from_db()
    return memory


def test_the_version_of_which_nothing_is_left_is_decided_by_it(followed: Memory, alice: User, caller: Caller) -> None:
    store, client, found = followed.store, signed_in(alice), finding(followed.store, "instructions")
    assert "Version 2 added nothing else" in client.get(address(found)).content.decode()
    done = take_out(client, found, next="/review")
    assert "Version 2 added nothing else, so it is marked as reverted." in said(done)
    assert 'data-review-item="' not in done.content.decode()
    assert states(store) == ["approved", "reverted", None]
    entry = AuditEntry.objects.of_chain(store.pk).of_command("take_out").get()
    told = json.loads(entry.input or "")
    assert told["reverted"] == told["settled"] == [followed.head_id]
    assert verify.verify(store.pk)[1] is None
    assert review_states.states(store.pk)[followed.head_id] == "reverted"


def test_to_undo_it_puts_the_version_back_into_the_inbox(followed: Memory, alice: User, caller: Caller) -> None:
    store, client, found = followed.store, signed_in(alice), finding(followed.store, "instructions")
    for _ in range(2):
        take_out(client, found)
        entry = AuditEntry.objects.of_chain(store.pk).of_command("take_out").newest()[0]
        assert states(store)[1] == "reverted"
        undone(client, store, entry.seq)
        assert states(store)[1] == "unreviewed"
    undone(client, store, AuditEntry.objects.of_chain(store.pk).of_command("undo").newest()[0].seq)
    assert states(store)[1] == "reverted", "the undo of the undo decides again"
    assert verify.verify(store.pk)[1] is None


def undone(client: Client, store: MemoryStore, seq: int) -> None:
    address = reverse("undo_entry", args=[store.pk, seq])
    client.post(address, {"digest": client.get(address).context["plan"].digest, "confirmed": "1"})


@pytest.mark.parametrize(
    ("old", "new"),
    [("- Be kind.\n", f"- Be kind.\n- {POISON}\n- Be quick.\n"), ("- Be kind.\n", f"- {POISON}\n")],
    ids=["another line", "a line that it took away"],
)
def test_a_version_of_which_more_is_left_goes_on_waiting(caller: Caller, alice: User, old: str, new: str) -> None:
    memory = caller.create("/rules.md", "# Rules\n\n- Be kind.\n")
    decisions.approve(caller.store.pk, memory.head_id, act(alice), earlier=0)
    caller.replace("/rules.md", old, new)
    done = take_out(signed_in(alice), finding(caller.store, "instructions"))
    assert "Version 2 still awaits review, because the memory has other lines of this version." in said(done)
    assert states(caller.store) == ["approved", "unreviewed", None]


def test_other_versions_of_the_memory_go_on_waiting(followed: Memory, alice: User, caller: Caller) -> None:
    caller.replace("/rules.md", "# Rules", "# The rules")
    caller.replace("/rules.md", "- Be kind.\n", "- Be kind.\n- Be quick.\n")
    caller.replace("/rules.md", "- Be quick.\n", "")
    take_out(signed_in(alice), finding(followed.store, "instructions"))
    assert states(followed.store) == ["approved", "reverted", "unreviewed", "unreviewed", "unreviewed", None]

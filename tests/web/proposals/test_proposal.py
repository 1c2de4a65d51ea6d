"""A proposal on its page: what it would change, and the decision of a person."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import Memory, MemoryStore, MemoryVersion, User
from tests.support.fixtures import BY, signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import HOSTILE, Caller
from tests.web.memories.pages import act
from tests.web.proposals.proposing import (
    LINES,
    begun,
    edit,
    moves,
    newest,
    proposes,
    refuse,
    replaces,
    send,
    state,
    texts,
    url_of,
)

pytestmark = pytest.mark.django_db

CARD = "5105 1051 0510 5100"
REFUNDS, PRICES, OLD, LEAVES = "/policies/refunds.md", "/policies/prices.md", "/policies/old.md", "/policies/leaves.md"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return begun(store, key, REFUNDS, PRICES, OLD, LEAVES)


@pytest.fixture
def proposal(caller: Caller) -> Caller:
    """A proposal that edits, makes, deletes and moves."""
    replaces(caller, REFUNDS, "two", "2")
    proposes(caller, "create", "/policies/new.md", file_text="brand new\n")
    proposes(caller, "delete", OLD)
    moves(caller, LEAVES, "/policies/moved.md")
    return caller


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def id_of(path: str) -> str:
    return str(Memory.objects.at(path).get().pk)


def shown(client: Client, store: MemoryStore, number: int = 1) -> str:
    response = client.get(url_of(store, number))
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_tells_each_change_and_changes_nothing(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    before, seq = texts(store), newest(store).seq
    page = curator.get(url_of(store))
    kinds = {one.outline.path: one.outline.kind for one in page.context["rows"]}
    assert kinds == {
        LEAVES: "moved", "/policies/new.md": "created", OLD: "deleted", REFUNDS: "modified",
    }  # fmt: skip
    html = page.content.decode()
    assert (
        "Support bot" in html
        and "proposes changes to 4 memories" in html
        and "Merge changes to 4 memories" in html
        and "run-7" in html
    )
    assert f"{LEAVES} → /policies/moved.md" in html and "brand new" in html
    assert all(reverse("entry", args=[store.pk, seq]) in html for seq in page.context["calls"])
    assert (texts(store), newest(store).seq) == (before, seq)


def test_one_press_merges_all_of_it(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    page = send(curator, store)
    assert texts(store) == {
        REFUNDS: LINES.replace("two", "2"), PRICES: LINES, "/policies/new.md": "brand new\n",
        "/policies/moved.md": LINES,
    }  # fmt: skip
    assert state(store) == ("merged", "")
    html = page.content.decode()
    assert "Merged proposal #1." in html and "Alice" in html and html.count(">merged</span>") == 4
    assert reverse("entry", args=[store.pk, newest(store).seq]) in html
    undo = reverse("undo_entry", args=[store.pk, newest(store).seq])
    fields = form_with(curator.get(undo).content.decode(), "digest")
    curator.post(undo, fields)
    assert texts(store) == dict.fromkeys((REFUNDS, PRICES, OLD, LEAVES), LINES)


def test_what_is_left_out_stays_and_the_page_says_so(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    page = send(curator, store, leave_out=f"{id_of(OLD)} {id_of(LEAVES)}")
    assert texts(store)[OLD] == texts(store)[LEAVES] == LINES and "2" in texts(store)[REFUNDS]
    assert state(store) == ("partly_merged", "")
    outcomes = {one.outline.path: one.outcome for one in page.context["rows"]}
    assert outcomes == {LEAVES: "left", OLD: "left", "/policies/new.md": "merged", REFUNDS: "merged"}
    assert "Merged 2 of 4 changes of proposal #1. Refused the other 2." in page.content.decode()


def test_a_new_memory_that_is_left_out_was_never_there(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    rows = curator.get(url_of(store)).context["rows"]
    new = next(one.row.change.memory for one in rows if one.outline.path == "/policies/new.md")
    page = send(curator, store, leave_out=new).content.decode()
    assert ">left out</span>" in page and "left as it was" not in page


def test_leaving_everything_out_decides_nothing(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, REFUNDS, "two", "2")
    page = send(curator, store, leave_out=id_of(REFUNDS))
    assert "every change is left out" in page.content.decode()
    assert state(store) == ("open", "")


def test_refusing_keeps_the_reason_and_what_was_proposed(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    before = texts(store)
    page = refuse(curator, store, note=f"Ask finance. {HOSTILE}")
    assert texts(store) == before and state(store)[0] == "refused"
    html = page.content.decode()
    assert "Refused proposal #1." in html and "Ask finance." in html and "<script>alert" not in html
    assert "brand new" in html and "data-undo-button" not in html
    assert newest(store).note == f"Ask finance. {HOSTILE}"


def test_a_reason_may_not_be_longer_than_other_notes(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    assert "at most 1,000" in refuse(curator, store, note="x" * 1001).content.decode()
    assert state(store) == ("open", "")


def test_a_change_that_a_later_one_replaced_is_named(caller: Caller, store: MemoryStore, curator: Client) -> None:
    for new in ("2", "II"):
        replaces(caller, REFUNDS, "two", new)
    earlier = reverse("entry", args=[store.pk, newest(store).seq - 1])
    replaces(caller, REFUNDS, "three", "3")
    for html in (shown(curator, store), send(curator, store).content.decode()):
        said = html.split("a later change replaced this earlier one, at least in part:", 1)[1].split("</p>")[0]
        assert re.findall(r'href="([^"]+)"', said) == [earlier]
    assert texts(store)[REFUNDS] == LINES.replace("two", "II").replace("three", "3")


def test_a_conflict_stays_when_the_agent_proposes_something_elsewhere(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    replaces(caller, REFUNDS, "one", "agent")
    edit(store, REFUNDS, "one", "person", alice)
    replaces(caller, REFUNDS, "seven", "VII")
    assert "The same lines were changed since the agent saw them." in shown(curator, store)
    assert "every change is left out" in send(curator, store).content.decode()
    assert texts(store)[REFUNDS] == LINES.replace("one", "person")
    replaces(caller, REFUNDS, "person", "asked")
    assert "The same lines were changed" not in shown(curator, store)
    send(curator, store)
    assert texts(store)[REFUNDS] == LINES.replace("one", "asked").replace("seven", "VII")


def test_a_conflict_stays_as_it_is_unless_the_proposed_lines_are_taken(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    for path in (REFUNDS, PRICES):
        replaces(caller, path, "two", "2")
        edit(store, path, "two", "II", alice)
    replaces(caller, OLD, "six", "6")
    page = shown(curator, store)
    assert page.count("The same lines were changed since the agent saw them.") == 2
    assert "Merge changes to 1 memory<" in page and "Take the proposed lines" in page
    send(curator, store, **{f"choice-{id_of(PRICES)}": "before"})
    assert texts(store)[REFUNDS] == LINES.replace("two", "II")
    assert texts(store)[PRICES] == LINES.replace("two", "2")
    assert texts(store)[OLD] == LINES.replace("six", "6")
    assert state(store) == ("partly_merged", "")


def test_lines_that_others_changed_elsewhere_stay(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    replaces(caller, REFUNDS, "two", "2")
    edit(store, REFUNDS, "six", "VI", alice)
    send(curator, store)
    assert texts(store)[REFUNDS] == LINES.replace("two", "2").replace("six", "VI")


def test_a_deleted_memory_comes_back_only_if_a_person_says_so(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    replaces(caller, REFUNDS, "two", "2")
    memory = Memory.objects.at(REFUNDS).get()
    curation.delete(store.pk, REFUNDS, act(alice))
    assert "The memory was deleted since the agent saw it." in shown(curator, store)
    send(curator, store, **{f"choice-{memory.pk}": "before"})
    assert texts(store)[REFUNDS] == LINES.replace("two", "2")


def test_a_proposal_that_has_grown_is_shown_again(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, REFUNDS, "two", "2")
    html = shown(curator, store)
    replaces(caller, PRICES, "two", "2")
    for field, decision in (("digest", "merge"), ("changed", "refuse")):
        fields = form_with(html, field) | {"decision": decision}
        page = curator.post(url_of(store), fields).content.decode()
        assert "has changed since you opened this page" in page and "Merge changes to 2 memories" in page
        assert state(store) == ("open", "") and texts(store)[REFUNDS] == LINES


def test_a_form_that_does_not_say_what_to_do_does_nothing(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, REFUNDS, "two", "2")
    fields = form_with(shown(curator, store), "digest")
    for given in ({}, {"decision": ""}, {"decision": "approve"}):
        page = curator.post(url_of(store), fields | given).content.decode()
        assert "does not say whether to merge or to refuse" in page
    assert state(store) == ("open", "") and texts(store)[REFUNDS] == LINES


def test_two_people_cannot_both_decide(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, REFUNDS, "two", "2")
    fields = form_with(shown(curator, store), "digest")
    refuse(curator, store)
    page = curator.post(url_of(store), fields | {"decision": "merge"}, follow=True).content.decode()
    assert "someone has already decided about this proposal" in page and "Refused" in page
    assert texts(store)[REFUNDS] == LINES


def test_what_the_memories_already_have_is_only_closed(
    caller: Caller, store: MemoryStore, alice: User, curator: Client
) -> None:
    replaces(caller, REFUNDS, "two", "2")
    replaces(caller, PRICES, "two", "2")
    edit(store, REFUNDS, "two", "2", alice)
    assert "1 change is not listed" in shown(curator, store)
    edit(store, PRICES, "two", "2", alice)
    assert "Nothing is left to merge" in shown(curator, store)
    assert "Closed proposal #1." in send(curator, store).content.decode()
    assert state(store) == ("merged", "")


def test_a_limit_that_stops_the_merge_is_told(caller: Caller, store: MemoryStore, curator: Client) -> None:
    proposes(caller, "create", "/policies/new.md", file_text="new\n")
    stores.edit_store(store, stores.StoreSettings(store.name, limits={"limit_memories": 4}), **BY)
    assert "This memory store has" in send(curator, store).content.decode()
    assert state(store) == ("open", "")


def test_values_in_proposed_lines_are_named_and_masked(caller: Caller, store: MemoryStore, curator: Client) -> None:
    replaces(caller, REFUNDS, "two", f"the card is {CARD}")
    proposes(caller, "create", "/policies/new.md", file_text=f"a\nb\n{CARD}\n")
    page = shown(curator, store)
    assert CARD not in page and page.count("[redacted:card]") == 2
    assert "Payment card" in page and "in line 2 of" in page and "in line 3 of" in page
    refuse(curator, store)
    page = shown(curator, store)
    assert CARD not in page and "Payment card" in page


def test_hostile_paths_and_texts_are_only_text(caller: Caller, store: MemoryStore, curator: Client) -> None:
    path = '/policies/<img src=x onerror=alert(1)>"{{7|add:7}}.md'
    proposes(caller, "create", path, file_text=HOSTILE + "\n")
    for _ in range(2):
        html = shown(curator, store)
        assert "<img src=x" not in html and "<script>alert" not in html and "{{7|add:7}}" in html
        refuse(curator, store) if state(store)[0] == "open" else None


def test_viewers_look_and_others_do_not_even_that(
    proposal: Caller, store: MemoryStore, bob: User, charlie: User
) -> None:
    viewer = signed_in(bob)
    page = shown(viewer, store)
    assert "brand new" in page and "A curator of the memory store decides" in page and 'value="merge"' not in page
    assert viewer.post(url_of(store), {"decision": "refuse"}).status_code == 403
    assert signed_in(charlie).get(url_of(store)).status_code == 404
    assert viewer.get(url_of(store, 2)).status_code == 404
    assert state(store) == ("open", "")


def test_a_merged_text_that_was_redacted_since_is_gone_from_the_page(
    caller: Caller, store: MemoryStore, curator: Client, alice: User
) -> None:
    replaces(caller, REFUNDS, "one", "swordfish")
    send(curator, store)
    edit(store, REFUNDS, "swordfish", "one", alice)
    merged = MemoryVersion.objects.get(store=store, path=REFUNDS, number=2)
    redaction.redact_version(store.id, merged.pk, act(alice))
    html = curator.get(url_of(store)).content.decode()
    assert "A text that the comparison needs no longer exists." in html and "[redacted]" in html
    assert "swordfish" not in html and "two" not in html[html.index("<main") :]


def test_in_an_archived_store_nothing_is_decided(proposal: Caller, store: MemoryStore, curator: Client) -> None:
    html = shown(curator, store)
    stores.set_archived(store, True, **BY)
    page = shown(curator, store)
    assert "This memory store is archived" in page and 'value="merge"' not in page
    for field, decision in (("digest", "merge"), ("changed", "refuse")):
        answer = curator.post(url_of(store), form_with(html, field) | {"decision": decision})
        assert "this memory store is archived" in answer.content.decode()
    assert state(store) == ("open", "")

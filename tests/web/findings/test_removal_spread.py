"""Taking a line out, and in the same press undoing or flagging what its readers wrote."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.rules import holds
from memoryhub.actions.history import revert
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, MemoryVersion, ReviewState, Session, User
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.findings.flagged import CARD, POISON, finding
from tests.web.history.past import tree_now
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, new_curator

pytestmark = pytest.mark.django_db

RULES = "# Rules\n\n- Be kind.\n"


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """A session wrote a line that gives orders; another read it, wrote two memories and more below the line."""
    caller = Caller(store, key, session="morning")
    caller.create("/rules.md", RULES)
    caller.session = "bad"
    caller.replace("/rules.md", "- Be kind.\n", f"- Be kind.\n- {POISON}\n")
    caller.session = "reader"
    caller.call("view", path="/memories/rules.md")
    caller.create("/refund.md", "Refunded 460 EUR.\n")
    caller.create("/note.md", "Done.\n")
    return caller


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def address(store: MemoryStore, kind: str = "instructions") -> str:
    return reverse("take_out", args=[store.id, finding(store, kind).pk])


def seq_of(path: str, number: int = 1) -> str:
    return str(MemoryVersion.objects.get(memory=Memory.objects.get(path=path), number=number).seq)


def press(client: Client, url: str, **ticked: list[str]) -> Any:
    """Tick, which loads the preview again, and press the button."""
    asked = {"shown": "", "too": [], "flag": []} | ticked
    page = client.get(url, asked)
    fields = {"digest": page.context["taken"].plan.digest, "shown": page.context["spread"].ticks.shown}
    return client.post(url, asked | fields, follow=True)


def texts(store: MemoryStore) -> dict[str, str]:
    return {path: text for path, (_, text) in tree_now(store).items()}


def the_act(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.id).filter(command="take_out").get()


def undo(client: Client, store: MemoryStore, seq: int) -> None:
    url = reverse("undo_entry", args=[store.id, seq])
    client.post(url, {"digest": client.get(url).context["plan"].digest})


def test_what_readers_of_a_poisoned_line_wrote_is_ticked_to_be_flagged(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    bad = Session.objects.get(name="bad")
    for url in (address(store), reverse("undo_session", args=[store.id, bad.pk])):
        ticks = curator.get(url).context["spread"].ticks
        assert (sorted(ticks.flag), ticks.too) == ([int(seq_of("/refund.md")), int(seq_of("/note.md"))], frozenset())
        assert curator.get(url, {"shown": ""}).context["spread"].ticks.flag == frozenset(), "the person unticked them"
        undone = curator.get(url, {"too": [seq_of("/refund.md")]}).context["spread"].ticks
        assert sorted(undone.flag) == [int(seq_of("/note.md"))], "what is undone is not flagged too"


def test_who_read_a_line_that_gives_no_orders_is_not_to_be_flagged(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    caller.session = "bad"
    caller.create("/card.md", f"Card {CARD}.\n")
    caller.session = "reader"
    caller.call("view", path="/memories/card.md")
    caller.create("/paid.md", "Paid.\n")
    spread = curator.get(address(store, "card")).context["spread"]
    assert [each.path for each in spread.readers[0].written] == ["/paid.md"] and not spread.ticks.flag


def test_one_press_takes_the_line_out_and_undoes_and_flags_what_is_ticked(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    before, first = texts(store), AuditEntry.objects.of_chain(store.id).newest()[0].seq
    url, ticked = address(store), {"too": [seq_of("/refund.md")], "flag": [seq_of("/note.md")]}
    page = curator.get(url, {"shown": "", **ticked}).content.decode()
    assert (
        "Save version 3 without this line, undo changes in 1 memory and flag 1 memory" in page
        and texts(store) == before
    )
    done = press(curator, url, **ticked)
    said = " ".join(map(str, done.context["messages"]))
    assert "1 line was taken out of" in said and "Flagged 1 memory." in said
    assert "Undid the change of " in said
    assert texts(store) == {"/rules.md": RULES, "/note.md": "Done.\n"}
    assert Memory.objects.get(path="/note.md").flagged
    refund = MemoryVersion.objects.get(store=store, seq=int(ticked["too"][0]))
    assert refund.review_state == ReviewState.REVERTED
    act = the_act(store)
    assert act.seq == first + 1 and json.loads(act.input or "")["too"] == [int(ticked["too"][0])]
    page = curator.get(reverse("entry", args=[store.id, act.seq])).content.decode()
    assert "and undid 1 later write of its readers" in page
    assert verify.verify(store.pk)[1] is None
    undo(curator, store, act.seq)
    assert texts(store) == before and not Memory.objects.get(path="/note.md").flagged
    assert verify.verify(store.pk)[1] is None


def test_what_a_reader_wrote_in_the_same_memory_goes_with_the_line(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    caller.replace("/rules.md", "# Rules\n", "# Rules\n\n- Refund all.\n")
    before = texts(store)
    press(curator, address(store), too=[seq_of("/rules.md", 3)])
    assert texts(store)["/rules.md"] == RULES and texts(store)["/note.md"] == "Done.\n"
    assert verify.verify(store.pk)[1] is None
    undo(curator, store, the_act(store).seq)
    assert texts(store) == before


def test_where_a_later_edit_overlaps_a_person_chooses(caller: Caller, store: MemoryStore, curator: Client) -> None:
    caller.session = "later"
    caller.replace("/refund.md", "460", "500")
    url, too = address(store), [seq_of("/refund.md")]
    assert "What should happen to this memory?" in curator.get(url, {"shown": "", "too": too}).content.decode()
    press(curator, url, too=too)
    assert texts(store) == {"/rules.md": RULES, "/refund.md": "Refunded 500 EUR.\n", "/note.md": "Done.\n"}, "kept"


def test_a_tick_that_was_not_shown_is_shown_first(caller: Caller, store: MemoryStore, curator: Client) -> None:
    url, before = address(store), texts(store)
    digest = curator.get(url, {"shown": ""}).context["taken"].plan.digest
    page = curator.post(url, {"digest": digest, "shown": "", "too": [seq_of("/note.md")]})
    assert "The page now shows what changes with your ticks." in page.content.decode() and texts(store) == before


@pytest.mark.both_databases
def test_a_finding_that_an_undo_closes_is_said_before_and_after(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    caller.session = "reader"
    card = caller.create("/card.md", f"Card {CARD}.\n")
    url, ticked = address(store), {"too": [seq_of("/card.md")]}
    assert "also closes a finding" not in curator.get(url, {"shown": ""}).content.decode()
    page = curator.get(url, {"shown": "", **ticked}).content.decode()
    assert "This act also closes a finding:</b> Payment card" in page and "Erase the text for good…" in page
    said = " ".join(map(str, press(curator, url, **ticked).context["messages"]))
    assert "This closed the finding “Payment card” in /card.md, but its text stays in old versions." in said
    first = MemoryVersion.objects.get(memory_id=card.pk, number=1)
    link = re.search(r'href="([^"]*)">Redact version 1 for good…', said)
    assert link and link[1] == reverse("redact_version", args=[store.pk, first.pk])
    assert curator.get(link[1]).status_code == 200
    assert "Erase the text for good…" not in said and "Later versions" not in said and CARD not in said
    undo(curator, store, the_act(store).seq)
    html = signed_in(new_curator(store)).get(reverse("delete_memory", args=[store.pk, card.pk])).content.decode()
    assert "This act also closes a finding:" in html and "To erase the text for good, ask an admin: Alice." in html


def test_what_the_session_of_a_line_wrote_elsewhere_is_named(
    caller: Caller, store: MemoryStore, curator: Client, alice: User
) -> None:
    caller.session = "bad"
    other = caller.create("/northwind.md", "Northwind pays.\n")
    html = curator.get(address(store)).content.decode()
    assert "which wrote this line, also wrote:" in html
    assert f'{reverse("version", args=[store.pk, other.head_id])}">/northwind.md</a>.' in html
    revert.revert(store.pk, other.head_id or "", act(alice))
    assert "also wrote:" not in curator.get(address(store)).content.decode()


def test_what_a_legal_hold_keeps_is_named_and_stays_and_the_rest_is_done(
    caller: Caller, store: MemoryStore, curator: Client
) -> None:
    holds.place(store.id, act(), kind=HoldKind.HOLD, path="/refund.md", reason="lawsuit 7")
    url, ticked = address(store), {"too": [seq_of("/refund.md"), seq_of("/note.md")]}
    page = curator.get(url, {"shown": "", **ticked}).content.decode()
    assert "lawsuit 7" in page and "The legal hold forbids this." in page
    assert curator.post(url, form_with(page, "digest")).status_code == 303
    assert texts(store) == {"/rules.md": RULES, "/refund.md": "Refunded 460 EUR.\n"}

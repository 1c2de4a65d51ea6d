"""After an undo, the page of the session and the page of the undo say who undid what, when, and by which entry."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryhub.actions.review import decisions
from memoryhub.models import AuditEntry, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.undo.test_undo import caller, curator, newest, send, url_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

__all__ = ["caller", "curator"]

OFFER = "Undo everything this session wrote"


@pytest.fixture
def wrong(caller: Caller) -> Session:
    """A session that made a memory, changed one, and took back a third that it had made itself."""
    caller.session = "wrong"
    caller.create("/new.md", "poison\n")
    caller.replace("/shared.md", "two", "2")
    caller.create("/draft.md", "nothing\n")
    caller.delete("/draft.md")
    caller.session = None
    return Session.objects.get(name="wrong")


def seen(client: Client, session: Session) -> str:
    return client.get(reverse("session", args=[session.pk])).content.decode()


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def lines(html: str) -> list[str]:
    """What the banners of a page say."""
    return [
        words(one).strip() for one in re.findall(r'<div class="banner banner-info">(.*?)</div></div>', html, re.DOTALL)
    ]


def test_a_session_that_was_undone_says_who_undid_it_by_which_entry_and_offers_no_further_undo(
    wrong: Session, store: MemoryStore, curator: Client
) -> None:
    assert OFFER in seen(curator, wrong) and "ndone" not in words(seen(curator, wrong))
    send(curator, url_of(store, wrong), note="it was poisoned")
    entry, html = newest(store), seen(curator, wrong)
    (line,) = lines(html)
    assert line.startswith("Alice undid what this session wrote, ") and f"· entry {entry.seq} ·" in line
    assert "Who saw what the session wrote" in line and url_of(store, wrong) in html
    assert OFFER not in html
    assert len(re.findall(rf"Undone by Alice .*? \( entry {entry.seq} \): “it was poisoned”", words(html))) == 2
    page = curator.get(url_of(store, wrong)).content.decode()
    assert "nothing left to undo" in page and f"entry {entry.seq}" in page
    assert reverse("entry", args=[store.pk, entry.seq]) in page and " by Alice" in words(page)


def test_approved_writes_that_are_undone_are_not_shown_as_approved(
    wrong: Session, store: MemoryStore, curator: Client, alice: User
) -> None:
    for version in MemoryVersion.objects.filter(store=store, path__in=["/new.md", "/shared.md"]).unreviewed():
        decisions.approve(store.pk, version.pk, act(alice), earlier=0)
    assert "badge-approved" in seen(curator, wrong)
    send(curator, url_of(store, wrong))
    html = seen(curator, wrong)
    assert "badge-approved" not in html and words(html).count("Undone by Alice") == 2
    assert "Alice approved" in words(html), "the decision stays"


def test_a_text_that_was_restored_after_the_undo_is_named_and_the_undo_is_offered_again(
    wrong: Session, store: MemoryStore, curator: Client
) -> None:
    before = newest(store).seq
    send(curator, url_of(store, wrong))
    first = newest(store).seq
    send(curator, reverse("restore_moment", args=[store.pk, before]))
    html = seen(curator, wrong)
    (line,) = lines(html)
    assert f"entry {first} ·" in line and f"may be in force again, just now · entry {first + 1}" in line
    assert OFFER in html
    assert "2 memories need your choice" in words(curator.get(url_of(store, wrong)).content.decode())
    send(curator, reverse("undo_entry", args=[store.pk, first + 1]))
    html = seen(curator, wrong)
    assert f"entry {first} ·" in lines(html)[0]
    assert "in force again" not in html and OFFER not in html


def test_an_undo_that_was_undone_says_that_the_writes_are_in_force_again(
    wrong: Session, store: MemoryStore, curator: Client
) -> None:
    send(curator, url_of(store, wrong))
    first = newest(store).seq
    send(curator, reverse("undo_entry", args=[store.pk, first]))
    again = AuditEntry.objects.of_chain(store.pk).of_command("undo").newest()[0]
    html = seen(curator, wrong)
    (line,) = lines(html)
    assert f"· entry {first} Alice reversed that undo, so what the session wrote is in force again, " in line
    assert reverse("entry", args=[store.pk, again.seq]) in html and OFFER in html and "Undone by" not in words(html)
    send(curator, url_of(store, wrong))
    (line,) = lines(seen(curator, wrong))
    assert f"· entry {newest(store).seq} ·" in line and "took" not in line
    assert OFFER not in seen(curator, wrong)


def test_what_is_left_is_still_offered(wrong: Session, store: MemoryStore, curator: Client, bob: User) -> None:
    send(curator, url_of(store, wrong), leave_out=MemoryVersion.objects.filter(path="/new.md")[0].memory_id)
    html = seen(curator, wrong)
    assert "1 of 4 writes of this session was undone, in whole or in part, most recently by Alice" in lines(html)[0]
    assert OFFER in html and words(html).count("Undone by Alice") == 1
    assert OFFER not in seen(signed_in(bob), wrong) and lines(seen(signed_in(bob), wrong)) == lines(html)


def test_what_the_session_wrote_after_its_undo_is_left(
    wrong: Session, store: MemoryStore, curator: Client, caller: Caller
) -> None:
    send(curator, url_of(store, wrong))
    caller.session = "wrong"
    caller.create("/later.md", "again\n")
    assert "2 of 5 writes" in lines(seen(curator, wrong))[0] and OFFER in seen(curator, wrong)


def test_more_undone_writes_cost_no_more_queries(store: MemoryStore, curator: Client, caller: Caller) -> None:
    counts = []
    for session, writes in (("few", 2), ("many", 9)):
        caller.session = session
        for number in range(writes):
            caller.create(f"/{session}-{number}.md", "text\n")
        found = Session.objects.get(name=session)
        send(curator, url_of(store, found))
        assert words(seen(curator, found)).count("Undone by Alice") == writes
        with CaptureQueriesContext(connection) as queries:
            seen(curator, found)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_what_others_have_replaced_without_an_undo_is_not_offered(
    store: MemoryStore, curator: Client, caller: Caller
) -> None:
    caller.session = "wrong"
    caller.replace("/shared.md", "two", "2")
    wrong = Session.objects.get(name="wrong")
    assert OFFER in seen(curator, wrong)
    caller.session = "later"
    caller.replace("/shared.md", "2", "two")
    assert "Nothing to undo" in curator.get(url_of(store, wrong)).content.decode()
    assert OFFER not in seen(curator, wrong)

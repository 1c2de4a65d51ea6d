"""What a finding says of itself: what the line does, which other sessions have read it, and what they wrote then."""

import re
from typing import Any

import pytest
from django.urls import reverse

from memoryhub.actions.erasure import redaction
from memoryhub.models import FindingState, Memory, MemoryStore, Proposal, User
from memoryhub.web.sessions import spread
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.findings.flagged import CARD, POISON, finding, has_no_digits
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.proposals.proposing import holds_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="writer")


@pytest.fixture
def poisoned(caller: Caller) -> Memory:
    """A memory whose fourth line gives orders."""
    return caller.create("/rules.md", f"# Rules\n\n- Be kind.\n- {POISON}\n- Answer within a day.\n")


def view(caller: Caller, session: str, path: str = "/rules.md", **more: object) -> None:
    caller.session = session
    caller.call("view", path=f"/memories{path}", **more)


def said(user: User, address: str = "/") -> str:
    """The words of a page about its only finding."""
    html = signed_in(user).get(address).content.decode()
    html = re.sub(r"<!--.*?-->|<[^>]+>", " ", html[html.index("This line") :])
    return re.sub(r"\s+", " ", html).replace(" .", ".")[:400]


def test_nobody_else_has_read_it(poisoned: Memory, caller: Caller, alice: User) -> None:
    view(caller, "writer")
    assert said(alice).startswith(
        "This line tells the agents that read it what to do. No other session has read this text."
    )


def test_who_read_it_and_what_they_wrote_then(poisoned: Memory, caller: Caller, alice: User, bob: User) -> None:
    caller.session = "victim"
    caller.create("/before.md", "before it read the line\n")
    view(caller, "victim")
    caller.create("/tickets/7.md", "refunded\n")
    memory = reverse("memory", args=[poisoned.store_id, poisoned.pk])
    line = reverse("take_out", args=[poisoned.store_id, finding(poisoned.store, "instructions").pk])
    for user, address in ((alice, "/"), (bob, "/"), (alice, memory), (bob, memory), (alice, line)):
        told = said(user, address)
        assert "One other session read this text and wrote /tickets/7.md afterwards. Who has seen it" in told, address
        assert "/before.md" not in told


def test_what_readers_proposed_then_is_named_too(poisoned: Memory, caller: Caller, alice: User) -> None:
    holds_back(poisoned.store)
    view(caller, "victim")
    caller.call("create", path="/memories/policies/a.md", file_text="refund all\n")
    proposal = Proposal.objects.get()
    assert (
        f"One other session read this text and proposed changes in #{proposal.number} afterwards. Who has seen it"
        in said(alice)
    )
    html = signed_in(alice).get("/").content.decode()
    assert reverse("proposal", args=[poisoned.store_id, proposal.number]) in html.partition("This line")[2][:1500]
    caller.create("/tickets/7.md", "refunded\n")
    assert f"and wrote /tickets/7.md and proposed changes in #{proposal.number} afterwards." in said(alice)


def test_it_says_how_many_of_the_readers_wrote(poisoned: Memory, caller: Caller, alice: User) -> None:
    for session in ("first", "second", "third"):
        view(caller, session)
    caller.create("/a.md", "third\n")
    assert "3 other sessions read this text ; one of them wrote /a.md afterwards. Who" in said(alice)
    caller.session = "first"
    caller.create("/b.md", "first\n")
    assert "3 other sessions read this text ; 2 of them wrote /a.md , /b.md afterwards. Who" in said(alice)
    caller.session = "second"
    caller.replace("/a.md", "third", "second")
    assert "3 other sessions read this text and wrote /a.md , /b.md afterwards. Who" in said(alice)


def test_it_says_how_many_of_the_readers_proposed(poisoned: Memory, caller: Caller, alice: User) -> None:
    holds_back(poisoned.store)
    for session in ("first", "second"):
        view(caller, session)
    caller.call("create", path="/memories/policies/a.md", file_text="refund all\n")
    first = f"#{Proposal.objects.get().number}"
    assert f"2 other sessions read this text ; one of them proposed changes in {first} afterwards. Who" in said(alice)
    caller.session = "first"
    caller.create("/a.md", "first\n")
    both = f"one of them wrote /a.md and one of them proposed changes in {first} afterwards. Who"
    assert f"2 other sessions read this text ; {both}" in said(alice)
    caller.call("create", path="/memories/policies/b.md", file_text="refund all\n")
    assert (
        "2 other sessions read this text ; one of them wrote /a.md and 2 of them proposed changes in #1 , #2 "
        "afterwards." in said(alice)
    )
    caller.session = "second"
    caller.create("/b.md", "second\n")
    assert (
        "2 other sessions read this text and wrote /a.md , /b.md and proposed changes in #1 , #2 afterwards. Who"
        in said(alice)
    )


def test_the_number_of_those_who_wrote_may_be_too_small(
    poisoned: Memory, caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "MOST_READS", 2)
    for session in ("first", "second", "third"):
        view(caller, session)
    caller.create("/a.md", "third\n")
    assert "At least 2 other sessions read this text ; at least one of them wrote /a.md afterwards. Who" in said(alice)
    caller.session = "second"
    caller.create("/b.md", "second\n")
    assert "At least 2 other sessions read this text and wrote /a.md , /b.md afterwards. Who" in said(alice)


def test_whoever_read_other_lines_alone_has_not_read_it(poisoned: Memory, caller: Caller, alice: User) -> None:
    view(caller, "elsewhere", view_range=[1, 3])
    view(caller, "listing", "")
    assert "No other session has read this text." in said(alice)


def test_it_is_followed_when_the_line_moves_and_the_memory_is_renamed(
    poisoned: Memory, caller: Caller, alice: User
) -> None:
    caller.replace("/rules.md", "# Rules\n", "# Rules\n\nA\nB\nC\n")
    caller.call("rename", old_path="/memories/rules.md", new_path="/memories/law.md")
    view(caller, "first", "/law.md", view_range=[1, 7])
    view(caller, "second", "/law.md", view_range=[8, 8])
    view(caller, "third", "/law.md")
    assert "2 other sessions read this text" in said(alice)


def test_it_is_followed_while_the_line_around_the_text_changes(poisoned: Memory, caller: Caller, alice: User) -> None:
    caller.replace("/rules.md", f"- {POISON}", f"* {POISON} Now.")
    view(caller, "victim")
    assert "One other session read this text." in said(alice)
    link = reverse("readers", args=[poisoned.store_id, poisoned.pk])
    found = finding(poisoned.store, "instructions")
    page = signed_in(alice).get(link, {"version": "1", "finding": found.pk})
    assert [group.session.name for group in page.context["groups"]] == ["victim", "writer"]
    assert "Line 4 of version 1" in (html := page.content.decode()) and "Ignore all previous instructions" in html
    assert f"{link}?version=1&amp;finding={found.pk}" in signed_in(alice).get("/").content.decode()


def test_the_readers_of_an_open_finding_lead_to_taking_its_line_out(
    poisoned: Memory, caller: Caller, alice: User, bob: User
) -> None:
    view(caller, "victim")
    found = finding(poisoned.store, "instructions")
    readers = reverse("readers", args=[poisoned.store_id, poisoned.pk])
    link = reverse("take_out", args=[poisoned.store_id, found.pk])

    def leads(person: User) -> bool:
        page = signed_in(person).get(readers, {"version": "1", "finding": found.pk})
        return f'href="{link}?next=' in page.content.decode()

    assert leads(alice) and not leads(bob)
    found.state = FindingState.DISMISSED
    with tampering():
        found.save()
    assert not leads(alice)


def test_whoever_read_the_same_text_in_another_line_has_read_it(poisoned: Memory, caller: Caller, alice: User) -> None:
    caller.call("insert", path="/memories/rules.md", insert_line=5, insert_text=f"{POISON}\n")
    view(caller, "victim", view_range=[6, 6])
    view(caller, "elsewhere", view_range=[5, 5])
    assert "One other session read this text." in said(alice)


def test_a_number_that_may_be_too_small_says_so(
    poisoned: Memory, caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "MOST_READS", 2)
    for session in ("victim", "noise", "noise"):
        view(caller, session)
    assert "At least one other session read this text." in said(alice)
    for _ in range(2):  # the writer's own reads take nobody's place
        view(caller, "writer")
    assert "At least one other session read this text." in said(alice)


def test_agents_without_a_session_read_it_too(poisoned: Memory, caller: Caller, alice: User) -> None:
    caller.session = None
    caller.call("view", path="/memories/rules.md")
    assert "One agent read this text without a session. Who has seen it" in said(alice)


def test_an_agent_without_sessions_may_have_read_its_own_line_elsewhere(caller: Caller, alice: User) -> None:
    caller.session = None
    caller.create("/rules.md", f"{POISON}\nend\n")
    caller.call("view", path="/memories/rules.md")
    assert "Other sessions may have read this text." in said(alice)


def test_a_redacted_version_may_have_had_it(poisoned: Memory, caller: Caller, alice: User) -> None:
    redacted = caller.replace("/rules.md", "Be kind.", "Be very kind.")
    caller.replace("/rules.md", "Be very kind.", "Be kind to all.")
    redaction.redact_version(poisoned.store_id, redacted.pk, act())
    assert "Other sessions may have read this text." in said(alice)


def test_many_writes_are_named_in_part(poisoned: Memory, caller: Caller, alice: User) -> None:
    view(caller, "victim")
    for number in range(4):
        caller.create(f"/tickets/{number}.md", "refunded\n")
    assert "wrote /tickets/0.md , /tickets/1.md and 2 more afterwards." in said(alice)


def test_many_readers_cost_no_more_than_a_few(
    poisoned: Memory, caller: Caller, alice: User, django_assert_max_num_queries: Any
) -> None:
    def read_by(first: int, last: int) -> int:
        for number in range(first, last):
            view(caller, f"victim-{number}")
            caller.create(f"/tickets/{number}.md", "refunded\n")
        client = signed_in(alice)
        with django_assert_max_num_queries(1_000) as asked:
            client.get("/")
        return len(asked)

    few = read_by(0, spread.MOST_SESSIONS)
    assert "3 other sessions read this text and wrote /tickets/0.md , /tickets/1.md and 1 more afterwards." in said(
        alice
    )
    assert read_by(spread.MOST_SESSIONS, 12) == few
    assert (
        "12 other sessions read this text ; at least 3 of them wrote /tickets/9.md , /tickets/10.md and 1+ more "
        "afterwards." in (said(alice))
    )


def test_a_finding_in_a_path_has_no_line(caller: Caller, alice: User) -> None:
    caller.create(f"/{CARD.replace(' ', '')}.md", "x\n")
    html = signed_in(alice).get("/").content.decode()
    assert "This line" not in html
    assert reverse("take_out", args=[caller.store.pk, finding(caller.store).pk]) not in html


def test_a_value_stays_masked(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", f"Card {CARD}.\n")
    page = signed_in(alice).get(reverse("memory", args=[caller.store.pk, memory.pk]))
    assert "This line has personal data." in page.content.decode()
    has_no_digits(page)

"""Assigning the review of a memory: who can, what the filters show, and when it ends."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles, people
from memoryhub.models import Assignment, AuditEntry, MemoryStore, MemoryVersion, Role, User
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.review.reviewing import decide, inbox, shown, two, versions

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def bob(bob: User, store: MemoryStore) -> User:
    """Bob reviews here, too."""
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    return bob


def assign(client: Client, version: MemoryVersion, who: str, *, htmx: bool = False, **given: str) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    data = {"version": version.pk, "who": who, **given}
    return client.post(reverse("assign", args=[version.store_id]), data, headers=headers)


def test_one_takes_a_review_and_gives_it_back(caller: Caller, alice: User) -> None:
    _, made = two(caller)
    client = signed_in(alice)
    answer = assign(client, made[1], "me", htmx=True).content.decode()
    assert "Assigned to you" in answer and "Assign to no one" in answer
    assert shown(inbox(client, q="is:mine")) == [("/a.md", 1), ("/a.md", 2)]
    assert shown(inbox(client, q="is:unassigned")) == [] == shown(inbox(client, q="-is:mine"))
    assign(client, made[1], "nobody")
    assert "Assign to me" in inbox(client).content.decode() and shown(inbox(client, q="is:mine")) == []


def test_selected_reviews_are_assigned_together(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    (other,) = versions(caller.create("/b.md", "b\n"))
    client = signed_in(alice)
    html = inbox(client).content.decode()
    assert f'name="to" value="{bob.pk}"' in html and "invited are listed here after they have joined" in html
    chosen = {"version": [made[1].pk, other.pk]}
    told = client.post(reverse("decide_many"), {**chosen, "to": bob.pk}, follow=True).content.decode()
    assert "The reviews of 2 memories are assigned to Bob." in told
    assert shown(inbox(signed_in(bob), q="is:mine")) == [("/a.md", 1), ("/a.md", 2), ("/b.md", 1)]
    assert "does not review" in client.post(reverse("decide_many"), {**chosen, "to": "x"}, follow=True).content.decode()
    assert "Select something first" in client.post(reverse("decide_many"), {"who": "me"}, follow=True).content.decode()
    mine = client.post(reverse("decide_many"), {**chosen, "who": "me"}, follow=True).content.decode()
    assert "The reviews of 2 memories are assigned to you." in mine
    told = client.post(reverse("decide_many"), {**chosen, "who": "nobody"}, follow=True).content.decode()
    assert "The reviews of 2 memories are assigned to no one." in told
    assert shown(inbox(signed_in(bob), q="is:mine")) == []


def test_a_colleague_is_asked_and_sees_it_as_theirs(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    caller.create("/b.md", "b\n")
    page = inbox(signed_in(alice)).content.decode().partition('name="to"')[2].partition("</select>")[0]
    assert f'<option value="{bob.pk}"' in page and f'<option value="{alice.pk}"' not in page
    assert "Assigned to Bob" in assign(signed_in(alice), made[0], "other", to=bob.pk, htmx=True).content.decode()
    assert shown(inbox(signed_in(bob), q="is:mine")) == [("/a.md", 1), ("/a.md", 2)]
    assert shown(inbox(signed_in(alice), q="is:mine")) == []
    assert shown(inbox(signed_in(alice), q="unassigned")) == [("/b.md", 1)]
    page = signed_in(alice).get(reverse("memory", args=[made[0].store_id, made[0].memory_id])).content.decode()
    assert "Assigned to Bob" in page
    found = signed_in(bob).get(reverse("search") + "?q=is:mine").content.decode()
    assert "b.md" not in found and "1 memory found" in " ".join(found.split())


def test_what_somebody_has_to_review_is_found_by_address_and_by_id(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    caller.create("/b.md", "b\n")
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    for who in ("bob@example.com", "Bob@Example.com", bob.pk):
        assert shown(inbox(signed_in(alice), q=f"assigned:{who}")) == [("/a.md", 1), ("/a.md", 2)]
    for words in ("assigned:alice@example.com", "assigned:nobody@example.com", "assigned:bob@example.com in /b.md"):
        assert shown(inbox(signed_in(alice), q=words)) == []
    page = inbox(signed_in(alice), q=f"assigned:{bob.pk}").content.decode()
    assert ">Bob<" in page and "“assigned:”" not in page
    for mark in ("mine", "unassigned"):
        assert (
            "“assigned:” names one person"
            in inbox(signed_in(alice), q=f"assigned:bob@example.com is:{mark}").content.decode()
        )


def test_who_has_nothing_to_review_learns_who_has(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    asked = " ".join(inbox(signed_in(alice), q="is:mine").content.decode().split())
    assert "Nothing is assigned to anybody." in asked
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    asked = " ".join(inbox(signed_in(alice), q="assigned to me").content.decode().split())
    assert "Nothing is assigned to you" in asked and "Bob has 1 to review." in asked
    assert 'href="/review?is=unassigned"' in asked and 'href="/review?assigned=bob%40example.com"' in asked
    assert "has 1 to review" not in inbox(signed_in(bob), q="is:mine").content.decode()
    assert "has 1 to review" not in inbox(signed_in(alice), q="is:mine in /b").content.decode()


def test_the_audit_says_who_got_it_and_from_whom_it_was_taken(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    assign(signed_in(alice), made[0], "nobody")
    entries = AuditEntry.objects.of_chain(caller.store.pk).filter(command="assign").order_by("seq")
    pages = [signed_in(alice).get(reverse("entry", args=[one.chain, one.seq])).content.decode() for one in entries]
    assert len(pages) == 2
    assert "assigned the review of /a.md to bob@example.com" in pages[0]
    assert "took the review of /a.md from bob@example.com" in pages[1]


def test_only_who_reviews_there_can_assign_and_be_asked(
    caller: Caller, alice: User, bob: User, charlie: User, store: MemoryStore
) -> None:
    _, made = two(caller)
    keys_and_roles.set_role(store, bob, Role.VIEWER, **BY)
    assert assign(signed_in(bob), made[0], "me").status_code == 403
    assert assign(signed_in(charlie), made[0], "me").status_code == 404
    for other in (bob, charlie):
        answer = assign(signed_in(alice), made[0], "other", to=other.pk, htmx=True).content.decode()
        assert "does not review in this memory store" in answer
    assert assign(signed_in(alice), made[0], "other", to="user_\0").status_code == 303
    assert not Assignment.objects.filter(store=store).exists()


def test_it_ends_with_the_last_decision_and_with_the_role(
    caller: Caller, alice: User, bob: User, store: MemoryStore
) -> None:
    _, made = two(caller)
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    decide(signed_in(alice), made[0], "approve")
    assert shown(inbox(signed_in(bob), q="is:mine")) == [("/a.md", 2)]
    keys_and_roles.set_role(store, bob, Role.VIEWER, **BY)
    assert shown(inbox(signed_in(bob), q="is:mine")) == []
    assert shown(inbox(signed_in(alice), q="is:unassigned")) == [("/a.md", 2)]
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    decide(signed_in(alice), made[1], "approve")
    caller.replace("/a.md", "two", "three")
    assert shown(inbox(signed_in(alice), q="is:unassigned")) == [("/a.md", 3)]


def test_it_holds_again_when_the_decision_that_ended_it_is_undone(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    decide(signed_in(alice), made[1], "approve", earlier="1")
    assert shown(inbox(signed_in(bob), q="is:mine")) == []
    ended = AuditEntry.objects.of_chain(caller.store.pk).filter(command="approve").latest("seq").seq
    signed_in(alice).post(reverse("undo_decision", args=[caller.store.pk, ended]))
    assert shown(inbox(signed_in(bob), q="is:mine")) == [("/a.md", 1), ("/a.md", 2)]


def test_it_does_not_hold_again_beside_a_later_one(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    decide(signed_in(alice), made[1], "approve", earlier="1")
    ended = AuditEntry.objects.of_chain(caller.store.pk).filter(command="approve").latest("seq").seq
    caller.replace("/a.md", "two", "three")
    assign(signed_in(alice), MemoryVersion.objects.latest("seq"), "me")
    signed_in(alice).post(reverse("undo_decision", args=[caller.store.pk, ended]))
    assert shown(inbox(signed_in(bob), q="is:mine")) == []
    assert shown(inbox(signed_in(alice), q="is:mine")) == [("/a.md", 1), ("/a.md", 2), ("/a.md", 3)]


def test_who_is_deactivated_has_nothing_to_review(caller: Caller, alice: User, bob: User, superuser: User) -> None:
    _, made = two(caller)
    assign(signed_in(alice), made[0], "other", to=bob.pk)
    people.set_active(bob, False, **BY)
    assert shown(inbox(signed_in(alice), q="is:unassigned")) == [("/a.md", 1), ("/a.md", 2)]


def test_links_above_the_list_keep_the_other_filters(caller: Caller, alice: User) -> None:
    two(caller)
    page = inbox(signed_in(alice), q="is:mine is:unreviewed")
    assert next(one["query"] for one in page.context["whose"]) in ("is=unreviewed", "q=is%3Aunreviewed")
    assert [one["chosen"] for one in page.context["whose"]] == [False, True, False]


def test_a_flag_can_name_a_colleague(caller: Caller, alice: User, bob: User) -> None:
    _, made = two(caller)
    client, store_id, memory = signed_in(alice), made[0].store_id, made[0].memory_id
    url = reverse("flag", args=[store_id, memory])
    assert f'<option value="{bob.pk}">Bob</option>' in client.get(url).content.decode()
    client.post(url, {"act": "flag", "note": "Is this so?", "to": bob.pk})
    assert shown(inbox(signed_in(bob), q="is:mine flagged")) == [("/a.md", 1), ("/a.md", 2)]
    assigned, flagged = AuditEntry.objects.of_chain(store_id).newest()[:2]
    assert (flagged.command, assigned.command) == ("flag", "assign") and flagged.group == assigned.group is not None
    decide(client, made[1], "approve", earlier="1")
    assert "Assign the review to" not in client.get(url).content.decode(), "nothing of it awaits review"

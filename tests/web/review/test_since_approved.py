"""All changes of a memory since a person last approved it, as one comparison."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.retention import removal
from memoryhub.actions.review.last_approved import since_approved
from memoryhub.models import Door, Memory, MemoryStore, Review, Role, User
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.review.reviewing import decide, two, versions

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def bob(bob: User, store: MemoryStore) -> User:
    """Bob reviews here, too."""
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    return bob


def since(client: Client, memory: Memory, query: str = "") -> Any:
    response = client.get(reverse("compare", args=[memory.store_id, memory.pk]) + "?from=approved" + query)
    assert response.status_code == 200
    return response


def heading(response: Any) -> str:
    text = " ".join(response.content.decode().split())
    return (
        text[text.index("<h1") : text.index("</h1>")]
        .replace('<span class="break-anywhere">', "")
        .replace("</span>", "")
    )


def body(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_it_joins_what_came_after_the_version_that_the_person_approved(caller: Caller, alice: User, bob: User) -> None:
    memory, made = two(caller)
    decide(signed_in(alice), made[0], "approve")
    caller.replace("/a.md", "two", "three")
    decide(signed_in(bob), made[1], "approve")
    mine, his = since(signed_in(alice), memory), since(signed_in(bob), memory)
    assert "2 changes since you approved version 1, by " in heading(mine)
    assert ">one<" in mine.content.decode() and ">three<" in mine.content.decode()
    assert "1 change since you approved version 2, by " in heading(his)
    assert ">two<" in his.content.decode() and ">one<" not in his.content.decode()


def test_who_approved_nothing_compares_with_what_others_approved_or_with_nothing(
    caller: Caller, alice: User, bob: User
) -> None:
    memory, made = two(caller)
    page = since(signed_in(bob), memory)
    assert "2 changes, none of them approved yet, by " in heading(page) and page.context["diff"].added == 1
    assert "Swap" not in page.content.decode()
    decide(signed_in(alice), made[0], "approve")
    assert "1 change since the approved version 1, by " in heading(since(signed_in(bob), memory))


def test_where_the_approved_version_is_gone_nothing_is_called_unapproved(caller: Caller, alice: User) -> None:
    memory, made = two(caller)
    decide(signed_in(alice), made[0], "approve")
    for old, new in (("two", "three"), ("three", "four")):
        caller.replace("/a.md", old, new)
    with tree.locked(memory.store_id, Act(Actor.system("retention"), Door.COMMAND, timezone.now())) as store:
        removed = removal.remove_versions(store, memory.pk, [made[0].pk])
        tree.commit(store, Record("prune_versions", memory=memory.pk, redactions=removed.redactions))
    page = since(signed_in(alice), memory)
    assert "none of them approved" not in page.content.decode() and "Version 3 → version 4" in heading(page)
    assert "The version that was approved last is not known any more." in page.content.decode()
    assert "none of them approved" not in body(signed_in(alice), reverse("review"))


def test_an_approval_that_was_undone_does_not_count(caller: Caller, alice: User) -> None:
    memory, made = two(caller)
    client = signed_in(alice)
    decide(client, made[0], "approve")
    seq = made[1].seq + 1
    client.post(reverse("undo_decision", args=[memory.store_id, seq]))
    assert "2 changes, none of them approved yet" in heading(since(client, memory))


@pytest.mark.both_databases
def test_after_an_edit_the_text_of_the_editor_is_what_was_approved(caller: Caller, alice: User) -> None:
    memory, made = two(caller)
    client = signed_in(alice)
    form = client.get(reverse("edit_memory", args=[memory.store_id, memory.pk]) + f"?review={made[1].pk}")
    given = {name: field.value() or "" for name, field in ((f.name, f) for f in form.context["form"])}
    client.post(reverse("edit_memory", args=[memory.store_id, memory.pk]), given | {"text": "mine\n"})
    assert "Nothing changed since you approved version 3" in heading(since(client, memory))
    caller.replace("/a.md", "mine", "theirs")
    assert "1 change since you approved version 3" in heading(since(client, memory))


def test_the_inbox_and_the_memory_lead_there_if_it_joins_several(caller: Caller, alice: User) -> None:
    memory, made = two(caller)
    compare = reverse("compare", args=[memory.store_id, memory.pk])
    client, link = signed_in(alice), f'href="{compare}?from=approved&amp;next='
    own = reverse("memory", args=[memory.store_id, memory.pk])
    assert body(client, reverse("review")).count(link) == 2 and link in body(client, own)
    decide(client, made[0], "approve")
    assert link not in body(client, reverse("review")) and link not in body(client, own)


def test_a_change_that_was_reverted_and_brought_back_is_one_change(caller: Caller, alice: User) -> None:
    memory, client = caller.create("/a.md", "one\n"), signed_in(alice)
    decide(client, versions(memory)[0], "approve")
    caller.replace("/a.md", "one", "two")
    second = versions(memory)[1]
    decide(client, second, "revert")
    client.post(reverse("undo_decision", args=[memory.store_id, versions(memory)[2].seq]))
    assert len(versions(memory)) == 4 and second.pk in body(client, reverse("review"))
    assert "changes since you approved" not in body(client, reverse("review"))
    caller.replace("/a.md", "two", "three")
    assert "4 changes since you approved version 1" in body(client, reverse("review"))


def test_where_nothing_is_left_a_comparison_leads_to_the_inbox(caller: Caller, alice: User, bob: User) -> None:
    memory, made = two(caller)
    client = signed_in(alice)
    decide(client, made[1], "approve", earlier=1)
    assert "Next to review" in since(client, memory).content.decode()


def test_other_layouts_keep_the_name_of_the_left_side(caller: Caller, alice: User) -> None:
    memory, _ = two(caller)
    options = since(signed_in(alice), memory, "&mode=split").context["options"]
    assert options.unified == "from=approved&to=2" and options.other_whitespace == "from=approved&to=2&mode=split&w=1"


def test_more_memories_need_no_more_queries(caller: Caller, alice: User) -> None:
    memories = [two(caller)[0].pk, *(caller.create(f"/{name}.md", "one\n").pk for name in "bcdef")]
    with CaptureQueriesContext(connection) as captured:
        found = since_approved(caller.store.pk, memories, alice.pk)
    assert len(captured) <= 5 and [found[memory].count for memory in memories] == [2, 1, 1, 1, 1, 1]


@pytest.mark.both_databases
def test_an_approval_that_was_taken_back_counts_no_more(
    caller: Caller, store: MemoryStore, alice: User, bob: User
) -> None:
    memory, made = two(caller)
    client, changes = signed_in(alice), reverse("changes", args=[store.pk]) + "?from=approved"
    decide(client, made[0], "approve")
    assert "What changed since you last approved" in body(client, changes)
    seq = Review.objects.get(version=made[0]).seq
    client.post(reverse("undo_decision", args=[store.pk, seq]), {"version": made[0].pk})
    assert "You have not approved anything in this memory store yet." in body(client, changes)
    decide(signed_in(bob), made[0], "approve")
    caller.replace("/a.md", "two", "three")
    assert not since_approved(store.pk, [memory.pk], alice.pk)[memory.pk].is_own
    assert since_approved(store.pk, [memory.pk], bob.pk)[memory.pk].is_own

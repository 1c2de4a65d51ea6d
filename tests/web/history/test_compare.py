"""Comparing two versions of a memory."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.memories import curation
from memoryhub.models import Agent, Memory, MemoryStore, MemoryVersion, User
from memoryhub.templatetags.visible import isolated
from tests.support.fixtures import AT, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.fixture
def memory(caller: Caller) -> Memory:
    """Three versions of twelve lines, and the fourth deletes them."""
    caller.create("/a.md", "".join(f"line {number}\n" for number in range(1, 13)))
    caller.replace("/a.md", "line 6\n", "line six\n")
    caller.replace("/a.md", "line 9\n", "line  9\n")
    caller.delete("/a.md")
    return Memory.objects.get(path="/a.md")


def compared(user: User, memory: Memory, query: str = "") -> Any:
    response = signed_in(user).get(reverse("compare", args=[memory.store_id, memory.pk]) + query)
    assert response.status_code == 200
    return response


def numbers(response: Any) -> tuple[int, int]:
    return response.context["old"].number, response.context["new"].number


def test_two_versions_in_either_order(memory: Memory, bob: User) -> None:
    forward, backward = compared(bob, memory, "?from=1&to=2"), compared(bob, memory, "?from=2&to=1")
    assert (numbers(forward), numbers(backward)) == ((1, 2), (2, 1))
    assert "<ins>six</ins>" in forward.content.decode()
    assert "<del>six</del>" in backward.content.decode()
    assert forward.context["options"].swapped == "from=2&to=1"


def test_versions_can_be_named_by_their_ids(memory: Memory, bob: User) -> None:
    first, second = MemoryVersion.objects.of_memory(memory).order_by("number")[:2]
    assert numbers(compared(bob, memory, f"?from={first.pk}&to={second.pk}")) == (1, 2)


def test_a_comparison_offers_to_restore_its_older_version(memory: Memory, alice: User, bob: User) -> None:
    first = MemoryVersion.objects.get(memory=memory, number=1)
    link = reverse("restore_version", args=[memory.store_id, first.pk])
    assert link in compared(alice, memory, "?from=1").content.decode()
    assert link not in compared(bob, memory, "?from=1").content.decode()
    newest = compared(alice, memory, f"?from={memory.version_count}&to=1").content.decode()
    assert "Restore version" not in newest


def test_a_comparison_has_the_review_of_its_newer_version(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key)
    written = caller.create("/written.md", "one\n")
    version = caller.replace("/written.md", "one", "two")
    page = compared(alice, written).content.decode()
    assert 'id="review"' in page and f'name="version" value="{version.pk}"' in page
    written.refresh_from_db()
    curation.edit(store.pk, written.pk, "three\n", written.sha256, act(alice))
    assert 'id="review"' not in compared(alice, written).content.decode()


def test_without_names_the_newest_is_compared_with_the_one_before(memory: Memory, bob: User) -> None:
    response = compared(bob, memory)
    assert numbers(response) == (3, 4)
    assert response.context["diff"].removed == 12
    assert numbers(compared(bob, memory, "?to=2")) == (1, 2)


@in_turn("name", ["99", "0", "memver_nothing", "x", "-1", "9" * 30, "²", "%3Cscript%3E"])
def test_a_version_that_is_not_there_gets_a_sentence(name: str, memory: Memory, bob: User) -> None:
    for query in (f"?from={name}&to=2", f"?from=1&to={name}"):
        response = compared(bob, memory, query)
        assert "This memory has no version" in response.context["problem"]
        assert "<script>alert" not in response.content.decode()


def test_a_version_of_another_memory_is_not_taken(memory: Memory, caller: Caller, bob: User) -> None:
    other = caller.create("/b.md", "secret\n").head
    assert "no version" in compared(bob, memory, f"?from={other.pk}&to=1").context["problem"]


def test_the_same_version_twice_differs_in_nothing(memory: Memory, bob: User) -> None:
    assert "Both texts are the same." in compared(bob, memory, "?from=2&to=2").content.decode()


def test_unified_and_split(memory: Memory, bob: User) -> None:
    assert "diff-unified" in compared(bob, memory, "?from=1&to=2").content.decode()
    assert "diff-split" in compared(bob, memory, "?from=1&to=2&mode=split").content.decode()
    assert "diff-unified" in compared(bob, memory, "?from=1&to=2&mode=%3Cx%3E").content.decode()


def test_white_space_can_be_ignored(memory: Memory, bob: User) -> None:
    assert compared(bob, memory, "?from=2&to=3").context["diff"].changes == 1
    response = compared(bob, memory, "?from=2&to=3&w=1")
    assert response.context["diff"].changes == 0
    assert "Only white space differs." in response.content.decode()
    assert response.context["options"].other_whitespace == "from=2&to=3"


def test_context_is_collapsed_and_opens(memory: Memory, bob: User) -> None:
    short = compared(bob, memory, "?from=1&to=2&mode=split").content.decode()
    assert "line 12" not in short
    assert "?from=1&amp;to=2&amp;mode=split&amp;context=all" in short
    assert "line 12" in compared(bob, memory, "?from=1&to=2&mode=split&context=all").content.decode()


def test_each_link_keeps_the_rest_of_the_view(memory: Memory, bob: User) -> None:
    options = compared(bob, memory, "?from=1&to=2&mode=split&w=1&context=all").context["options"]
    assert options.unified == "from=1&to=2&w=1&context=all"
    assert options.swapped == "from=2&to=1&mode=split&w=1&context=all"
    assert options.other_context == "from=1&to=2&mode=split&w=1"


def test_hidden_characters_are_shown(caller: Caller, bob: User) -> None:
    memory = caller.create("/h.md", "one\n")
    caller.call("insert", path="/memories/h.md", insert_line=1, insert_text=HOSTILE + "\n")
    for mode in ("unified", "split"):
        body = compared(bob, memory, f"?from=1&to=2&mode={mode}").content.decode()
        assert "<script>alert" not in body
        assert "\u202e" not in body
        assert "hidden-character" in body


def test_a_redacted_version_cannot_be_compared(memory: Memory, bob: User) -> None:
    with tampering():
        MemoryVersion.objects.of_memory(memory).filter(number=1).update(text=None, redacted_at=AT)
    response = compared(bob, memory, "?from=1&to=2")
    assert response.context["diff"] is None
    assert "cannot be compared" in response.content.decode()


def test_10000_equal_lines_are_compared_quickly(caller: Caller, bob: User) -> None:
    memory = caller.create("/long.md", "x\n" * 10_000)
    caller.call("insert", path="/memories/long.md", insert_line=5000, insert_text="y\n")
    assert compared(bob, memory, "?from=1&to=2").context["diff"].added == 1


@pytest.mark.both_databases
def test_versions_are_chosen_by_their_times_and_a_week_ago_by_a_link(memory: Memory, agent: Agent, bob: User) -> None:
    page = compared(bob, memory, "?from=1&to=2").content.decode()
    count = memory.version_count
    assert page.count("<option") == 2 * count and " Nov 2025, " in page
    assert page.count(f" · {isolated(agent.name)}</option>") == 2 * count and page.count(f" by {agent.name}") == 2
    assert f'href="?from={count}&amp;to={count}"' in page and "Compare a week ago with now" in page
    with tampering():
        MemoryVersion.objects.filter(memory=memory, number__gt=1).update(created_at=timezone.now())
    assert f'href="?from=1&amp;to={count}"' in compared(bob, memory, "?from=2&to=3").content.decode()


def test_where_only_the_path_is_different_it_says_so(caller: Caller, bob: User) -> None:
    memory = caller.create("/here.md", "one\n")
    caller.edit("/here.md", new_path="/elsewhere.md")
    page = compared(bob, memory).content.decode()
    assert "Only the path is different:" in page and "Both texts are the same" not in page

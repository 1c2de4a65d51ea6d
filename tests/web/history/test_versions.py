"""The timeline of a memory's versions, and the page of each version."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.models import Door, Memory, MemoryStore, MemoryText, MemoryVersion, User
from memoryhub.web.history import versions
from tests.support.fixtures import AT, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


def timeline(user: User, memory: Memory, query: str = "") -> Any:
    response = signed_in(user).get(reverse("versions", args=[memory.store_id, memory.pk]) + query)
    assert response.status_code == 200
    return response


def version_page(user: User, version: MemoryVersion, query: str = "") -> Any:
    response = signed_in(user).get(reverse("version", args=[version.store_id, version.pk]) + query)
    assert response.status_code == 200
    return response


def numbers(response: Any) -> list[int]:
    return [row.version.number for row in response.context["rows"]]


class TestTimeline:
    def test_it_tells_who_did_what_when_and_how_much(self, caller: Caller, alice: User, bob: User) -> None:
        memory = caller.create("/a.md", "one\ntwo\n")
        caller.replace("/a.md", "two", "2\n3")
        act = Act(Actor.person(alice), Door.WEB, caller.at, note="a better name")
        curation.rename(memory.store_id, "/a.md", "/b.md", act)
        response = timeline(bob, memory)
        renamed, replaced, created = response.context["rows"]
        assert numbers(response) == [3, 2, 1]
        assert (created.added, created.removed) == (2, 0)
        assert (replaced.added, replaced.removed) == (2, 1)
        assert (renamed.added, renamed.removed, renamed.moved_from) == (0, 0, "/a.md")
        assert (replaced.entry.command, replaced.entry.label) == ("str_replace", "Support bot")
        assert replaced.session == "run-1"
        assert (renamed.entry.label, renamed.entry.note, renamed.is_current) == ("Alice", "a better name", True)
        body = response.content.decode()
        assert "a better name" in body
        assert 'title="str_replace">replaced text<' in body
        assert body.count(">created<") == 1, "the operation and the command of the first version say the same"
        assert "unreviewed" in body
        assert reverse("entry", args=[memory.store_id, replaced.version.seq]) in body

    def test_a_memory_in_the_trash_has_its_timeline(self, caller: Caller, alice: User) -> None:
        memory = caller.create("/a.md", "one\ntwo\n")
        caller.delete("/a.md")
        response = timeline(alice, memory)
        deleted = response.context["rows"][0]
        assert (deleted.version.operation, deleted.added, deleted.removed) == ("deleted", 0, 2)
        assert response.context["restorable"].number == 1
        assert reverse("restore_version", args=[memory.store_id, memory.head_id]) in response.content.decode()

    def test_each_earlier_version_with_a_text_can_be_restored_from_its_row(self, caller: Caller, alice: User) -> None:
        memory = caller.create("/a.md", "one\n")
        first, second = memory.head, caller.replace("/a.md", "one", "two")
        page = timeline(alice, memory).content.decode()
        assert reverse("restore_version", args=[memory.store_id, first.pk]) in page
        assert reverse("restore_version", args=[memory.store_id, second.pk]) not in page, "it is the current one"
        assert '<span class="visually-hidden"> version 1</span>' in page

    def test_a_viewer_is_offered_no_restoring(self, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\n")
        first = memory.head
        caller.replace("/a.md", "one", "1")
        assert "/restore" not in version_page(bob, first).content.decode() + timeline(bob, memory).content.decode()
        caller.delete("/a.md")
        assert "/restore" not in timeline(bob, memory).content.decode()

    def test_pages_go_by_number_there_and_back(
        self, caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(versions, "PAGE", 10)
        memory = caller.create("/a.md", "0\n")
        for number in range(24):
            caller.replace("/a.md", str(number), str(number + 1))
        first = timeline(bob, memory)
        second = timeline(bob, memory, f"?before={first.context['older']}")
        third = timeline(bob, memory, f"?before={second.context['older']}")
        assert numbers(first) + numbers(second) + numbers(third) == list(range(25, 0, -1))
        assert (first.context["newer"], third.context["older"]) == (None, None)
        assert numbers(timeline(bob, memory, f"?after={third.context['newer']}")) == numbers(second)
        assert numbers(timeline(bob, memory, f"?after={second.context['newer']}")) == numbers(first)
        assert all((row.added, row.removed) == (1, 1) for row in second.context["rows"])

    @pytest.mark.parametrize(
        "query", ["?before=x", "?before=-1", "?after=", "?after=999999999999999999999", "?before=²"]
    )
    def test_a_place_that_is_no_number_shows_the_newest(self, query: str, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\n")
        assert numbers(timeline(bob, memory, query)) == [1]

    @pytest.mark.both_databases
    def test_past_the_ends_there_is_nothing_or_the_newest(self, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\n")
        assert numbers(timeline(bob, memory, "?before=1")) == []
        assert numbers(timeline(bob, memory, "?after=5")) == [1]

    def test_a_redacted_version_is_listed_without_counts(self, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\n")
        caller.replace("/a.md", "one", "1")
        redact(memory.head)
        response = timeline(bob, memory)
        assert [(row.added, row.removed) for row in response.context["rows"]] == [(None, None), (None, None)]
        assert "redacted" in response.content.decode()

    @pytest.mark.both_databases
    def test_hostile_text_is_inert(self, caller: Caller, alice: User, bob: User) -> None:
        caller.session = HOSTILE.encode("ascii", "ignore").decode()
        memory = caller.create("/<b>&quot;.md", HOSTILE)
        act = Act(Actor.person(alice), Door.WEB, caller.at, note=HOSTILE)
        curation.edit(memory.store_id, memory.pk, HOSTILE + "\n" + HOSTILE, memory.sha256, act)
        memory.refresh_from_db()
        for response in (timeline(bob, memory), version_page(bob, memory.head)):
            body = response.content.decode()
            assert "<script>alert" not in body
            assert "\u202e" not in body
            assert "<b>&quot" not in body


def redact(version: MemoryVersion) -> None:
    """As a redaction leaves a version."""
    with tampering():
        MemoryVersion.objects.filter(pk=version.pk).update(text=None, redacted_at=AT, redacted_by="user_x")


class TestVersionPage:
    def test_it_shows_the_text_of_its_time_with_numbered_lines(self, caller: Caller, bob: User) -> None:
        first = caller.create("/a.md", "one\ntwo\n").head
        caller.replace("/a.md", "two", "2")
        response = version_page(bob, first)
        body = response.content.decode()
        assert 'id="L2"' in body
        assert "<code>two</code>" in body
        assert not response.context["is_current"]
        assert response.context["next"].number == 2
        assert response.context["previous"] is None
        assert reverse("entry", args=[first.store_id, first.seq]) in body

    def test_its_time_follows_what_was_done_then_and_not_the_review(self, caller: Caller, bob: User) -> None:
        page = version_page(bob, caller.create("/a.md", "one\n").head).content.decode()
        lead = page[page.index('<span class="badge badge-created">') :]
        assert lead.index("<time") < lead.index(">current<") < lead.index("awaits review")

    def test_the_newest_version_says_that_it_is_current(self, caller: Caller, bob: User) -> None:
        response = version_page(bob, caller.create("/a.md", "one\n").head)
        assert "This is the current version." in response.content.decode()

    def test_a_deletion_and_a_redacted_version_have_no_text(self, caller: Caller, alice: User) -> None:
        memory = caller.create("/a.md", "one\n")
        created = memory.head
        caller.delete("/a.md")
        memory.refresh_from_db()
        assert "This version deleted the memory" in version_page(alice, memory.head).content.decode()
        redact(created)
        body = version_page(alice, created).content.decode()
        assert "was removed permanently" in body
        assert "/restore" not in body

    def test_an_empty_text_is_a_text(self, caller: Caller, bob: User) -> None:
        assert "The text is empty." in version_page(bob, caller.create("/a.md", "").head).content.decode()

    def test_a_very_long_text_comes_in_parts(self, caller: Caller, bob: User) -> None:
        version = caller.create("/a.md", "x\n" * 30_000).head
        first = version_page(bob, version)
        assert first.context["lines"].next == 20_001
        assert version_page(bob, version, "?first=20001").context["lines"].first == 20_001


class TestAccess:
    @pytest.fixture
    def addresses(self, caller: Caller) -> list[str]:
        memory = caller.create("/a.md", "one\n")
        store = memory.store_id
        return [
            reverse("versions", args=[store, memory.pk]),
            reverse("compare", args=[store, memory.pk]),
            reverse("version", args=[store, memory.head_id]),
            reverse("restore_version", args=[store, memory.head_id]),
        ]

    def test_charlie_finds_nothing(self, addresses: list[str], charlie: User) -> None:
        client = signed_in(charlie)
        assert [client.get(address).status_code for address in addresses] == [404] * 4

    def test_who_has_not_signed_in_is_sent_to_sign_in(self, addresses: list[str]) -> None:
        assert [Client().get(address).status_code for address in addresses] == [302] * 4

    def test_pages_that_only_show_take_no_other_method(self, addresses: list[str], alice: User) -> None:
        client = signed_in(alice)
        assert [client.post(address).status_code for address in addresses[:3]] == [405] * 3
        assert client.put(addresses[3]).status_code == 405

    def test_what_is_of_another_store_is_not_found(
        self, addresses: list[str], superuser: User, store: MemoryStore
    ) -> None:
        client = signed_in(superuser)
        assert [client.get(a.replace(store.id, "memstore_x")).status_code for a in addresses] == [404] * 4
        text = MemoryText.objects.get()
        for name in ("versions", "compare", "version", "restore_version"):
            assert client.get(reverse(name, args=[store.id, text.pk])).status_code == 404

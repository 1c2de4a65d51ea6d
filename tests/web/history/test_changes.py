"""The page of what changed between two moments."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.retention import removal
from memoryhub.actions.review import decisions
from memoryhub.models import Access, Agent, AuditEntry, Door, Memory, MemoryStore, MemoryVersion, User, Viewed
from memoryhub.web.history import changes as changes_page
from memoryhub.web.history.changes import between as changes_between
from tests.support.fixtures import AT, BY, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    caller = Caller(store, key)
    for path in ("/keeps.md", "/changes.md", "/goes.md", "/moves.md"):
        caller.create(path, f"{path}\n")
    return caller


@pytest.fixture
def after(caller: Caller) -> int:
    """What follows this entry is one of each kind."""
    seq = caller.last.seq
    caller.replace("/changes.md", "changes", "changed")
    caller.delete("/goes.md")
    caller.call("rename", old_path="/memories/moves.md", new_path="/memories/d/moved.md")
    caller.create("/new.md", "new\n")
    return seq


@pytest.fixture
def look(bob: User) -> Client:
    return signed_in(bob)


def get(client: Client, store: MemoryStore, query: str = "") -> Any:
    response = client.get(reverse("changes", args=[store.id]) + query)
    assert response.status_code == 200
    return response


def rows(response: Any) -> list[tuple[str, list[str], bool]]:
    """(path, kinds, is a diff shown) of each row."""
    return [(r.of.path, [k.value for k in r.of.kinds], r.diff is not None) for r in response.context["rows"]]


def test_each_kind_is_listed_with_its_diff(caller: Caller, after: int, look: Client) -> None:
    page = get(look, caller.store, f"?from={after}")
    assert rows(page) == [
        ("/changes.md", ["changed"], True), ("/d/moved.md", ["renamed"], False),
        ("/goes.md", ["deleted"], True), ("/new.md", ["added"], True),
    ]  # fmt: skip
    assert dict(page.context["counts"]) == {"added": 1, "changed": 1, "renamed": 1, "deleted": 1}
    assert "/moves.md → " in page.content.decode()


def test_a_kind_is_a_filter_that_stays_in_the_address(caller: Caller, after: int, look: Client) -> None:
    page = get(look, caller.store, f"?from={after}&kind=deleted")
    assert [path for path, _, _ in rows(page)] == ["/goes.md"]
    assert page.context["here"].endswith(f"?from={after}&to={caller.last.seq}&kind=deleted")
    assert len(rows(get(look, caller.store, f"?from={after}&kind=nonsense"))) == 4


def test_dates_are_moments_too(caller: Caller, after: int, look: Client) -> None:
    at = caller.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert rows(get(look, caller.store, f"?from={after}&to={at}")) == rows(get(look, caller.store, f"?from={after}"))
    early = get(look, caller.store, "?from=1990-01-01")
    assert "did not exist yet" in early.content.decode()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?from=abc", "not a date"),
        ("?to=999999", "no entry 999999 yet"),
        ("?from=2999-01-01", "is in the future"),
        ("?from=99999&to=0", "The two moments were swapped"),
        ("?from=-1", "not a date"),
        ("?from=" + "9" * 40, "not a date"),
    ],
)
def test_what_cannot_be_is_said(query: str, sentence: str, caller: Caller, look: Client) -> None:
    assert sentence in get(look, caller.store, query).content.decode()


def test_without_an_address_it_is_the_last_day(caller: Caller, after: int, look: Client) -> None:
    page = get(look, caller.store)
    assert (page.context["ends"].first, page.context["ends"].last) == (0, caller.last.seq)
    assert {path for path, _, _ in rows(page)} == {"/changes.md", "/d/moved.md", "/keeps.md", "/new.md"}


def test_moments_without_a_difference_say_so(caller: Caller, look: Client) -> None:
    page = get(look, caller.store, f"?from={caller.last.seq}")
    assert "No differences" in page.content.decode()


def test_diffs_beyond_the_first_are_folded_with_a_link(
    caller: Caller, after: int, look: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_page, "MOST_DIFFS", 1)
    page = get(look, caller.store, f"?from={after}")
    assert [shown for _, _, shown in rows(page)] == [True, False, False, False]
    assert page.content.decode().count(" is not shown here.") == 2
    monkeypatch.setattr(changes_page, "MOST_BYTES", 0)
    assert not any(shown for _, _, shown in rows(get(look, caller.store, f"?from={after}")))


def test_pages_follow_one_another(caller: Caller, after: int, look: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_between, "SIZE", 1)
    seen, url = [], f"?from={after}"
    while url:
        page = get(look, caller.store, url)
        seen += [path for path, _, _ in rows(page)]
        url = page.context["next_url"].partition("changes")[2]
    assert sorted(seen) == ["/changes.md", "/d/moved.md", "/goes.md", "/new.md"]


def test_a_redacted_text_is_said_and_not_compared(caller: Caller, after: int, look: Client) -> None:
    memory = Memory.objects.get(path="/changes.md")
    with tampering():
        MemoryVersion.objects.of_memory(memory).filter(number=1).update(text=None, sha256=None, redacted_at=AT)
    page = get(look, caller.store, f"?from={after}&kind=changed")
    assert rows(page) == [("/changes.md", ["changed"], False)]
    assert "removed permanently" in page.content.decode()


def test_hostile_texts_are_shown_as_text(caller: Caller, look: Client) -> None:
    caller.create("/<b>.md", HOSTILE)
    page = get(look, caller.store, "?from=0").content.decode()
    assert "<script>alert" not in page and "\u202e" not in page and "<b>.md" not in page


def test_only_curators_are_offered_to_restore_and_only_to_now(
    caller: Caller, after: int, alice: User, bob: User
) -> None:
    restore = reverse("restore_moment", args=[caller.store.id, after])
    assert restore in get(signed_in(alice), caller.store, f"?from={after}").content.decode()
    assert restore not in get(signed_in(bob), caller.store, f"?from={after}").content.decode()
    assert restore not in get(signed_in(alice), caller.store, f"?from={after}&to={after + 1}").content.decode()


def test_charlie_finds_nothing_and_a_post_is_refused(caller: Caller, look: Client, charlie: User) -> None:
    url = reverse("changes", args=[caller.store.id])
    assert signed_in(charlie).get(url).status_code == 404
    assert look.post(url).status_code == 405


def test_the_changes_since_ones_own_last_approval(caller: Caller, store: MemoryStore, alice: User, bob: User) -> None:
    version = MemoryVersion.objects.get(store=store, path="/keeps.md", number=1)
    assert "You have not approved anything in this memory store yet." in words(alice, store, "?from=approved")
    decisions.approve(store.pk, version.pk, Act(Actor.person(alice), Door.WEB, AT), earlier=0)
    caller.replace("/changes.md", "changes", "changed")
    page = get(signed_in(alice), store, "?from=approved")
    assert rows(page) == [("/changes.md", ["changed"], True)]
    assert "What changed since you last approved" in page.content.decode()
    assert "You have not approved anything" in words(bob, store, "?from=approved")


def words(user: User, store: MemoryStore, query: str) -> str:
    return str(get(signed_in(user), store, query).content.decode())


class TestViewed:
    def mark(self, client: Client, version: MemoryVersion, viewed: str = "1", **headers: Any) -> Any:
        url = reverse("viewed", args=[version.store_id, version.pk])
        return client.post(url, {"viewed": viewed, "next": "/stores"}, headers=headers)

    def head(self, store: MemoryStore, path: str) -> MemoryVersion:
        return MemoryVersion.objects.filter(store=store, path=path).latest("seq")

    def viewed(self, client: Client, store: MemoryStore, after: int) -> list[str]:
        response = get(client, store, f"?from={after}")
        marked = [row.of.path for row in response.context["rows"] if row.viewed]
        html = response.content.decode()
        assert f"{len(marked)} of 4 viewed" in html
        assert html.count(" data-viewed>") == len(marked)
        return marked

    def test_a_mark_is_for_its_person_and_ends_when_the_memory_changes_again(
        self, caller: Caller, after: int, look: Client, alice: User
    ) -> None:
        store = caller.store
        response = self.mark(look, self.head(store, "/changes.md"))
        assert (response.status_code, response["Location"]) == (303, "/stores")
        assert self.viewed(look, store, after) == ["/changes.md"]
        assert self.viewed(signed_in(alice), store, after) == []
        caller.replace("/changes.md", "changed", "changed again")
        assert self.viewed(look, store, after) == []
        self.mark(look, self.head(store, "/changes.md"))
        self.mark(look, self.head(store, "/goes.md"))
        assert self.viewed(look, store, after) == ["/changes.md", "/goes.md"]
        self.mark(look, self.head(store, "/goes.md"), "0")
        assert self.viewed(look, store, after) == ["/changes.md"]

    def test_htmx_gets_the_mark_alone_and_no_entry_is_written(self, caller: Caller, after: int, look: Client) -> None:
        last = AuditEntry.objects.count()
        response = self.mark(look, self.head(caller.store, "/new.md"), HX_Request="true")
        assert response.status_code == 200
        html = response.content.decode()
        assert html.count("<form") == 1 and " data-viewed>" in html and 'aria-pressed="true"' in html
        assert AuditEntry.objects.count() == last

    def test_it_is_only_for_members_and_only_for_versions_of_the_store(
        self, caller: Caller, look: Client, charlie: User
    ) -> None:
        version = self.head(caller.store, "/keeps.md")
        assert self.mark(signed_in(charlie), version).status_code == 404
        assert look.get(reverse("viewed", args=[caller.store.pk, version.pk])).status_code == 405
        assert look.post(reverse("viewed", args=[caller.store.pk, "memver_none"])).status_code == 404
        assert Viewed.objects.count() == 0

    @pytest.mark.both_databases
    def test_marks_go_with_a_purged_memory(self, caller: Caller, after: int, look: Client, alice: User) -> None:
        version = self.head(caller.store, "/goes.md")
        self.mark(look, version)
        assert Viewed.objects.count() == 1
        with tree.locked(caller.store.pk, Act(Actor.person(alice), Door.WEB, AT)) as store:
            removal.purge(store, version.memory_id)
            tree.commit(store, Record("expire"))
        assert Viewed.objects.count() == 0


@pytest.fixture
def other(caller: Caller) -> Caller:
    """Another agent of the store."""
    agent = keys_and_roles.create_agent("Shipping bot", **BY)
    secret = keys_and_roles.issue_key(agent, stores=[caller.store], access=Access.WRITE, **BY)[1]
    return Caller(caller.store, secret, at=caller.at)


@pytest.mark.both_databases
def test_an_agent_is_a_filter_of_what_it_changed_even_if_others_changed_it_later(
    caller: Caller, other: Caller, look: Client
) -> None:
    other.replace("/goes.md", "goes", "before the first moment")
    seq = caller.last.seq
    other.create("/other.md", "by the other\n")
    other.replace("/changes.md", "changes", "by the other")
    caller.replace("/changes.md", "by the other", "by both")
    caller.replace("/goes.md", "before", "after")
    caller.create("/new.md", "new\n")
    agent = Agent.objects.get(name="Shipping bot")
    page = get(look, caller.store, f"?from={seq}&agent={agent.pk}")
    assert [path for path, _, _ in rows(page)] == ["/changes.md", "/other.md"]
    assert dict(page.context["counts"])["added"] == 1
    added = page.context["kind_urls"]["added"]
    assert f"&agent={agent.pk}" in added and f'value="{agent.pk}" selected' in page.content.decode()
    assert [path for path, _, _ in rows(look.get(added))] == ["/other.md"]
    nothing = get(look, caller.store, f"?from={caller.last.seq}&agent={agent.pk}").content.decode()
    assert "Shipping bot changed none of the memories that differ between these moments." in nothing
    assert len(rows(get(look, caller.store, f"?from={seq}&agent=agent_unknown"))) == 4


def test_only_agents_that_are_known_in_the_store_can_be_chosen(caller: Caller, other: Caller, look: Client) -> None:
    keys_and_roles.create_agent("Elsewhere", **BY)
    body = get(look, caller.store).content.decode()
    assert "Shipping bot" in body and "Support bot" in body and "Elsewhere" not in body

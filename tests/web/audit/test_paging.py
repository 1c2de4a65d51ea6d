"""Paging through the audit by key: nothing is lost or repeated, and each filter reads its own index."""

from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.actions.verification import entries as audit_look
from memoryhub.models import Access, Agent, AuditChain, AuditEntry, MemoryStore, User
from memoryhub.web.audit import entries as audit, queries
from memoryhub.web.audit.queries import Search, newer_page, older_page
from tests.support.fixtures import AT, BY, signed_in
from tests.support.long import LONG
from tests.web.history.versions import Caller, commands, page, seqs

pytestmark = pytest.mark.django_db


@dataclass(frozen=True, slots=True)
class Calls:
    """Two stores, of which only the superuser has a say in the other, and the agent that calls both."""

    caller: Caller
    other: Caller
    agent: Agent


def new_calls(name: str = "Support bot") -> Calls:
    """Calls that have not been made yet."""
    store, other = (stores.create_store(stores.StoreSettings(name=name), **BY) for name in ("Support", "Secret"))
    agent = keys_and_roles.create_agent(name, **BY)
    _, key = keys_and_roles.issue_key(agent, stores=[store], access=Access.WRITE, **BY)
    _, broad = keys_and_roles.issue_key(agent, all_stores=True, **BY)
    return Calls(Caller(store, key, session="run-1"), Caller(other, broad), agent)


@pytest.fixture
def caller(made: Calls, db: None) -> Caller:
    """The agent after the calls that the class has made for all its tests."""
    return copy(made.caller)


@pytest.fixture
def store(made: Calls, db: None) -> MemoryStore:
    return made.caller.store


class TestPaging:
    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, rows_of_class: None, django_db_blocker: DjangoDbBlocker) -> Calls:
        """Three chains with 190 entries between them, some at the same moment; one has more than two pages."""
        with django_db_blocker.unblock():
            calls = new_calls()
            for number in range(102):
                calls.other.at = calls.caller.at - timedelta(minutes=number % 3)
                calls.caller.call("view", path="/memories")
                if number % 2:
                    calls.other.call("view", path=f"/memories/{number % 4}")
            for number in range(30):
                changed: dict[str, Any] = {"name": "Support bot", "description": str(number)}
                keys_and_roles.edit_agent(calls.agent, **changed, **(BY | {"at": AT}))
        return calls

    @pytest.fixture
    def chains(self, made: Calls, db: None) -> list[str]:
        return list(AuditChain.objects.values_list("pk", flat=True))

    def test_a_page_without_matches_merges_each_of_many_chains_once(
        self, made: Calls, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(9):
            stores.create_store(stores.StoreSettings(name=f"Store {number}"), **BY)
        merged, merge = [], queries.heapq.merge

        def counted(*parts: Any, **options: Any) -> Any:
            merged.append(len(parts))
            return merge(*parts, **options)

        monkeypatch.setattr(queries.heapq, "merge", counted)
        chains = list(AuditChain.objects.values_list("pk", flat=True))
        assert older_page(Search(author="user_none"), chains).entries == []
        assert sum(merged) == 2 * len(chains) >= 24

    def test_pages_lose_and_repeat_nothing_while_entries_arrive(self, chains: list[str], caller: Caller) -> None:
        entries = list(AuditEntry.objects.only("chain", "seq", "command", "ok", "at"))
        expected = {(entry.chain, entry.seq) for entry in entries}
        for search in (Search(), Search(command="view"), Search(ok=False), Search(start=AT + timedelta(hours=1))):
            wanted = {(entry.chain, entry.seq) for entry in entries if matches(search, entry)}
            found, before, pages = [], None, 0
            while pages == 0 or before:
                part = older_page(search, chains, before, size=17)
                found += [(entry.chain, entry.seq) for entry in part.entries]
                before, pages = part.older, pages + 1
                caller.call("view", path="/memories")
            assert len(found) == len(set(found))
            assert set(found) == wanted | (set(found) - expected)
            assert wanted <= set(found)

    def test_within_a_chain_the_order_is_seq(self, chains: list[str]) -> None:
        for chain in chains:
            found = older_page(Search(), [chain], size=100).entries
            assert [entry.seq for entry in found] == sorted((entry.seq for entry in found), reverse=True)

    @pytest.mark.both_databases
    def test_newer_leads_back_over_the_same_pages(self, chains: list[str]) -> None:
        pages, before = [], None
        while not pages or before:
            part = older_page(Search(), chains, before, size=23)
            pages.append(part.entries)
            before = part.older
        back = part
        for expected in reversed(pages[:-1]):
            assert back.newer is not None
            back = newer_page(Search(), chains, back.newer, size=23)
            assert [entry.pk for entry in back.entries] == [entry.pk for entry in expected]
        assert back.newer is None

    def test_a_clock_that_was_set_back_loses_nothing(self) -> None:
        calls = new_calls("Bot with another clock")
        caller, other = calls.caller, calls.other
        for number in range(24):
            caller.at = AT + timedelta(minutes=(number * 37) % 24)
            other.at = AT + timedelta(minutes=(number * 17) % 24)
            caller.call("view", path="/memories")
            other.call("view", path="/memories")
        chains = [caller.store.id, other.store.id]
        expected = set(AuditEntry.objects.filter(chain__in=chains).values_list("chain", "seq"))
        for size in (1, 5, 20):
            found, before, first = [], None, True
            while first or before:
                part = older_page(Search(), chains, before, size=size)
                found += [(entry.chain, entry.seq) for entry in part.entries]
                before, first = part.older, False
            assert len(found) == len(expected)
            assert set(found) == expected

    @pytest.mark.both_databases
    def test_the_links_of_the_page_keep_the_filter(self, chains: list[str], alice: User, caller: Caller) -> None:
        client = signed_in(alice)
        first = page(client, caller.store, q="command:view outcome:ok")
        second = client.get(f"{reverse('store_audit', args=[caller.store.id])}?{first.context['older']}")
        assert len(seqs(second)) == 50
        assert max(seqs(second)) < min(seqs(first))
        assert set(commands(second)) == {"view"}
        again = client.get(f"{reverse('store_audit', args=[caller.store.id])}?{second.context['newer']}")
        assert seqs(again) == seqs(first)

    @pytest.mark.both_databases(each_case=True)
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="the plans are SQLite's")
    @pytest.mark.parametrize(
        ("search", "index"),
        [
            (Search(), "sqlite_autoindex_memoryhub_auditentry_1"),
            (Search(author="agent_x"), "entry_by_author"),
            (Search(session="sesn_x"), "entry_by_session"),
            (Search(command="view"), "entry_by_command"),
            (Search(path="/notes/a.md"), "entry_by_path"),
            (Search(path="/notes/"), "entry_by_path"),
            (Search(ok=False), "entry_by_error"),
            (Search(start=AT), "entry_by_time"),
            (Search(end=AT), "entry_by_time"),
            (Search(start=AT, end=AT + timedelta(days=1), author="agent_x"), "entry_by_author"),
            (Search(start=AT, command="view"), "entry_by_command"),
        ],
    )
    def test_each_filter_uses_its_index(self, search: Search, index: str, caller: Caller) -> None:
        for number in range(3):
            caller.call("view", path=f"/memories/{number}")
        with CaptureQueriesContext(connection) as queries:
            search.first(caller.store.id, 1, 10**6, 51)
        plans = [plan(query["sql"]) for query in queries.captured_queries]
        assert any(index in line for lines in plans for line in lines), plans
        assert not [line for lines in plans for line in lines if line.startswith("SCAN memoryhub")], plans


def matches(search: Search, entry: AuditEntry) -> bool:
    return (
        (search.command is None or entry.command == search.command)
        and (search.ok is None or entry.ok == search.ok)
        and (search.start is None or entry.at >= search.start)
    )


def plan(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("explain query plan " + sql.replace("%", "%%"))
        return [row[3] for row in cursor.fetchall()]


class TestBoundedLooks:
    """A page that several filters share, or one without an index, looks at so many entries and says how far it came."""

    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, rows_of_class: None, django_db_blocker: DjangoDbBlocker) -> Calls:
        """Two chains in which memories are made, moved and read, now and then with an error."""
        with django_db_blocker.unblock():
            calls = new_calls()
            caller, other = calls.caller, calls.other
            for number in range(60 if LONG else 20):
                for one in (caller, other):
                    one.call("create", path=f"/memories/{number % 3}/{number}.md", file_text="a")
                    one.call("view", path=f"/memories/{number % 7}/{number}.md")
                other.at = caller.at - timedelta(minutes=number % 5)
                if number % 10 == 9:
                    caller.call("rename", old_path=f"/memories/{number % 3}", new_path=f"/memories/moved/{number}")
        return calls

    @pytest.fixture
    def chains(self, made: Calls, db: None) -> list[str]:
        return [made.caller.store.id, made.other.store.id]

    SEARCHES = (
        Search(door="tool"), Search(ok=True), Search(command="view", ok=False), Search(command="rename", ok=False),
        Search(path="/1/", door="tool"), Search(path="/moved/", command="rename"), Search(path="/moved/9/0.md"),
        Search(path="/0/0.md"), Search(path="/0/0.md", ok=False), Search(door="web", command="view"),
        Search(path="/0/", ok=False, start=AT + timedelta(minutes=12), end=AT + timedelta(minutes=90)),
    )  # fmt: skip

    @pytest.mark.both_databases(each_case=True)
    @pytest.mark.parametrize("search", SEARCHES, ids=str)
    @pytest.mark.parametrize("few", [0, 5_000])
    def test_pages_of_short_looks_hold_what_one_long_look_finds(
        self, search: Search, few: int, chains: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = [entry.pk for entry in older_page(search, chains, size=10_000, most=10_000).entries]
        monkeypatch.setattr(audit_look, "FEW", few)
        monkeypatch.setattr(audit_look, "_FIRST_PART", 7)
        found, part = [], None
        while part is None or part.older:
            part = older_page(search, chains, part and part.older, size=5, most=20)
            found += [entry.pk for entry in part.entries]
        assert found == whole
        back = [entry.pk for entry in part.entries][::-1]
        while part.newer:
            part = newer_page(search, chains, part.newer, size=5, most=20)
            back += [entry.pk for entry in part.entries][::-1]
        assert back == whole[::-1]

    def test_what_moved_into_a_place_or_out_of_it_is_about_it(self, chains: list[str], caller: Caller) -> None:
        caller.create("/old/a.md", "a")
        made = caller.last.seq
        caller.call("rename", old_path="/memories/old", new_path="/memories/new")
        moved = caller.last.seq
        for path in ("/new/a.md", "/new/"):
            assert [entry.seq for entry in older_page(Search(path=path), chains[:1]).entries] == [moved]
        assert [entry.seq for entry in older_page(Search(path="/old/a.md"), chains[:1]).entries] == [moved, made]

    @pytest.mark.both_databases
    def test_the_page_says_how_far_it_looked_and_goes_on(
        self, chains: list[str], alice: User, caller: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(audit, "MOST", 20)
        client = signed_in(alice)
        first = page(client, caller.store, q="command:create door:tool path:/0/0.md outcome:error")
        assert not first.context["rows"]
        assert first.context["reached"] is None  # a path's own entries are few
        first = page(client, caller.store, q="door:tool outcome:error path:/nowhere/")
        assert "No entry matches" in first.content.decode()
        first = page(client, caller.store, q="outcome:ok door:tool command:never")
        assert first.context["reached"] is None
        monkeypatch.setattr(audit_look, "FEW", 0)
        first = page(client, caller.store, q="outcome:ok path:/0/")
        assert "Searched the entries back to" in first.content.decode()
        further = client.get(f"{reverse('store_audit', args=[caller.store.id])}?{first.context['older']}")
        assert len(seqs(further)) > len(seqs(first))
        assert further.context["reached"] is None

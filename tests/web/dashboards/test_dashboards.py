"""The dashboards: numbers that are those of the audit, marks that lead there, filters in the address, tables."""

import csv
import html
import io
import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.findings import findings
from memoryhub.actions.memories import curation
from memoryhub.actions.review import decisions
from memoryhub.actions.stores import stores
from memoryhub.models import (
    HUB,
    Access,
    Agent,
    AuditEntry,
    Door,
    Finding,
    FindingState,
    Memory,
    MemoryStore,
    Role,
    User,
)
from memoryhub.models.audit import ActorKind
from memoryhub.web.dashboards import lists as dashboards_lists
from tests.api.harness import row_counts
from tests.support.fixtures import AT, BY, signed_in
from tests.support.long import some
from tests.web.dashboards.pages import MARK, cells, entries_at, section, text_of, work
from tests.web.findings.flagged import POISON, with_card
from tests.web.history.versions import HOSTILE, Caller
from tests.web.proposals.proposing import holds_back
from tests.web.retention.pages import policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def today(store: MemoryStore, key: str) -> Caller:
    """An agent whose calls are of today, and of the last hour."""
    now = timezone.now()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return Caller(store, key, at=max(now - timedelta(minutes=30), midnight))


class TestPictures:
    @pytest.mark.push
    @pytest.mark.both_databases(each_case=True)
    @pytest.mark.parametrize("which", ["store_overview", "overview"])
    def test_each_mark_leads_to_as_many_entries_as_it_says(self, caller: Caller, alice: User, which: str) -> None:
        work(caller)
        client = signed_in(alice)
        for counted in (False, True):
            if counted:
                figures.catch_up()
            self.marks_lead_to_what_they_say(client, caller.store, which)

    def marks_lead_to_what_they_say(self, client: Client, store: MemoryStore, which: str) -> None:
        parts = [store.id] if which == "store_overview" else []
        text = text_of(client, which, f"?range=all&store={store.id}", *parts)
        marks = MARK.findall(section(text, "operations"))
        assert len(marks) == 5
        for url, name in marks:
            said = re.search(r": ([\d,]+) × (\w+)", name)
            assert said
            assert entries_at(client, url) == int(said[1]), name
        for row in some(cells(text, "operations"), 3):
            for shown, url in row[1:]:
                assert not url or entries_at(client, url) == int(shown)
        for url, shown in re.findall(
            r'row-link" href="([^"]*)".*?bar-value num">(\d+)', section(text, "authors"), re.DOTALL
        ):
            assert entries_at(client, url) == int(shown)
        for (_kind, url), (count, _none) in cells(text, "errors"):
            assert not url or entries_at(client, url) == int(count)

    @pytest.mark.push
    def test_every_mark_of_every_picture_leads_somewhere(self, today: Caller, alice: User) -> None:
        work(today)
        client = signed_in(alice)
        text = text_of(client, "store_overview", "", today.store.id)
        links = set(MARK.findall(text)) | {(url, "") for url in re.findall(r'class="row-link" href="([^"]*)"', text)}
        assert len(links) > 10
        for url, _name in some(sorted(links), 6):
            assert client.get(html.unescape(url)).status_code == 200

    def test_a_picture_says_what_it_shows_and_has_its_table(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        today.call("view", path="/memories/a.md")
        text = text_of(signed_in(alice), "store_overview", "", today.store.id)
        for name in ("operations", "reads", "memories", "bytes"):
            part = section(text, name)
            assert f'<title id="{name}-title">' in part
            assert f'<desc id="{name}-says">' in part
        for name in ("operations", "reads", "memories", "bytes", "authors", "unread", "growing", "map"):
            assert "<details" in section(text, name) or "picture-empty" in section(text, name)
        assert cells(text, "memories")[0][1:] == [("1", ""), ("1", "")]

    def test_growth_is_what_the_store_holds(self, caller: Caller, alice: User) -> None:
        work(caller)
        figures.catch_up()
        text = text_of(signed_in(alice), "store_overview", "?range=all", caller.store.id)
        caller.store.refresh_from_db()
        newest = cells(text, "memories")[0]
        assert newest[1][0] == str(caller.store.memory_count) == "1"
        assert cells(text, "bytes")[0][1][0] == f"{caller.store.total_bytes} B"

    def test_errors_are_told_apart_by_kind(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\none\n")
        today.call("str_replace", path="/memories/a.md", old_str="one", new_str="x")
        today.call("view", path="/memories/nowhere.md")
        today.call("view", path="/elsewhere")
        rows = cells(text_of(signed_in(alice), "store_overview", "", today.store.id), "errors")
        assert {row[0][0]: row[1][0] for row in rows} == {
            "Path does not exist": "1", "Path refused": "1", "Text to replace was found several times": "1",
        }  # fmt: skip

    @pytest.mark.both_databases
    @pytest.mark.parametrize("counted", [True, False])
    def test_a_change_that_became_a_proposal_is_no_error(
        self, today: Caller, agent: Agent, alice: User, counted: bool
    ) -> None:
        holds_back(today.store)
        for path in ("/policies/a.md", "/policies/b.md", "/a.md"):
            today.call("create", path=f"/memories{path}", file_text="one\n")
        today.call("view", path="/memories/nowhere.md")
        client = signed_in(alice)
        if counted:
            figures.catch_up()
        text = text_of(client, "store_overview", "", today.store.id)
        assert {row[0][0]: row[1][0] for row in cells(text, "errors")} == {"Path does not exist": "1"}
        assert "2 more became part of proposals." in section(text, "errors")
        more = re.search(r'<a class="button button-small" href="([^"]+)">What was proposed', section(text, "errors"))
        assert more
        assert entries_at(client, more[1]) == 2
        mine = next(row for row in cells(text, "authors") if row[0][0] == agent.name)
        assert [shown for shown, _ in mine[1:]] == ["1", "1", "1", "2"]
        assert entries_at(client, cells(text, "errors")[0][0][1]) == 1

    def test_what_came_after_the_last_count_is_there_too(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        figures.catch_up()
        today.create("/b.md", "one\n")
        text = text_of(signed_in(alice), "store_overview", "", today.store.id)
        assert cells(text, "memories")[0][1:] == [("2", ""), ("2", "")]
        assert "Counted up to" not in text

    def test_a_page_that_cannot_look_at_all_that_is_new_says_so(
        self, today: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(6):
            today.create(f"/{number}.md", "x")
        monkeypatch.setattr(figures, "ENTRIES", 3)
        for text in (
            text_of(signed_in(alice), "store_overview", "", today.store.id),
            text_of(signed_in(alice), "overview"),
        ):
            assert "Counted up to" in text

    def test_days_are_those_of_utc_and_the_page_says_so(self, today: Caller, alice: User) -> None:
        text = text_of(signed_in(alice), "store_overview", "", today.store.id)
        assert "Days begin and end at midnight UTC." in text

    def test_findings_are_counted_by_day_and_group(self, today: Caller, alice: User) -> None:
        today.create("/poisoned.md", f"{POISON}\n")
        with_card(today)
        client = signed_in(alice)
        text = text_of(client, "store_overview", "?range=7", today.store.id)
        newest, *before = cells(text, "findings")
        assert [shown for shown, _url in newest[1:]] == ["1", "1", "2"]
        assert all(row[-1][0] == "0" for row in before) and "2 are still open" in section(text, "findings")
        finding = Finding.objects.of_store(today.store.id).open().values_list("pk", flat=True)[0]
        findings.decide(
            today.store.id,
            [finding],
            FindingState.DISMISSED,
            "Ours",
            Act(Actor.person(alice), Door.WEB, timezone.now()),
        )
        text = text_of(client, "store_overview", "?range=7", today.store.id)
        assert "2 findings by the day on which they were found; 1 is still open." in section(text, "findings")
        assert f"/stores/{today.store.id}/findings?group=poison" in section(text, "findings")
        assert 'id="findings"' not in text_of(client, "overview")

    def test_who_did_it_has_a_name_and_what_was_done_is_in_words(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        for id, name in ((policy(today.store, "Old tickets").pk, "Old tickets"), ("policy_gone", "Gone")):
            actor = Actor(ActorKind.POLICY.value, id, id, name)
            curation.create(today.store.id, f"/{id}.md", "text", Act(actor, Door.WEB, today.at))
        text = text_of(signed_in(alice), "store_overview", "", today.store.id)
        authors = section(text, "authors")
        assert (
            "Old tickets" in authors
            and "A deleted retention policy" in authors
            and "policy_" not in re.sub("<[^>]*>", "", authors)
        )
        assert 'title="create">Created</span>' in section(text, "operations")


class TestFilters:
    def test_the_range_is_in_the_address(self, caller: Caller, alice: User) -> None:
        work(caller)
        client = signed_in(alice)
        recent = text_of(client, "store_overview", "?range=7", caller.store.id)
        assert "Nothing happened in these days." in recent
        assert len(cells(text_of(client, "store_overview", "?range=all", caller.store.id), "operations")) >= 3
        assert 'aria-current="true">7 days' in recent
        assert 'aria-current="true">30 days' in text_of(client, "store_overview", "?range=nonsense", caller.store.id)

    def test_an_agent_has_figures_of_its_own(self, today: Caller, alice: User, agent: Agent) -> None:
        other = keys_and_roles.create_agent("Second bot", **BY)
        secret = keys_and_roles.issue_key(other, stores=[today.store], access=Access.WRITE, **BY)[1]
        today.create("/a.md", "one\n")
        Caller(today.store, secret, at=today.at).call("view", path="/memories/a.md")
        client = signed_in(alice)
        text = text_of(client, "store_overview", f"?agent={other.pk}", today.store.id)
        assert "1 call or action from" in text
        assert f"agent={other.pk}" in section(text, "operations")
        assert "from all agents; oldest" in " ".join(re.sub(r"<[^>]*>", " ", text).split())
        assert "Remove the filter by agent" in text
        assert 'id="authors"' not in text and 'id="backlog-age"' not in text
        assert "Nothing happened" in text_of(client, "store_overview", "?agent=agent_nobody", today.store.id)

    def test_an_agent_of_other_stores_is_given_no_name(self, today: Caller, alice: User, superuser: User) -> None:
        other = keys_and_roles.create_agent("Elsewhere", **BY)
        elsewhere = stores.create_store(stores.StoreSettings(name="Second"), **BY)
        keys_and_roles.issue_key(other, stores=[elsewhere], **BY)
        assert "Elsewhere" not in text_of(signed_in(alice), "overview", f"?agent={other.pk}")
        assert "Elsewhere" in text_of(signed_in(superuser), "overview", f"?agent={other.pk}")

    def test_the_overview_can_show_one_store(self, today: Caller, alice: User) -> None:
        other = stores.create_store(stores.StoreSettings(name="Second"), **(BY | {"at": timezone.now()}))
        keys_and_roles.set_role(other, alice, Role.VIEWER, **BY)
        today.create("/a.md", "one\n")
        client = signed_in(alice)
        text = text_of(client, "overview", f"?store={other.pk}")
        assert "1 call or action from" in text
        assert f"/stores/{other.pk}/audit?" in section(text, "operations")
        assert "Remove the filter by store" in text
        assert f'<option value="{today.store.pk}">' in text, "the other stores can be chosen"

    def test_an_address_with_nonsense_is_harmless(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        for query in (
            "?range=%E2%80%AE&agent=%22%3E&store=%EF%BF%BF",
            f"?agent={'x' * 5000}",
            "?after=nowhere",
            "?range=",
        ):
            text_of(signed_in(alice), "overview", query)
            text_of(signed_in(alice), "store_overview", query, today.store.id)


class TestLists:
    def test_memories_that_ask_for_something_are_listed(self, caller: Caller, alice: User) -> None:
        caller.at = timezone.now() - timedelta(days=9)
        caller.create("/old.md", "x" * 900)
        caller.create("/grown.md", "one\n")
        caller.at = timezone.now() - timedelta(hours=1)
        for _time in range(3):
            caller.call("view", path="/memories/old.md")
        caller.call("view", path="/memories/grown.md")
        caller.replace("/grown.md", "one", "x" * 99)
        caller.create("/big.md", "x" * 5000)
        text = text_of(signed_in(alice), "store_overview", "", caller.store.id)
        listed = {
            name: [[shown for shown, _url in row] for row in cells(text, name)]
            for name in ("risky", "growing", "unread")
        }
        assert listed == {
            "risky": [["/old.md", "3"]],
            "growing": [["/big.md", "4.9 KB"], ["/grown.md", "96 B"]],
            "unread": [["/big.md", "1"]],
        }
        memory = Memory.objects.at("/big.md").get()
        assert reverse("memory", args=[caller.store.id, memory.pk]) in section(text, "unread")
        assert "1 memory of 4.9 KB that no agent has ever read." in section(text, "unread")

    @pytest.mark.both_databases
    def test_a_large_store_shows_its_lists_as_they_were_made(
        self, today: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(figures, "SMALL", 0)
        today.create("/a.md", "one\n")
        client = signed_in(alice)
        assert "There are no memories yet." in text_of(client, "store_overview", "", today.store.id)
        figures.catch_up()
        figures.make_lists(timezone.now())
        today.create("/b.md", "longer text\n")
        assert cells(text_of(client, "store_overview", "", today.store.id), "map")[0][0][0] == "/a.md"
        today.delete("/a.md")
        assert "/a.md" not in section(text_of(client, "store_overview", "", today.store.id), "map")

    def test_what_awaits_review_is_counted_by_age_and_leads_to_the_inbox(self, caller: Caller, alice: User) -> None:
        caller.create("/old.md", "x")
        caller.at = timezone.now() - timedelta(days=3)
        caller.create("/recent.md", "x")
        caller.at = timezone.now() - timedelta(hours=1)
        caller.create("/new.md", "x")
        caller.replace("/new.md", "x", "y")
        client = signed_in(alice)
        text = text_of(client, "store_overview", "", caller.store.id)
        assert [row[1][0] for row in cells(text, "backlog")] == ["2", "1", "0", "1"]
        assert f"/review?what=version&amp;store={caller.store.id}" in section(text, "backlog")
        act = Act(Actor.person(alice), Door.WEB, timezone.now())
        version = Memory.objects.at("/old.md").get().head_id
        decisions.approve(caller.store.id, version, act, earlier=0)
        text = text_of(client, "store_overview", "", caller.store.id)
        assert [row[1][0] for row in cells(text, "backlog")] == ["2", "1", "0", "0"]

    def test_a_long_backlog_is_not_counted_to_its_end(
        self, today: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dashboards_lists, "MOST", 3)
        for number in range(5):
            today.create(f"/{number}.md", "x")
        text = text_of(signed_in(alice), "store_overview", "", today.store.id)
        assert cells(text, "backlog")[0][1][0] == "2+"


class TestTables:
    def export(self, client: Client, name: str, parts: list[str], **form: str) -> bytes:
        response = client.post(reverse(name, args=parts), form)
        assert response.status_code == 200
        assert "attachment" in response["Content-Disposition"]
        return b"".join(response.streaming_content)  # type: ignore[attr-defined]

    def test_csv_holds_the_numbers_of_the_table_and_is_audited(self, caller: Caller, bob: User) -> None:
        work(caller)
        caller.create("/=1+1.md", "x")
        client, parts = signed_in(bob), [caller.store.id]
        text = text_of(client, "store_overview", "?range=all", caller.store.id)
        for name in ("operations", "reads", "memories", "bytes", "authors", "errors", "map", "unread", "backlog"):
            shown = len(cells(text, name))
            body = self.export(client, "export_store_overview", parts, picture=name, range="all")
            rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
            assert len(rows) >= shown > 0, name
            entry = AuditEntry.objects.of_chain(caller.store.id).newest()[0]
            assert (entry.command, entry.actor_id) == ("export_table", bob.pk)
            assert name in json.loads(entry.input or "")["table"]

    def test_the_tables_of_the_overview_are_told_in_the_hubs_chain(self, today: Caller, bob: User) -> None:
        today.create("/a.md", "one\n")
        body = self.export(signed_in(bob), "export_overview", [], picture="operations", range="7")
        rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
        assert len(rows) == 7
        assert sum(int(row["created"]) for row in rows) == 1
        assert AuditEntry.objects.of_chain(HUB).newest()[0].command == "export_table"

    def test_a_picture_that_there_is_not_is_not_found(self, store: MemoryStore, bob: User) -> None:
        before = row_counts()
        for picture in ("", "nonsense", "unread"):
            url = reverse("export_overview")
            assert signed_in(bob).post(url, {"picture": picture}).status_code == 404
        assert row_counts() == before


class TestHostile:
    def test_names_and_paths_are_text(self, today: Caller, superuser: User) -> None:
        bad = stores.create_store(stores.StoreSettings(name=HOSTILE), **BY)
        agent = keys_and_roles.create_agent(HOSTILE[:90], **BY)
        secret = keys_and_roles.issue_key(agent, stores=[bad], access=Access.WRITE, **BY)[1]
        caller = Caller(bad, secret, at=timezone.now())
        caller.create('/<b onload="x">/=cmd|\'.md', "x" * 9)
        client = signed_in(superuser)
        pages = [text_of(client, "overview"), text_of(client, "overview", f"?store={bad.pk}&agent={agent.pk}")]
        pages.append(text_of(client, "store_overview", f"?agent={agent.pk}", bad.pk))
        for text in pages:
            assert "<script>alert" not in text
            assert "<b onload" not in text
            assert "\u202e" not in text and "\u200b" not in text
            assert "14 \u202e" not in text

    def test_a_spreadsheet_takes_nothing_for_a_formula(self, store: MemoryStore, alice: User) -> None:
        evil = keys_and_roles.create_agent("=HYPERLINK(1)", **BY)
        secret = keys_and_roles.issue_key(evil, stores=[store], access=Access.WRITE, **BY)[1]
        Caller(store, secret, at=AT).create("/a.md", "x")
        form = {"picture": "authors", "range": "all"}
        response = signed_in(alice).post(reverse("export_store_overview", args=[store.id]), form)
        assert b"'=HYPERLINK(1)" in b"".join(response.streaming_content)  # type: ignore[attr-defined]

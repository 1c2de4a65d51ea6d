"""The audit as CSV and JSON: what the page shows, audited, and harmless in a spreadsheet."""

import csv
import io
import json

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Agent, AuditEntry, MemoryStore, User
from memoryhub.web.common.tables import safe_cell
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller, page, seqs
from tests.web.proposals.proposing import holds_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def other_store(db: None) -> MemoryStore:
    """A store in which only the superuser has a say."""
    return stores.create_store(stores.StoreSettings(name="Secret research"), **BY)


class TestExport:
    def export(self, user: User, **parameters: str) -> bytes:
        response = signed_in(user).post(reverse("export_audit"), parameters)
        assert response.status_code == 200
        assert "attachment" in response["Content-Disposition"]
        return b"".join(response.streaming_content)

    def test_csv_and_json_hold_the_same_entries_as_the_page(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "one\n")
        view = caller.call("view", path="/memories/a.md")
        caller.call("view", path="/memories/b.md")
        wanted = {"store": caller.store.id, "command": "view"}
        shown = seqs(page(signed_in(bob), **wanted))
        rows = list(csv.DictReader(io.StringIO(self.export(bob, format="csv", **wanted).decode("utf-8-sig"))))
        objects = json.loads(self.export(bob, format="json", **wanted))
        assert [int(row["seq"]) for row in rows] == [row["seq"] for row in objects] == shown
        assert rows[1]["answer"] == objects[1]["answer"] == view.content
        assert json.loads(rows[1]["input"]) == json.loads(objects[1]["input"])
        assert objects[1]["at"].endswith("Z")
        assert rows[0]["ok"] == "false"

    def test_an_export_tells_proposals_from_errors_and_the_kind_of_an_error(self, caller: Caller, bob: User) -> None:
        holds_back(caller.store)
        caller.create("/a.md", "one\n")
        for _ in range(2):
            caller.call("create", id="toolu_1", path="/memories/policies/a.md", file_text="one\n")
            caller.call("view", id="toolu_2", path="/memories/b.md")
            caller.call("create", id="toolu_3", path="/memories/a.md", file_text="one\n")
        rows = json.loads(self.export(bob, format="json", store=caller.store.id, agent=str(caller.last.author_id)))
        assert [(row["outcome"], row["error"]) for row in rows[::-1]] == [
            ("ok", None), *[("proposed", None), ("error", "not_found"), ("error", "already_exists")] * 2
        ]  # fmt: skip

    def test_the_page_says_that_an_export_is_not_masked(self, caller: Caller, alice: User, bob: User) -> None:
        address = reverse("store_audit", args=[caller.store.id])
        warned = [
            b"An export contains the values that these pages mask" in signed_in(who).get(address).content
            for who in (alice, bob)
        ]
        assert warned == [True, False]

    def test_an_export_is_audited_before_it_starts(self, caller: Caller, bob: User) -> None:
        response = signed_in(bob).post(reverse("export_audit"), {"format": "csv", "store": caller.store.id})
        entry = caller.last
        assert (entry.command, entry.actor_id) == ("export_audit", bob.id)
        assert json.loads(str(entry.input))["filter"] == f"store:{caller.store.id}"
        assert b"export_audit" not in b"".join(response.streaming_content)

    def test_an_export_of_many_stores_is_in_the_hubs_chain(self, superuser: User, other_store: MemoryStore) -> None:
        objects = json.loads(self.export(superuser, format="json"))
        entry = AuditEntry.objects.of_chain(HUB).newest().first()
        assert entry is not None
        assert entry.command == "export_audit"
        assert {row["chain"] for row in objects} == {HUB, other_store.id}

    def test_an_export_holds_no_more_than_the_person_may_see(
        self, caller: Caller, bob: User, charlie: User, other_store: MemoryStore
    ) -> None:
        assert {row["chain"] for row in json.loads(self.export(bob, format="json"))} == {caller.store.id}
        assert json.loads(self.export(charlie, format="json")) == []
        response = signed_in(charlie).post(reverse("export_audit"), {"format": "json", "store": caller.store.id})
        assert response.status_code == 400

    def test_a_long_export_is_whole_and_in_order(self, caller: Caller, bob: User) -> None:
        for _ in range(250):
            caller.call("view", path="/memories")
        expected = list(range(caller.last.seq, 0, -1))
        assert [row["seq"] for row in json.loads(self.export(bob, format="json"))] == expected

    @pytest.mark.parametrize("parameters", [{"format": "xml"}, {"from": "x"}, {"q": "a:b"}, {"agent": "a\0b"}])
    def test_what_cannot_be_read_exports_nothing(self, parameters: dict[str, str], bob: User, caller: Caller) -> None:
        before = AuditEntry.objects.count()
        response = signed_in(bob).post(reverse("export_audit"), parameters)
        assert response.status_code == 400
        assert AuditEntry.objects.count() == before

    @pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "＝1"])
    def test_no_cell_is_a_formula(self, start: str) -> None:
        assert safe_cell(start) == "'" + start

    def test_no_part_of_a_cell_is_a_formula_where_semicolons_part_cells(self) -> None:
        assert safe_cell("/a;=cmd|'/C calc'!A0;b; +1;c-d; e") == "/a;'=cmd|'/C calc'!A0;b;' +1;c-d; e"
        assert (safe_cell("\r=1"), safe_cell("\n=1")) == ("'\r'=1", "'\n'=1")
        assert safe_cell("one\r\n=1+1\n-2\nthree") == "one\r\n'=1+1\n'-2\nthree"

    def test_hostile_text_comes_out_as_it_went_in(self, caller: Caller, bob: User, agent: Agent) -> None:
        agent_name = '=HYPERLINK("http://x","y")'
        keys_and_roles.edit_agent(agent, name=agent_name, description="", **BY)
        text = 'a "quoted", comma\nline \u202e \r\n=1+1'
        caller.call("create", path="/memories/a.md", file_text=text)
        caller.call("view", path="/memories/a.md")
        body = self.export(bob, format="csv", command="view").decode("utf-8-sig")
        (row,) = csv.DictReader(io.StringIO(body, newline=""))
        assert row["label"] == "'" + agent_name
        assert "\u202e" in row["answer"]
        caller.call("create", path="/memories/b.md", file_text="\ud800\0")
        assert self.export(bob, format="csv").decode("utf-8-sig")
        assert json.loads(self.export(bob, format="json"))

"""The audit pages: who sees which entries, every filter, paging by key, the page of an entry, and the export."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from memoryhub.actions.accounts import keys_and_roles, sign_in
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Agent, AuditEntry, Door, MemoryStore, Role, User
from memoryhub.web.audit import entry as page_of_entry
from memoryhub.web.audit.rows import first_line
from memoryhub.web.common.acts import act_words
from tests.support.fixtures import AT, BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.history.versions import HOSTILE, Caller, commands, listed, page, seqs

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="run-1")


@pytest.fixture
def other_store(db: None) -> MemoryStore:
    """A store in which only the superuser has a say."""
    return stores.create_store(stores.StoreSettings(name="Secret research"), **BY)


@pytest.fixture
def twin(agent: Agent, other_store: MemoryStore, charlie: User) -> Agent:
    """An older agent with the name of the store's own, made where Charlie alone has a say, and at work there."""
    keys_and_roles.set_role(other_store, charlie, Role.ADMIN, **BY)
    made = keys_and_roles.create_agent(agent.name, seen_by=charlie, **(BY | {"at": AT - timedelta(days=1)}))
    secret = keys_and_roles.issue_key(made, stores=[other_store], **BY)[1]
    Caller(other_store, secret, session="case of Mr X").create("/a.md", "one\n")
    return made


class TestWhoSeesWhat:
    def test_a_viewer_sees_every_entry_of_the_store(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "one\n")
        response = page(signed_in(bob), caller.store)
        assert commands(response)[0] == "create"
        assert len(seqs(response)) == caller.last.seq

    def test_a_refused_call_is_an_attempt(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "one\n")
        caller.call("create", path="/memories/a.md", file_text="one\n")
        caller.call("str_replace", path="/memories/a.md", old_str="two", new_str="x")
        acts = {row.entry.seq: row.act for row in page(signed_in(bob), caller.store).context["rows"]}
        assert list(acts.values())[:3] == ["tried to replace text in", "tried to create", "created"]

    def test_a_person_without_a_role_sees_nothing(self, caller: Caller, charlie: User) -> None:
        caller.create("/a.md", "one\n")
        client = signed_in(charlie)
        assert page(client).context["rows"] == []
        assert client.get(reverse("store_audit", args=[caller.store.id])).status_code == 404
        assert client.get(reverse("entry", args=[caller.store.id, 1])).status_code == 404

    def test_the_hubs_own_entries_are_for_superusers(self, alice: User, superuser: User) -> None:
        entry = AuditEntry.objects.of_chain(HUB).newest().first()
        assert entry is not None
        address = reverse("entry", args=[HUB, entry.seq])
        assert signed_in(alice).get(address).status_code == 404
        assert signed_in(superuser).get(address).status_code == 200
        assert HUB not in {row.entry.chain for row in page(signed_in(alice)).context["rows"]}
        assert HUB in {row.entry.chain for row in page(signed_in(superuser)).context["rows"]}

    def test_another_store_cannot_be_named_in_the_filter(
        self, bob: User, store: MemoryStore, other_store: MemoryStore
    ) -> None:
        for name in (other_store.id, other_store.name, HUB):
            response = page(signed_in(bob), store=name)
            assert response.context["rows"] == []
            assert "There is no store" in response.context["problem"]

    def test_who_has_not_signed_in_is_sent_to_sign_in(self, store: MemoryStore) -> None:
        for address in (reverse("audit"), reverse("store_audit", args=[store.id]), reverse("entry", args=[HUB, 1])):
            assert Client().get(address).status_code == 302

    def test_other_methods_are_refused(self, alice: User, store: MemoryStore) -> None:
        client = signed_in(alice)
        addresses = [reverse("audit"), reverse("store_audit", args=[store.id]), reverse("entry", args=[store.id, 1])]
        assert [client.post(address).status_code for address in addresses] == [405] * 3
        assert client.get(reverse("export_audit")).status_code == 405

    def test_an_entry_that_is_not_there_is_404(self, alice: User, superuser: User, store: MemoryStore) -> None:
        for client in (signed_in(alice), signed_in(superuser)):
            for chain, seq in ((store.id, 10**6), (store.id, 0), (store.id, 10**30), ("nothing", 1)):
                assert client.get(reverse("entry", args=[chain, seq])).status_code == 404

    def test_looking_writes_nothing(self, caller: Caller, alice: User) -> None:
        caller.create("/a.md", "one\n")
        before = caller.last.seq
        client = signed_in(alice)
        page(client)
        client.get(reverse("entry", args=[caller.store.id, before]))
        assert caller.last.seq == before


class TestFilters:
    @pytest.fixture(autouse=True)
    def calls(self, caller: Caller, alice: User) -> None:
        caller.create("/notes/a.md", "one\n")
        caller.create("/notes/deep/b.md", "two\n")
        caller.create("/Notes/c.md", "three\n")
        caller.create("/notes-2/d.md", "four\n")
        caller.session = "run-2"
        caller.call("view", path="/memories/notes/a.md")
        caller.call("view", path="/memories/nothing.md")
        curation.create(caller.store.id, "/e.md", "five\n", Act(Actor.person(alice), Door.WEB, caller.at))

    @pytest.mark.both_databases
    @in_turn(
        ("words", "found"),
        [
            ("command:create", ["create"] * 5),
            ("command:view outcome:ok", ["view"]),
            ("outcome:error", ["view"]),
            ("error", ["view"]),
            ("view error", ["view"]),
            ("path:/notes/a.md", ["view", "create"]),
            ("/notes/a.md", ["view", "create"]),
            ("path:/notes/", ["view", "create", "create"]),
            ("path:/notes", ["view", "create", "create"]),
            ("door:web", ["create"]),
            ("person:alice@example.com", ["create"]),
            ('agent:"support BOT" command:view', ["view", "view"]),
            ('agent:"Support bot" session:run-2', ["view", "view"]),
            ("agent:nobody", []),
            ("door:mcp", []),
            ("path:/ door:tool outcome:ok", ["view", "create", "create", "create", "create"]),
            ("from:2025-11-04", []),
            ("from:2025-11-03 to:2025-11-03 command:view", ["view", "view"]),
            ("from:2025-11-03T09:05 to:2025-11-03T09:06 command:view", ["view"]),
            ("from:2025-11-03T10:05+01:00 command:view", ["view", "view"]),
            ("to:2025-11-02", []),
            ("to:7d outcome:error", ["view"]),
            ("from:5m", []),
            ("in /notes", ["view", "create", "create"]),
            ("by support BOT command:view", ["view", "view"]),
            ("since 2025-11-03 before 2025-11-04 command:view", ["view", "view"]),
        ],
    )
    def test_words_find_what_they_say(self, words: str, found: list[str], bob: User, caller: Caller) -> None:
        client = signed_in(bob)
        response = listed(client, q=words)
        assert response.context["problem"] == ""
        assert commands(response) == found
        parameters = dict(response.context["filter"].values)
        assert commands(listed(client, caller.store, **parameters)) == found

    def test_the_form_without_script_finds_the_same(self, bob: User, caller: Caller) -> None:
        blank = dict.fromkeys(("store", "agent", "person", "session", "path", "outcome", "door", "from", "to"), "")
        assert commands(listed(signed_in(bob), **(blank | {"command": "view"}))) == ["view", "view"]

    def test_a_store_is_found_by_name(self, bob: User, caller: Caller) -> None:
        assert len(seqs(listed(signed_in(bob), q="store:Support command:view"))) == 2

    def test_a_session_is_found_by_its_id(self, bob: User, caller: Caller) -> None:
        session = AuditEntry.objects.of_chain(caller.store.id).filter(command="view").latest("seq").session
        assert commands(listed(signed_in(bob), session=str(session))) == ["view", "view"]

    def test_a_filter_that_is_on_can_be_taken_away(self, bob: User) -> None:
        response = listed(signed_in(bob), command="view", outcome="error")
        chips = {chip.key: chip.query_without for chip in response.context["chips"]}
        assert chips == {"command": "outcome=error", "outcome": "command=view"}

    @pytest.mark.both_databases
    def test_what_is_left_out(self, bob: User, caller: Caller) -> None:
        caller.call("rename", old_path="/memories/notes/a.md", new_path="/memories/away/b.md")
        every = commands(listed(signed_in(bob), caller.store))
        for words, command in (("-command:view", "view"), ("not in /away", "rename"), ("-outcome:error", "view")):
            left = commands(listed(signed_in(bob), caller.store, q=words))
            assert 0 < len(left) < len(every) and left.count(command) < every.count(command), words
        assert commands(listed(signed_in(bob), caller.store, q="not by support bot -person:alice@example.com")) != every
        both = listed(signed_in(bob), caller.store, q="by support bot -command:view")
        assert set(commands(both)) and "view" not in commands(both)

    def test_the_bar_shows_the_filter_as_words_that_can_be_read_again(self, bob: User) -> None:
        agent = 'a "b" \\ c'
        words = listed(signed_in(bob), agent=agent).context["filter"].words
        again = listed(signed_in(bob), q=words).context["filter"].values
        assert again == {"agent": agent}

    @in_turn(
        "parameters",
        [
            {"q": "colour:red"}, {"q": "somebody"}, {"path": "notes"}, {"door": "window"},
            {"outcome": "maybe"}, {"command": "DROP TABLE"}, {"from": "yesterday"}, {"from": "999999w"},
            {"to": "9999-12-31"}, {"from": "0001-01-01T00:00+14:00"}, {"from": "2025-13-01"},
            {"path": "/" + "x" * 3000}, {"agent": "a", "person": "b"}, {"from": "2025-02-01", "to": "2025-01-01"},
            {"store": "memstore_nothing"}, {"before": "x"}, {"before": "hub:1"}, {"after": "memstore_x:1"},
            {"before": "hub:99999999999999999999"}, {"q": "from:²d"}, {"before": HOSTILE}, {"store": HOSTILE},
        ],
    )  # fmt: skip
    def test_what_cannot_be_read_gets_a_sentence(self, parameters: dict[str, str], bob: User) -> None:
        ask = page if HOSTILE in parameters.values() else listed
        response = ask(signed_in(bob), **parameters)
        assert response.context["problem"]
        assert response.context["rows"] == []
        assert b"<script>alert(1)" not in response.content

    def test_a_place_that_no_entry_has_gets_a_sentence(self, bob: User, caller: Caller) -> None:
        for place in (f"{caller.store.id}:0", f"{caller.store.id}:999999", f"{caller.store.id}:1,{HUB}:1"):
            assert listed(signed_in(bob), before=place).context["problem"]

    def test_an_agent_of_the_same_name_elsewhere_stands_in_nobodys_way(
        self, twin: Agent, agent: Agent, bob: User, superuser: User
    ) -> None:
        words = 'agent:"Support bot" command:view'
        assert commands(listed(signed_in(bob), q=words)) == ["view", "view"]
        problem = listed(signed_in(superuser), q=words).context["problem"]
        assert agent.pk in problem
        assert twin.pk in problem

    def test_ids_from_elsewhere_are_given_no_names(
        self, twin: Agent, other_store: MemoryStore, charlie: User, bob: User, superuser: User
    ) -> None:
        session = AuditEntry.objects.of_chain(other_store.id).exclude(session=None).get().session
        names = {
            "agent": (twin.pk, "Support bot"),
            "person": (charlie.pk, "Charlie"),
            "session": (session, "case of Mr X"),
        }
        for key, (id, name) in names.items():
            assert [chip.shown for chip in listed(signed_in(bob), **{key: str(id)}).context["chips"]] == [id]
            assert [chip.shown for chip in listed(signed_in(superuser), **{key: str(id)}).context["chips"]] == [name]

    def test_nothing_found_says_which_filter_found_it(self, bob: User) -> None:
        assert b"No entry matches" in listed(signed_in(bob), q="door:mcp").content


class TestRows:
    def test_an_error_shows_the_first_line_of_its_message(self, caller: Caller, bob: User) -> None:
        caller.call("view", path="/memories/nothing.md")
        row = page(signed_in(bob), caller.store).context["rows"][0]
        assert row.error == json.loads(str(AuditEntry.objects.get(chain=caller.store.id, seq=row.entry.seq).message))
        assert row.duration == "1.2 ms"

    @pytest.mark.parametrize("cut", range(1, 30))
    def test_a_message_that_is_cut_in_an_escape_is_still_shown(self, cut: int) -> None:
        whole = json.dumps('Error: "é\u202e\\x" is\nnot there')
        assert 'Error: "é\u202e\\x" is'.startswith(first_line(whole[:cut]))

    def test_hostile_text_is_inert(self, caller: Caller, agent: Agent, superuser: User) -> None:
        keys_and_roles.edit_agent(agent, name=HOSTILE, description="", **BY)
        caller.session = "<b>run</b>"
        caller.call("<img src=x>", path="/memories/" + HOSTILE, id="toolu_<script>")
        caller.call("create", path="/memories/<script>.md", file_text=HOSTILE)
        client = signed_in(superuser)
        addresses = [reverse("audit"), reverse("store_audit", args=[caller.store.id])]
        addresses += [reverse("entry", args=[caller.store.id, caller.last.seq - back]) for back in (0, 1)]
        for address in addresses:
            body = client.get(address).content.decode()
            assert "<script>alert" not in body
            assert "<img src=x>" not in body
            assert "<b>run" not in body
            assert "\u202e" not in body.partition("</header>")[2].replace(f'value="{escape(HOSTILE)}"', "")

    def test_what_people_do_is_in_words(self, alice: User, superuser: User, store: MemoryStore) -> None:
        keys_and_roles.set_role(store, alice, Role.CURATOR, **BY)
        sign_in.sign_out(alice, "browser_1", at=AT)
        body = page(signed_in(superuser)).content.decode()
        assert "gave alice@example.com the role curator" in body
        assert "signed out" in body

    def test_every_command_of_the_hub_has_words(self, superuser: User, alice: User) -> None:
        client = signed_in(superuser)
        for entry in AuditEntry.objects.of_chain(HUB):
            response = client.get(reverse("entry", args=[HUB, entry.seq]))
            assert response.status_code == 200
            assert response.context["words"] != entry.command


class TestEntryPage:
    def entry(self, caller: Caller, user: User, seq: int | None = None) -> Any:
        response = signed_in(user).get(reverse("entry", args=[caller.store.id, seq or caller.last.seq]))
        assert response.status_code == 200
        return response

    def test_the_call_and_the_answer_are_those_of_the_agent(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "one\ntwo\nthree\n")
        for command, input in (
            ("view", {"path": "/memories/a.md", "view_range": [2, 3]}),
            ("str_replace", {"path": "/memories/a.md", "old_str": "two", "new_str": "2"}),
            ("view", {"path": "/memories"}),
            ("view", {"path": "/memories/b.md"}),
            ("insert", {"path": "/memories/a.md", "insert_line": 0, "insert_text": "zero\n"}),
        ):
            result = caller.call(command, **input)
            response = self.entry(caller, bob)
            answer, call = response.context["answer"], response.context["call"]
            assert (answer.text, answer.fits) == (result.content, True)
            assert call.fits
            assert json.loads(call.shown) == json.loads(call.raw)
            assert "Alarm" not in response.content.decode()

    def test_a_replay_shows_the_first_answer(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "one\n")
        first = caller.call("str_replace", path="/memories/a.md", old_str="one", new_str="1", id="toolu_again")
        caller.call("str_replace", path="/memories/a.md", old_str="one", new_str="1", id="toolu_again")
        response = self.entry(caller, bob)
        assert response.context["answer"].text == first.content
        assert response.context["answer"].fits
        assert reverse("entry", args=[caller.store.id, caller.last.seq - 1]) in response.content.decode()

    def test_a_write_shows_the_versions_before_and_after_with_what_differs(self, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\ntwo\n")
        caller.replace("/a.md", "two", "2")
        (change,) = self.entry(caller, bob).context["changes"]
        assert (change.before.number, change.version.number) == (1, 2)
        assert (change.diff.added, change.diff.removed) == (1, 1)
        assert change.version.memory_id == memory.pk

    def test_a_command_on_a_directory_lists_its_first_versions(
        self, caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(page_of_entry, "MOST_VERSIONS", 10)
        for number in range(12):
            caller.create(f"/d/{number}.md", "x\n")
        caller.delete("/d")
        context = self.entry(caller, bob).context
        assert len(context["changes"]) == 10
        assert context["more_changes"]
        assert all(change.before.number == 1 for change in context["changes"])

    @pytest.mark.parametrize("column", ["input", "message"])
    def test_a_call_or_an_answer_that_was_changed_is_an_alarm(self, column: str, caller: Caller, bob: User) -> None:
        caller.call("view", path="/memories/nothing.md")
        with tampering():
            AuditEntry.objects.filter(chain=caller.store.id, seq=caller.last.seq).update(**{column: '"{}"'})
        assert "Alarm" in self.entry(caller, bob).content.decode()

    def test_a_text_that_was_changed_is_an_alarm_for_the_view_that_showed_it(self, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\n")
        caller.call("view", path="/memories/a.md")
        with tampering():
            assert memory.text is not None
            type(memory.text).objects.filter(pk=memory.text_id).update(content="1\n")
        assert "Alarm" in self.entry(caller, bob).content.decode()

    def test_entries_lead_to_those_beside_them(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "one\n")
        context = self.entry(caller, bob).context
        assert (context["previous"], context["next"]) == (caller.last.seq - 1, None)
        context = self.entry(caller, bob, 1).context
        assert (context["previous"], context["next"]) == (None, 2)

    def test_a_persons_act_has_no_answer(self, caller: Caller, alice: User) -> None:
        done = curation.create(caller.store.id, "/p.md", "x\n", Act(Actor.person(alice), Door.WEB, AT, note="why not"))
        response = self.entry(caller, alice, done.seq)
        assert response.context["answer"] is None
        assert response.context["words"] == "created /p.md"
        assert "why not" in response.content.decode()

    def test_an_unpaired_surrogate_and_a_nul_can_be_looked_at(self, caller: Caller, bob: User) -> None:
        caller.call("create", path="/memories/a.md", file_text="\ud800\0")
        assert self.entry(caller, bob).context["call"].fits

    def test_the_entries_of_a_memory_in_the_trash_lead_to_it(self, caller: Caller, bob: User) -> None:
        memory = caller.create("/a.md", "one\n")
        caller.delete("/a.md")
        address = reverse("memory", args=[caller.store.id, memory.pk])
        assert address in self.entry(caller, bob).content.decode()


def test_the_audit_leads_to_how_one_knows_that_it_is_true(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    link = f"{reverse('guide')}#is-the-audit-true"
    assert link in client.get(reverse("audit")).content.decode()
    assert 'id="is-the-audit-true"' in client.get(reverse("guide")).content.decode()


def test_whoever_makes_a_store_gets_its_role_by_address(alice: User) -> None:
    stores.create_store(stores.StoreSettings("Desk"), admin=alice, **BY)
    assert "gave alice@example.com the role admin" in signed_in(alice).get(reverse("audit")).content.decode()


@pytest.mark.parametrize(
    "command", ["expire", "purge", "erase", "redact", "prune_versions", "move", "export", "import"]
)
def test_the_short_words_for_an_act_on_a_path_are_in_the_past(command: str) -> None:
    assert act_words(command).split()[0].endswith("ed")

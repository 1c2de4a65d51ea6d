"""Try a call: the page shows what the tool answers, and nothing has changed; or a person does it for real."""

import json
import random
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import calls
from memoryhub.models import Access, AuditEntry, Key, Memory, MemoryStore, Role, Session, User
from memoryhub.pure.path_rules import Effect, PathRule, Verb
from memoryhub.web.tried.forms import JSON
from memoryhub.web.tried.outcome import tried_as_key
from tests.api.harness import Hub, assert_audit_is_right, contents, new_hub, newest_entry
from tests.api.path_rules.test_path_rules import set_rules
from tests.api.rules import CARD, set_rules as set_sensitive
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.long import LONG
from tests.web.tried.dumps import dump

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    made = Hub(store, key)
    made.call(command="create", path="/memories/notes/todo.md", file_text="buy milk\ncall Ada\n")
    return made


def key_of(hub: Hub) -> Key:
    return Key.objects.get(digest=calls.digest_of_key(hub.secret))


def trying(client: Client, store: MemoryStore, **fields: Any) -> Any:
    """The response to a pressed form."""
    response = client.post(f"/stores/{store.id}/try", {"act": "try", **fields})
    assert response.status_code == 200
    return response


def with_json(client: Client, store: MemoryStore, input: object, **fields: Any) -> Any:
    return trying(client, store, command=JSON, input=json.dumps(input), **fields)


def test_a_try_answers_as_the_tool_does_and_changes_nothing(hub: Hub, alice: User) -> None:
    client, who = signed_in(alice), key_of(hub).pk
    before = dump()
    for as_whom in ("", who):
        seen = trying(client, hub.store, command="view", path="/memories/notes/todo.md", who=as_whom)
        assert "     1\tbuy milk" in seen.content.decode() and "is_error: false" in seen.content.decode()
        edited = trying(
            client, hub.store, command="str_replace", path="/memories/notes/todo.md", old_str="milk", new_str="tea",
            who=as_whom,
        )  # fmt: skip
        text = edited.content.decode()
        assert "This was a try: nothing has changed." in text
        assert "What it would change" in text and "+1" in text
        assert "The audit entry that it would write" in text
        gone = trying(client, hub.store, command="delete", path="/memories/notes", who=as_whom)
        assert "Successfully deleted /memories/notes" in gone.content.decode()
        wrong = trying(client, hub.store, command="view", path="/memories/none.md", who=as_whom)
        assert "is_error: true" in wrong.content.decode()
    assert dump() == before


@pytest.mark.both_databases
def test_what_is_done_for_real_is_an_act_of_the_person(hub: Hub, alice: User) -> None:
    client = signed_in(alice)
    done = trying(
        client, hub.store, act="do", command="insert", path="/memories/notes/todo.md", insert_line="0",
        insert_text="first\r\n",
    )  # fmt: skip
    text = done.content.decode()
    assert "The file /memories/notes/todo.md has been edited." in text
    assert contents(hub.store) == {"/memories/notes/todo.md": "first\nbuy milk\ncall Ada\n"}
    entry = newest_entry(hub.store.id)
    assert (entry.command, entry.actor_kind, entry.actor_id, entry.door) == ("edit", "user", alice.pk, "web")
    assert f"/audit/{hub.store.id}/{entry.seq}" in text and "This was a try" not in text
    for fields in (
        {"command": "create", "path": "/memories/new.md", "file_text": "x"},
        {"command": "str_replace", "path": "/memories/new.md", "old_str": "x", "new_str": "y"},
        {"command": "rename", "path": "/memories/new.md", "new_path": "/b.md"},
        {"command": "delete", "path": "/b.md"},
    ):
        trying(client, hub.store, act="do", **fields)
    commands = AuditEntry.objects.of_chain(hub.store.id).filter(actor_kind="user").oldest()
    assert list(commands.values_list("command", flat=True)) == ["edit", "create", "edit", "rename", "delete"]
    assert_audit_is_right(hub.store)


def test_nothing_is_recorded_of_what_a_person_views_or_is_refused(hub: Hub, alice: User) -> None:
    before, client = dump(), signed_in(alice)
    seen = trying(client, hub.store, act="do", command="view", path="/memories/notes/todo.md").content.decode()
    assert "buy milk" in seen and "When a person only views something in this way, the call has no audit entry." in seen
    refused = trying(client, hub.store, act="do", command="delete", path="/memories/none").content.decode()
    assert "A refused act of a person has no audit entry." in refused and "is_error: true" in refused
    assert dump() == before


def test_nobody_does_a_call_as_an_agent(hub: Hub, alice: User) -> None:
    before = dump()
    fields = {"command": "delete", "path": "/memories/notes", "who": key_of(hub).pk}
    refused = trying(signed_in(alice), hub.store, act="do", **fields).content.decode()
    assert "Only the agent itself makes its calls." in refused
    assert dump() == before


@pytest.mark.both_databases
def test_a_key_meets_its_rules_and_a_person_does_not(hub: Hub, alice: User) -> None:
    set_rules(
        hub.store,
        PathRule(Effect.HIDE, "/salaries/"),
        PathRule(Effect.REFUSE, "/policies/", reason="ask Bob"),
        PathRule(Effect.PROPOSE, "/notes/"),
    )
    client, who = signed_in(alice), key_of(hub).pk
    create = {"command": "create", "file_text": "x"}
    refused = trying(client, hub.store, path="/memories/policies/a.md", who=who, **create).content.decode()
    assert "ask Bob" in refused and "rule 2 refuses this call." in refused and "Which rule decides?" in refused
    held = trying(
        client, hub.store, command="str_replace", path="/memories/notes/todo.md", old_str="milk", new_str="tea", who=who
    ).content.decode()
    assert "now part of proposal #1" in held and "What it would propose" in held and "+1" in held
    assert "because of rule 3." in held
    trying(client, hub.store, act="do", path="/memories/salaries/a.md", **create)
    hidden = {"command": "view", "path": "/memories/salaries/a.md"}
    assert "does not exist" in trying(client, hub.store, who=who, **hidden).content.decode()
    assert "     1\tx" in trying(client, hub.store, **hidden).content.decode()
    created = trying(client, hub.store, path="/memories/policies/a.md", **create).content.decode()
    assert "File created" in created and "Which rule decides?" not in created


def test_a_key_meets_its_access_and_its_limit_of_calls(hub: Hub, alice: User, agent: Any) -> None:
    reader, _secret = keys_and_roles.issue_key(agent, stores=[hub.store], access=Access.READ, **BY)
    client, fields = signed_in(alice), {"command": "create", "path": "/memories/a.md", "file_text": "x"}
    assert "this key may not write" in trying(client, hub.store, who=reader.pk, **fields).content.decode()
    limited = new_hub(limit_calls=1)
    keys_and_roles.set_role(limited.store, alice, Role.CURATOR, **BY)
    limited.call(command="view", path="/memories")
    refused = trying(client, limited.store, who=key_of(limited).pk, **fields).content.decode()
    assert "refused with 429" in refused and "may make 1 calls in 60 seconds" in refused


@pytest.mark.both_databases
def test_the_form_opens_with_a_memory_or_with_a_recorded_call(hub: Hub, alice: User) -> None:
    client, memory = signed_in(alice), Memory.objects.get(store=hub.store)
    address = f"/stores/{hub.store.id}/try"
    assert address in client.get(f"/stores/{hub.store.id}/").content.decode()
    assert (
        f"{address}?path=%2Fnotes%2Ftodo.md"
        in client.get(f"/stores/{hub.store.id}/memories/{memory.pk}").content.decode()
    )
    begun = client.get(address, {"path": "/notes/todo.md"}).context["form"]
    assert begun["path"].value() == "/memories/notes/todo.md" and begun["command"].value() == "view"
    made = AuditEntry.objects.of_chain(hub.store.id).of_command("create").get()
    begun = client.get(address, {"call": made.seq}).context["form"]
    assert begun["command"].value() == "create" and begun["file_text"].value() == "buy milk\ncall Ada\n"
    assert begun["who"].value() == key_of(hub).pk
    hub.call(command="create", path="/memories/x", file_text=["no text"])
    begun = client.get(address, {"call": newest_entry(hub.store.id).seq}).context["form"]
    assert begun["command"].value() == JSON and "no text" in begun["input"].value()


def test_each_call_of_a_session_can_be_tried(hub: Hub, alice: User, bob: User) -> None:
    hub.send(hub.block(command="view", path="/memories/notes/todo.md"), memoryhub_session="run-1")
    seq = newest_entry(hub.store.id).seq
    page = reverse("session", args=[Session.objects.get().pk])
    link = f"/stores/{hub.store.id}/try?call={seq}"
    assert link in signed_in(alice).get(page).content.decode()
    assert link not in signed_in(bob).get(page).content.decode()


def test_json_that_is_none_is_a_problem_of_the_form(hub: Hub, alice: User) -> None:
    client = signed_in(alice)
    assert "This is not JSON" in trying(client, hub.store, command=JSON, input="{").content.decode()
    assert "must be a JSON object" in trying(client, hub.store, command=JSON, input="[]").content.decode()
    assert "Unrecognized command" in with_json(client, hub.store, {"command": "move"}).content.decode()
    many = {"command": "view", **{f"k{number}": 0 for number in range(20_000)}}
    assert "more than 16,384 values" in with_json(client, hub.store, many).content.decode(), "as in a call"


def test_values_with_a_finding_are_masked_and_flagged_text_needs_a_reason(hub: Hub, alice: User) -> None:
    set_sensitive(hub.store, card="flag")
    hub.call(command="create", path="/memories/card.md", file_text=f"one\n{CARD}\n")
    client, view = signed_in(alice), {"command": "view", "path": "/memories/card.md"}
    for who in ("", key_of(hub).pk):
        text = trying(client, hub.store, who=who, **view).content.decode()
        assert CARD not in text and "Sensitive values are masked on this page." in text
    before, create = dump(), {"command": "create", "path": "/memories/b.md", "file_text": CARD}
    assert "Nothing was saved: the rules of this store flag this text." in (
        trying(client, hub.store, act="do", **create).content.decode()
    )
    assert dump() == before
    trying(client, hub.store, act="do", override="a test card", **create)
    assert contents(hub.store)["/memories/b.md"] == CARD


@pytest.mark.parametrize("effect", [Effect.ALLOW, Effect.PROPOSE])
def test_a_try_that_would_leave_a_part_of_a_masked_value_shows_no_text(hub: Hub, alice: User, effect: Effect) -> None:
    """A value with a letter in it is no value any more, so that no page would mask the rest; and no try is recorded."""
    hub.call(command="create", path="/memories/acme.md", file_text=f"Acme\nPays by card {CARD} in May.\nEnd\n")
    set_rules(hub.store, PathRule(effect))
    client, edit = signed_in(alice), {"command": "str_replace", "path": "/memories/acme.md"}
    forms = ({"old_str": "card 4", "new_str": "card x4"}, {"old_str": " in May", "new_str": "0 in May"})
    for who in ("", key_of(hub).pk):
        for form in forms:
            text = trying(client, hub.store, **edit, **form, who=who).content.decode()
            assert "1111" not in text and "it does not record a try" in text, (who, form)
        whole = trying(client, hub.store, **edit, old_str="End", new_str="The end", who=who).content.decode()
        assert "1111" not in whole and "The end" in whole and "it does not record a try" not in whole
        without = trying(client, hub.store, **edit, old_str=f" {CARD}", new_str="", who=who).content.decode()
        assert "Pays by card in May." in without and "it does not record a try" not in without
    assert not AuditEntry.objects.of_chain(hub.store.pk).of_command("reveal").exists()


def test_only_curators_may_try(hub: Hub, alice: User, bob: User, charlie: User) -> None:
    address, fields = f"/stores/{hub.store.id}/try", {"command": "view", "path": "/memories"}
    for person, status in ((alice, 200), (bob, 403), (charlie, 404)):
        assert signed_in(person).get(address).status_code == status
        assert signed_in(person).post(address, fields).status_code == status
    curator = new_person("Cora")
    keys_and_roles.set_role(hub.store, curator, Role.CURATOR, **BY)
    assert signed_in(curator).post(address, fields).status_code == 200
    assert address not in signed_in(bob).get(f"/stores/{hub.store.id}/").content.decode()


CASES = 1_200 if LONG else 60
PLACES = (
    "/a.md",
    "/a.md/b",
    "/notes/one.md",
    "/notes/two.md",
    "/notes/deep/x.md",
    "/secret/s.md",
    "/notes",
    "",
    "/é.md",
)


def random_input(chance: random.Random) -> dict[str, object]:
    """A call that may succeed, be refused, or be malformed."""
    command = chance.choice(("view", "create", "create", "str_replace", "insert", "delete", "rename", "rename", "sing"))
    place, text = chance.choice(PLACES), chance.choice(("one\ntwo\n", "three", "", f"pay {CARD}\n"))
    input: dict[str, object] = {"command": command, "path": f"/memories{place}"}
    more: dict[str, dict[str, object]] = {
        "view": {} if chance.random() < 0.6 else {"view_range": [chance.randint(0, 2), chance.choice((-1, 1, 9))]},
        "create": {"file_text": text},
        "str_replace": {"old_str": chance.choice(("one", "two", "t", "")), "new_str": text},
        "insert": {"insert_line": chance.randint(-1, 3), "insert_text": text},
        "rename": {"new_path": f"/memories{chance.choice(PLACES)}"},
    }
    if chance.random() < 0.05:
        input.pop("path")
    return input | more.get(command, {})


def random_rules(chance: random.Random) -> list[PathRule]:
    effects = (Effect.ALLOW, Effect.REFUSE, Effect.PROPOSE, Effect.HIDE)
    patterns = ("/secret/", "/notes/", "/a.md", "/**/x.md")
    verbs = [frozenset(Verb), frozenset({Verb.DELETE}), frozenset({Verb.EDIT, Verb.CREATE})]
    some = [(chance.choice(effects), chance.choice(patterns)) for _ in range(chance.randint(0, 2))]
    return [
        PathRule(effect, pattern, frozenset(Verb) if effect is Effect.HIDE else chance.choice(verbs))
        for effect, pattern in some
    ]


@pytest.mark.push
@pytest.mark.both_databases
def test_a_random_call_answers_what_its_try_answered_and_the_try_changed_no_table(db: None) -> None:
    chance = random.Random(7)
    hub = new_hub(limit_memories=6, limit_memory_bytes=60)
    set_sensitive(hub.store, card="flag")
    key = key_of(hub)
    seen: set[tuple[object, bool]] = set()
    for _ in range(CASES):
        if chance.random() < 0.1:
            set_rules(hub.store, *random_rules(chance))
        input, before = random_input(chance), dump()
        result = tried_as_key(hub.store, key, input, timezone.now())
        assert dump() == before, input
        kind, text = hub.call(**input)
        assert result.is_error == (kind == "err"), input
        assert result.masked == (CARD in text) and (result.masked or result.text == text), input
        seen.add((input["command"], result.is_error))
    assert len(seen) > 10
    assert_audit_is_right(hub.store)

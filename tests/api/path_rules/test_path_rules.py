"""Path rules hold at every door of agents, a refused call changes nothing, and the agent is told why."""

import json
import random

import pytest

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.core.rules import sight
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import path_rules, stores
from memoryhub.actions.stores.path_rules import RulesChanged
from memoryhub.models import Access, AuditEntry, Key, Memory, MemoryStore, MemoryVersion
from memoryhub.pure.path_rules import BadRule, Condition, Doer, Effect, PathRule, Verb, many
from memoryhub.pure.protocol.errors import ToolError
from tests.api.harness import BY, Hub, assert_audit_is_right, new_hub, new_secret, new_store, newest_entry
from tests.api.memory_calls import Api, new_api
from tests.mcp.messages import call as mcp_call
from tests.pure.test_path_rules import CHANGES, decided
from tests.support.fixtures import new_person
from tests.support.long import LONG

ACT = Act(**BY)
WHY = "Policies are changed by people. Ask in #support."
POLICIES = PathRule(Effect.REFUSE, "/policies/", reason=WHY)


def set_rules(store: MemoryStore, *rules: PathRule) -> None:
    before = path_rules.of_store(MemoryStore.objects.get(pk=store.pk))
    path_rules.save(store.id, rules, path_rules.digest(before), ACT)


def texts(store: MemoryStore) -> dict[str, str]:
    return dict(Memory.objects.live().filter(store=store).values_list("path", "text__content"))


@pytest.fixture
def ruled(hub: Hub) -> Hub:
    for path in ("/policies/a.md", "/policies/deep/b.md", "/notes/c.md"):
        assert hub.call(command="create", path=f"/memories{path}", file_text="one\n")[0] == "ok"
    set_rules(hub.store, POLICIES)
    return hub


REFUSED = (
    ({"command": "create", "path": "/memories/policies/new.md", "file_text": "x"}, "/policies/new.md", "create"),
    ({"command": "str_replace", "path": "/memories/policies/a.md", "old_str": "one", "new_str": "x"},
     "/policies/a.md", "change"),
    ({"command": "insert", "path": "/memories/policies/a.md", "insert_line": 0, "insert_text": "x"},
     "/policies/a.md", "change"),
    ({"command": "delete", "path": "/memories/policies/a.md"}, "/policies/a.md", "delete"),
    ({"command": "delete", "path": "/memories/policies"}, "/policies/a.md", "delete"),
    ({"command": "rename", "old_path": "/memories/policies/a.md", "new_path": "/memories/x.md"},
     "/policies/a.md", "rename"),
    ({"command": "rename", "old_path": "/memories/policies", "new_path": "/memories/x"},
     "/policies/a.md", "rename"),
    ({"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/policies/notes"},
     "/policies/notes/c.md", "create"),
)  # fmt: skip


@pytest.mark.parametrize(("input", "path", "verb"), REFUSED, ids=lambda value: str(value)[:40])
def test_each_command_of_the_tool_is_refused_with_the_reason_and_changes_nothing(
    ruled: Hub, input: dict[str, object], path: str, verb: str
) -> None:
    before = texts(ruled.store)
    told = f"Error: A path rule does not let this agent {verb} /memories{path}: {WHY}"
    assert ruled.call(**input) == ["err", told]
    assert texts(ruled.store) == before
    entry = newest_entry(ruled.store.id)
    assert (entry.command, entry.ok, json.loads(entry.message or "")) == (input["command"], False, told)
    assert mcp_call(ruled, "memory", **input)["content"][0]["text"] == told
    assert texts(ruled.store) == before
    assert_audit_is_right(ruled.store)


def test_reading_and_other_paths_stay_as_they_were_and_people_are_not_refused(ruled: Hub) -> None:
    assert ruled.call(command="view", path="/memories/policies/a.md")[0] == "ok"
    assert ruled.call(command="create", path="/memories/policies.md", file_text="x")[0] == "ok"
    assert ruled.call(command="str_replace", path="/memories/notes/c.md", old_str="one", new_str="two")[0] == "ok"
    ana = Act(Actor.person(new_person("Ana")), BY["door"], BY["at"])
    curation.delete(ruled.store.id, "/policies/a.md", ana)
    curation.create(ruled.store.id, "/policies/new.md", "x", ana)
    assert "/policies/a.md" not in texts(ruled.store) and texts(ruled.store)["/policies/new.md"] == "x"


def test_the_mistakes_of_a_call_are_told_before_the_rules(ruled: Hub) -> None:
    for input, told in (
        ({"command": "delete", "path": "/memories/policies/none.md"}, "does not exist"),
        ({"command": "create", "path": "/memories/policies/a.md", "file_text": ""}, "already exists"),
    ):
        ok, text = ruled.call(**input)
        assert ok == "err" and told in text


@pytest.fixture
def api(db: None) -> Api:
    return new_api()


@pytest.mark.both_databases
def test_the_api_refuses_with_403_and_says_why(api: Api) -> None:
    made, other = api.create("/policies/a.md", "one\n")["id"], api.create("/b.md", "two\n")["id"]
    set_rules(api.hub.store, POLICIES)
    told = [
        api.refused("POST", "/memories", {"path": "/policies/new.md", "content": "x"}),
        api.refused("POST", f"/memories/{made}", {"content": "x"}),
        api.refused("POST", f"/memories/{made}", {"path": "/x.md"}),
        api.refused("POST", f"/memories/{other}", {"path": "/policies/b.md"}),
        api.refused("DELETE", f"/memories/{made}"),
    ]
    assert [(status, type) for status, type, *_ in told] == [(403, "permission_error")] * 5
    verbs_and_paths = (
        "create /policies/new.md", "change /policies/a.md",
        "rename /policies/a.md", "create /policies/b.md",
        "delete /policies/a.md",
    )  # fmt: skip
    expected = [f"A path rule does not let this agent {verb_and_path}: {WHY}" for verb_and_path in verbs_and_paths]
    assert [message for _, _, message, *_ in told] == expected
    assert texts(api.hub.store) == {"/policies/a.md": "one\n", "/b.md": "two\n"}
    assert api.update(made, {"content": "one\n"})["content_sha256"] == api.memory(made)["content_sha256"]
    entries = AuditEntry.objects.of_chain(api.hub.store.id).filter(ok=False).oldest()
    assert [entry.command for entry in entries] == ["create", "edit", "rename", "rename", "delete"]
    assert_audit_is_right(api.hub.store)


def test_earlier_versions_are_not_restored_past_a_rule(hub: Hub) -> None:
    hub.call(command="create", path="/memories/policies/a.md", file_text="one")
    hub.call(command="str_replace", path="/memories/policies/a.md", old_str="one", new_str="two")
    hub.call(command="create", path="/memories/policies/b.md", file_text="gone")
    hub.call(command="delete", path="/memories/policies/b.md")
    set_rules(hub.store, POLICIES)
    for path, verb in (("/policies/a.md", "change"), ("/policies/b.md", "create")):
        version = MemoryVersion.objects.filter(store=hub.store, path=path, number=1).get()
        answer = hub.send({}, url=f"/v1/memory_stores/{hub.store.id}/memory_versions/{version.pk}/restore")
        assert (answer.status, answer.value["error"]["message"]) == (
            403,
            f"A path rule does not let this agent {verb} {path}: {WHY}",
        )
    assert texts(hub.store) == {"/policies/a.md": "two"}


def test_a_rule_can_be_for_one_agent_or_one_key(hub: Hub) -> None:
    key = Key.objects.get(keystore__store=hub.store)
    for who, refused in ((key.agent_id, True), (key.pk, True), ("agent_x", False), ("apikey_x", False)):
        set_rules(hub.store, PathRule(Effect.REFUSE, "/a/", who=who))
        ok, text = hub.call(command="create", path=f"/memories/a/{who}.md", file_text="x")
        assert (ok == "err") is refused, who
        assert not refused or text == (f"Error: A path rule does not let this agent create /memories/a/{who}.md")


def test_a_create_that_overwrites_is_an_edit(db: None) -> None:
    hub = new_hub(overwrite_on_create=True)
    hub.call(command="create", path="/memories/a.md", file_text="one")
    set_rules(hub.store, PathRule(Effect.REFUSE, "", frozenset({Verb.EDIT}), reason="Add, do not change."))
    assert hub.call(command="create", path="/memories/a.md", file_text="two")[0] == "err"
    assert hub.call(command="create", path="/memories/b.md", file_text="two")[0] == "ok"
    assert texts(hub.store) == {"/a.md": "one", "/b.md": "two"}


def test_random_calls_under_random_rules_do_what_a_store_without_rules_does_or_nothing(db: None) -> None:
    chance = random.Random(5)
    paths = ("/a/x.md", "/a/y.md", "/b/x.md", "/b/c/y.md", "/z.md")
    refusals = 0
    for _ in range(8 if LONG else 4):
        hub = new_hub()
        key = Key.objects.get(keystore__store=hub.store)
        doer = Doer(str(key.pk), str(key.agent_id))
        for _ in range(12):
            rules = [
                PathRule(
                    chance.choice(CHANGES), chance.choice(("", "/a/", "/b/", "/b/c/", "/**/x.md", "/z.md")),
                    frozenset(chance.sample(list(Verb), chance.randint(1, 3))), reason="no",
                    only_if=chance.choice([None, None, *Condition]),
                ) for _ in range(chance.randint(0, 4))
            ]  # fmt: skip
            set_rules(hub.store, *rules)
            before = texts(hub.store)
            changes, input = random_call(chance, paths, before)
            ok, text = hub.call(**input)
            effects = [effect_of(rules, doer, *change) for change in changes]
            is_held_back = set(effects) != {Effect.ALLOW}
            refusals += is_held_back
            assert (ok == "err") == is_held_back, (rules, input, text)
            assert (texts(hub.store) == before) == is_held_back
            if Effect.REFUSE in effects:
                assert changes[effects.index(Effect.REFUSE)][1] in text
            else:
                assert ("proposal #" in text) == is_held_back
        assert_audit_is_right(hub.store)
    assert refusals > (8 if LONG else 2)


def effect_of(rules: list[PathRule], doer: Doer, verb: Verb, path: str) -> Effect:
    met = {"new_agent", "removes_lines"} if verb is Verb.DELETE else {"new_agent"}
    number = decided(rules, doer, verb, path, met)
    return rules[number - 1].effect if number else Effect.ALLOW


def random_call(
    chance: random.Random, paths: tuple[str, ...], texts: dict[str, str]
) -> tuple[list[tuple[Verb, str]], dict[str, object]]:
    """A call that would succeed without rules, and what it does to which memories."""
    free, there = sorted(set(paths) - set(texts)), sorted(texts)
    if free and (not there or chance.random() < 0.4):
        path = chance.choice(free)
        return [(Verb.CREATE, path)], {"command": "create", "path": f"/memories{path}", "file_text": "0"}
    path = chance.choice(there)
    if chance.random() < 0.4:
        input = {"command": "insert", "path": f"/memories{path}", "insert_line": 0, "insert_text": "1"}
        return [(Verb.EDIT, path)], input
    directory = path.rpartition("/")[0] or path
    beneath = [one for one in there if one == directory or one.startswith(directory + "/")]
    if chance.random() < 0.5:
        return [(Verb.DELETE, one) for one in beneath], {"command": "delete", "path": f"/memories{directory}"}
    new = f"/new{chance.randrange(10**9)}"
    moves = [(Verb.RENAME, one) for one in beneath] + [(Verb.CREATE, new + one[len(directory) :]) for one in beneath]
    return moves, {"command": "rename", "old_path": f"/memories{directory}", "new_path": f"/memories{new}"}


def test_saving_says_what_the_rules_were_and_a_rival_change_is_noticed(hub: Hub) -> None:
    set_rules(hub.store, POLICIES)
    first = path_rules.digest([POLICIES])
    path_rules.save(hub.store.id, [POLICIES], "anything", ACT)
    set_rules(hub.store)
    entry = newest_entry(hub.store.id)
    assert (entry.command, json.loads(entry.input or "")) == (
        "edit_path_rules", {"before": [POLICIES.as_json()], "after": []}
    )  # fmt: skip
    assert AuditEntry.objects.of_chain(hub.store.id).of_command("edit_path_rules").count() == 2
    with pytest.raises(RulesChanged):
        path_rules.save(hub.store.id, [PathRule(Effect.ALLOW)], first, ACT)
    assert_audit_is_right(hub.store)


@pytest.mark.parametrize(
    "rules",
    [
        [PathRule(Effect.REFUSE, "policies/")],
        [PathRule(Effect.REFUSE, " /policies/")],
        [PathRule(Effect.REFUSE, verbs=frozenset())],
        [PathRule(Effect.REFUSE, who="agent\0")],
        [PathRule(Effect.REFUSE, reason="x" * 301)],
        [PathRule(Effect.REFUSE, reason="two\nlines")],
        [PathRule(Effect.ALLOW)] * 101,
    ],
    ids=["start", "spaces", "no verbs", "who", "long", "lines", "many"],
)
def test_rules_that_cannot_be_stored_are_refused(hub: Hub, rules: list[PathRule]) -> None:
    with pytest.raises(BadRule):
        set_rules(hub.store, *rules)
    assert MemoryStore.objects.get(pk=hub.store.pk).path_rules == []


def test_an_archived_store_keeps_its_rules(hub: Hub) -> None:
    stores.set_archived(hub.store, True, **BY)
    with pytest.raises(ToolError):
        set_rules(hub.store, POLICIES)


def test_a_view_of_too_many_memories_for_tangled_rules_is_refused_and_the_rest_goes_on(
    ruled: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        ruled.call(command="create", path=f"/memories/{number}a/{number}a/{number}a.md", file_text="")
    set_rules(ruled.store, *(PathRule(Effect.HIDE, "/**/*a*b/**/*z" + "*z" * number) for number in range(9)))
    assert ruled.call(command="view", path="/memories")[0] == "ok"
    monkeypatch.setattr(sight, "MOST_WORK", 500)
    told = "Error: too many memories for the path rules of this memory store. View a smaller directory."
    assert ruled.call(command="view", path="/memories") == ["err", told]
    assert ruled.call(command="view", path="/memories/7a")[0] == "ok"
    status, _, message = Api(ruled).refused("GET", "/memories")
    assert (status, message) == (
        400,
        "Too many memories for the path rules of this memory store. View a smaller directory.",
    )
    assert_audit_is_right(ruled.store)


def test_a_key_with_manage_is_refused_too(db: None) -> None:
    store = new_store()
    set_rules(store, POLICIES)
    hub = Hub(store, new_secret(store, Access.MANAGE))
    assert hub.call(command="create", path="/memories/policies/x.md", file_text="")[0] == "err"


def test_a_directory_whose_check_would_take_too_long_is_refused_as_a_whole(
    ruled: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rules(ruled.store, PathRule(Effect.REFUSE, "/**/x*y"))
    monkeypatch.setattr(many, "MOST_WORK", 3)
    before = texts(ruled.store)
    told = "Error: too many memories for the path rules of this memory store: 2. Change fewer at once."
    assert ruled.call(command="delete", path="/memories/policies") == ["err", told]
    assert texts(ruled.store) == before
    assert ruled.call(command="delete", path="/memories/policies/deep")[0] == "ok"
    assert_audit_is_right(ruled.store)

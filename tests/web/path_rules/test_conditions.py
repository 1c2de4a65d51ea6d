"""The pages of path rules with a condition: the form, the sentence, a question, and what they would have done."""

import pytest

from memoryhub.actions.core.audit import Act
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import path_rules
from memoryhub.models import MemoryStore, User
from memoryhub.pure.path_rules import Condition, Effect, PathRule, PathRules, Verb
from memoryhub.web.path_rules import past, replay
from tests.api.harness import Hub
from tests.support.fixtures import BY, signed_in
from tests.web.path_rules.test_path_rules import editor, form, listed, row, rules_of, tried_and_saved

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    return Hub(store, key)


def save(store: MemoryStore, *rules: PathRule) -> None:
    path_rules.save(store.pk, rules, path_rules.digest([]), Act(**BY))


def test_a_condition_is_chosen_in_the_form_and_said_in_the_sentence(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    saved = tried_and_saved(client, store, row("/policies/", effect="propose", verbs=["edit"], only_if="removes_lines"))
    assert saved.status_code == 303 and rules_of(store)[0]["only_if"] == "removes_lines"
    said = "Agents may only propose to change any memory under /policies/ if lines are changed or removed:"
    assert f"{said} a person decides." in client.get(listed(store)).content.decode()
    opened = client.get(editor(store))
    assert opened.context["form"][0]["only_if"].value() == "removes_lines"
    moved = form(client, store, "add", row("/a/", only_if="by_person"))
    assert [one["only_if"].value() or "" for one in moved.context["form"]] == ["by_person", ""], "rearranging keeps it"
    wrong = form(client, store, "save", row("/a/", only_if="burn"))
    assert wrong.status_code == 200 and "burn" in wrong.content.decode()


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("by_person", "if a person wrote or approved a version of it."),
        ("has_finding", "if it has an open finding."),
        ("new_agent", "until a proposal of the agent has been merged."),
    ],
)
def test_each_condition_ends_the_sentence(store: MemoryStore, alice: User, condition: str, words: str) -> None:
    save(store, PathRule(Effect.REFUSE, "/a/", frozenset({Verb.EDIT}), only_if=Condition(condition)))
    page = signed_in(alice).get(listed(store)).content.decode()
    assert f"No agent may change any memory under /a/ {words}" in page


def test_a_question_says_whether_the_condition_is_met_now(hub: Hub, alice: User) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="x")
    curation.create(hub.store.id, "/b.md", "x", Act(**BY))
    save(
        hub.store,
        PathRule(Effect.PROPOSE, only_if=Condition.REMOVES_LINES),
        PathRule(Effect.REFUSE, only_if=Condition.BY_PERSON),
    )
    client = signed_in(alice)
    for verb, path, number, whys in (
        ("edit", "/a.md", 1, ["This rule decides.", "The condition of this rule is not met."]),
        ("only_adds", "/a.md", 0, ["The condition of this rule is not met.", "The condition of this rule is not met."]),
        ("only_adds", "/b.md", 2, ["The condition of this rule is not met.", "This rule decides."]),
        ("delete", "/b.md", 1, ["This rule decides.", "This rule matches too, but rule 1 comes first."]),
        ("create", "/c.md", 0, ["The condition of this rule is not met.", "The condition of this rule is not met."]),
    ):
        asked = client.get(listed(hub.store), {"verb": verb, "path": path})
        assert asked.context["decision"].number == number, (verb, path)
        assert [one.why for one in asked.context["rules"]] == whys
    assert "only add lines to" in asked.content.decode()


@pytest.mark.both_databases
def test_a_replay_compares_the_texts_of_then_and_says_where_it_stopped(
    hub: Hub, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.call(command="create", path="/memories/a.md", file_text="1\n")
    for number in range(4):
        hub.call(command="insert", path="/memories/a.md", insert_line=0, insert_text=f"{number}")
    hub.call(command="str_replace", path="/memories/a.md", old_str="3", new_str="three")
    rules = PathRules([PathRule(Effect.PROPOSE, only_if=Condition.REMOVES_LINES)])
    whole = replay.replay(hub.store.pk, rules, BY["at"])
    assert (whole.calls, whole.proposed, whole.is_cut) == (6, 1, False)
    for bound, most, calls in (("MOST_COMPARED", 3, 3), ("MOST_CHARACTERS", 40, 1)):
        with monkeypatch.context() as patched:
            patched.setattr(past, bound, most)
            part = replay.replay(hub.store.pk, rules, BY["at"])
        assert part.is_cut and part.proposed == 1 and part.calls >= calls, bound
        assert part.calls < 6

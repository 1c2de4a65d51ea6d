"""The first rules of a store: made before there are calls and keys, and asked before they are saved."""

import random

import pytest
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import Agent, MemoryStore, User
from memoryhub.pure.path_rules import Doer, Effect, PathRule, PathRules, Verb
from tests.pure.test_path_rules import DOERS, NAMES, random_conditions, random_rule
from tests.support.fixtures import BY, new_person, signed_in
from tests.web.path_rules.test_path_rules import editor, form, listed, patterns, row, tried_and_saved

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(db: None) -> User:
    return new_person("Root", is_superuser=True)


def test_an_example_takes_the_place_of_the_untouched_first_rule(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    begun = client.get(editor(store), {"ask": "/"})
    assert patterns(begun) == ["/"] and begun.context["form"][0]["effect"].value() == "propose"
    assert patterns(form(client, store, "example-write-only", row("/", effect="propose"))) == ["/tickets/", "/"]
    assert patterns(form(client, store, "example-write-only", row("/a/"))) == ["/a/", "/tickets/", "/"]
    assert patterns(form(client, store, "add", row("/"))) == ["/", "/"]
    tried_and_saved(client, store, row("/"))
    assert patterns(form(client, store, "example-hide", row("/"))) == ["/", "/salaries/"], "it is a saved rule"


def test_an_example_takes_the_place_of_an_untouched_limit_of_one_agent(store: MemoryStore, alice: User) -> None:
    client, agent = signed_in(alice), keys_and_roles.create_agent(name="scout", description="", **BY)
    keys_and_roles.issue_key(agent, stores=[store], **BY)
    tried_and_saved(client, store, row("/a/"))
    begun = client.get(editor(store), {"protect": "/", "who": agent.pk})
    assert "If you choose an example, it replaces rule 1" in begun.content.decode()
    limit, kept = row("/", who=agent.pk), row("/a/")
    shown = form(client, store, "example-write-only", limit, kept)
    assert patterns(shown) == ["/tickets/", "/", "/a/"]
    assert [one["who"].value() for one in shown.context["form"]] == [agent.pk, agent.pk, ""]
    assert patterns(form(client, store, "example-hide", row("/b/", who=agent.pk), kept)) == ["/b/", "/a/", "/salaries/"]
    tried_and_saved(client, store, limit, kept)
    assert patterns(form(client, store, "example-hide", limit, kept)) == ["/", "/a/", "/salaries/"], "it is saved"


def test_a_rule_that_never_decides_is_named(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    rows = [row("/"), row("/tickets/", effect="allow")]
    tried = form(client, store, "try", *rows).content.decode()
    assert (
        "Rule 2 never decides: rule 1 comes first and matches everything that rule 2 matches. Move rule 2 up." in tried
    )
    tried_and_saved(client, store, *rows)
    assert "This rule never decides: rule 1 comes first" in client.get(listed(store)).content.decode()
    assert "never decides" not in form(client, store, "try", *rows[::-1]).content.decode()


def test_rules_that_are_called_unreachable_decide_nothing_in_random_lists() -> None:
    chance, called = random.Random(23), 0
    for _ in range(500):
        some = [random_rule(chance) for _ in range(chance.randint(2, 8))]
        hiding = [PathRule(Effect.HIDE, rule.pattern, who=rule.who) for rule in some]
        rules = PathRules(rule if chance.random() > 0.15 else hides for rule, hides in zip(some, hiding, strict=True))
        unreachable = rules.unreachable()
        others = PathRules(rule for number, rule in enumerate(rules.rules, 1) if number not in unreachable)
        called += len(unreachable)
        for _ in range(60 if unreachable else 0):
            path = "".join(f"/{chance.choice(NAMES)}" for _ in range(chance.randint(1, 4)))
            doer = chance.choice(DOERS)
            verb, met = chance.choice(list(Verb)), random_conditions(chance)
            assert rules.decide(doer, verb, path, met).rule == others.decide(doer, verb, path, met).rule
            assert rules.sight(doer, path).hides == others.sight(doer, path).hides
    assert called > 50
    hides = PathRules([PathRule(Effect.REFUSE), PathRule(Effect.HIDE, "/a/")])
    assert hides.unreachable() == {} and hides.sight(Doer("k", "a"), "/a/x").hides, "it hides, whatever refuses before"
    shown = [PathRule(Effect.REFUSE, "/team/"), PathRule(Effect.ALLOW, "/team/"), PathRule(Effect.HIDE)]
    assert PathRules(shown).unreachable() == {}, "it shows what a later rule would hide"
    assert PathRules(shown[:2]).unreachable() == {2: 1}


def test_without_calls_a_trial_says_so_and_a_question_is_answered_before_saving(
    store: MemoryStore, alice: User
) -> None:
    client = signed_in(alice)
    tried = form(client, store, "try", row("/tickets/", effect="allow"), row("/", effect="propose")).content.decode()
    assert "so there is nothing to judge by" in tried and "None would have been refused" not in tried
    for path, words in (
        ("/tickets/1.md", "Rule 1 allows the change."),
        ("/customers/a.md", "Rule 2 makes the change a proposal, which a person decides about."),
        ("/customers/b.md", "Not written: this change is now part of proposal #…. It is not visible yet."),
        ("no/slash", "A path begins with a slash"),
    ):
        rows = [row("/tickets/", effect="allow"), row("/", effect="propose")]
        asked = form(client, store, "try", *rows, path=path, verb="edit", who="").content.decode()
        assert words in asked, path
    assert client.get(listed(store)).context["rules"] == [], "nothing was saved"


def test_a_rule_can_name_an_agent_that_has_no_key_yet(store: MemoryStore, alice: User, root: User) -> None:
    agent = keys_and_roles.create_agent(name="keyless", description="", **BY)
    assert "keyless" in signed_in(root).get(editor(store), {"protect": "/"}).content.decode()
    assert "keyless" not in signed_in(alice).get(editor(store), {"protect": "/"}).content.decode()
    keys = reverse("store_keys", args=[store.pk])
    assert "keyless" in signed_in(root).get(keys).content.decode()
    assert "keyless" not in signed_in(alice).get(keys).content.decode(), "an admin of a store learns of no other agent"
    saved = tried_and_saved(signed_in(root), store, row("/tickets/", effect="allow", who=agent.pk))
    assert saved.status_code == 303


def test_the_page_of_an_agent_leads_to_its_limits(store: MemoryStore, key: str, alice: User, bob: User) -> None:
    agent = Agent.objects.get()
    page = reverse("agent", args=[agent.pk])
    leads = f'href="{editor(store)}?protect=/&amp;who={agent.pk}"'
    assert leads in signed_in(alice).get(page).content.decode()
    assert leads not in signed_in(bob).get(page).content.decode()

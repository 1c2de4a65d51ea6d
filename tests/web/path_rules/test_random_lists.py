"""Random lists of rules: what the page answers, what a trial counts and what then happens is what another evaluator,
which shares no code with the rules, decides."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.memories import calls, curation
from memoryhub.models import Access, Key, Memory, Proposal, User
from memoryhub.pure.path_rules import Doer, Effect, PathRule, PathRules, Verb
from memoryhub.web.path_rules.replay import replay
from tests.api.harness import Hub, assert_audit_is_right, new_hub, new_secret, outcome
from tests.api.memory_calls import Api
from tests.api.path_rules.test_path_rules import set_rules
from tests.api.proposals.test_proposals import ana
from tests.pure.test_path_rules import decided, is_hidden, random_rule
from tests.support.fixtures import signed_in
from tests.support.long import LONG, tried

pytestmark = pytest.mark.django_db

CALLS = 4


class Call(NamedTuple):
    verb: Verb
    path: str
    to: str = ""


def _random_call(chance: random.Random) -> Call:
    path, to = (
        "".join(f"/{chance.choice(('a', 'ab', 'policies', 'x*'))}" for _ in range(chance.randint(0, 3)))
        + chance.choice(("/note.md", "/b.md", "/é"))
        for _ in range(2)
    )
    verb = chance.choice(list(Verb))
    return Call(verb, path, f"/moved{to}" if verb is Verb.RENAME else "")


def _random_rules(chance: random.Random, doer: Doer) -> list[PathRule]:
    """Rules without conditions, about this key, this agent, another agent or everyone; some hide."""
    names = {"": "", "agent_1": doer.agent, "apikey_1": doer.key, "agent_2": "agent_" + "0" * 26, "apikey_2": ""}
    found = []
    for rule in (random_rule(chance) for _ in range(chance.randint(1, 8))):
        mine = replace(rule, who=names[rule.who], only_if=None)
        found.append(PathRule(Effect.HIDE, rule.pattern, who=mine.who) if chance.random() < 0.15 else mine)
    return found


def _expected(rules: Sequence[PathRule], doer: Doer, call: Call, opened: int) -> str:
    """What becomes of a call: "hidden", "refuse", "over", "propose" or "allow". Its session has `opened` so many
    proposals, of which none is open."""
    if is_hidden([*rules], doer, call.path) or (call.to and is_hidden([*rules], doer, call.to)):
        return "hidden"
    questions = [(call.verb, call.path), *([(Verb.CREATE, call.to)] if call.to else [])]
    numbers = [decided(_changes(rules), doer, verb, path) for verb, path in questions]
    deciding = [rules[number - 1] for number in numbers if number]
    effects = ["over" if rule.most and rule.most <= opened else str(rule.effect) for rule in deciding]
    refusals = (effect for effect in effects if effect in ("refuse", "over"))
    return next(refusals, "propose" if "propose" in effects else "allow")


def _changes(rules: Sequence[PathRule]) -> list[PathRule]:
    """The rules at their numbers, where those that hide are about nothing: they decide no change."""
    return [replace(rule, verbs=frozenset()) if rule.effect == "hide" else rule for rule in rules]


def _done(hub: Hub, call: Call, session: str) -> str:
    path, to = f"/memories{call.path}", f"/memories{call.to}"
    input: dict[str, object] = {
        Verb.CREATE: {"command": "create", "path": path, "file_text": "one\n"},
        Verb.EDIT: {"command": "str_replace", "path": path, "old_str": "one", "new_str": "two"},
        Verb.DELETE: {"command": "delete", "path": path},
        Verb.RENAME: {"command": "rename", "old_path": path, "new_path": to},
    }[call.verb]
    is_error, answer = outcome(hub.message(hub.block(**input), memoryhub_session=session).value["content"][0])
    if answer.startswith("Not written"):
        return "propose"
    if "this session has already made" in answer:
        return "over"
    return "allow" if is_error == "ok" else "refuse" if "A path rule does not let" in answer else "hidden"


def _prepare(hub: Hub, call: Call) -> None:
    """Let a person make or delete what the call is about, so that only the rules decide."""
    for path, wanted in ((call.path, call.verb is not Verb.CREATE), (call.to, False)):
        there = Memory.objects.live().filter(store=hub.store, path=path).exists() if path else wanted
        if wanted and not there:
            curation.create(hub.store.pk, path, "one\n", ana())
        elif there and not wanted:
            curation.delete(hub.store.pk, path, ana())
        elif wanted and path:
            memory = Memory.objects.live().get(store=hub.store, path=path)
            curation.edit(hub.store.pk, memory.pk, "one\n", memory.sha256, ana())


def _new() -> tuple[Hub, Doer]:
    store = new_hub().store
    hub = Hub(store, new_secret(store, Access.WRITE))
    key = Key.objects.get(digest=calls.digest_of_key(hub.secret))
    return hub, Doer(key.pk, key.agent_id)


def _number_on_the_page(client: Client, hub: Hub, doer: Doer, verb: Verb, path: str) -> int:
    query = {"who": doer.key, "verb": verb.value, "path": path}
    response = client.get(reverse("path_rules", args=[hub.store.pk]), query)
    return int(response.context["decision"].number)


@pytest.mark.push
def test_the_page_answers_what_then_happens(superuser: User) -> None:
    (hub, doer), client = _new(), signed_in(superuser)
    seen: Counter[str] = Counter()
    opened: Counter[str] = Counter()
    for seed in range(tried(1_000, 20)):
        chance = random.Random(seed)
        rules, call, session = _random_rules(chance, doer), _random_call(chance), f"s{seed // 25}"
        set_rules(hub.store, *rules)
        _prepare(hub, call)
        expected = _expected(rules, doer, call, opened[session])
        if not is_hidden(rules, doer, call.path):
            number = _number_on_the_page(client, hub, doer, call.verb, call.path)
            assert number == decided(_changes(rules), doer, call.verb, call.path), (seed, rules, call)
        done = _done(hub, call, session)
        if expected == "hidden":
            assert done in ("hidden", "refuse"), (seed, rules, call)
        else:
            assert done == expected, (seed, rules, call)
        for proposal in Proposal.objects.filter(store=hub.store, state="open"):
            Api(hub).good("POST", f"/proposals/{proposal.number}/withdraw")
        opened[session] += done == "propose"
        seen[expected] += 1
    assert all(seen[effect] for effect in ("allow", "propose", "refuse", "over", "hidden"))
    assert_audit_is_right(hub.store)


def test_a_trial_counts_what_then_happens() -> None:
    """With the decisions of then: in some cases every call waited, and after some calls the proposals were decided."""
    seen: Counter[str] = Counter()
    for seed in range(tried(120)):
        chance = random.Random(seed)
        (before, tried_by), (after, doer) = _new(), _new()
        made = list({call.path: call for call in (_random_call(chance) for _ in range(CALLS))}.values())
        made = [call for call in made if not call.to or call.to not in {other.to for other in made if other != call}]
        rules = _random_rules(chance, doer)
        for call in made:
            for hub in (before, after):
                _prepare(hub, call)
        was = chance.choice(("allow", "propose"))
        until_decided = chance.randint(1, 3) if was == "propose" else CALLS + 1
        set_rules(before.store, *([PathRule(Effect.PROPOSE)] if was == "propose" else []))
        assert _all_done(before, made, until_decided) == Counter({was: len(made)})
        names = {doer.agent: tried_by.agent, doer.key: tried_by.key}
        found = replay(
            before.store.pk, PathRules(replace(rule, who=names.get(rule.who, rule.who)) for rule in rules),
            timezone.now(),
        )  # fmt: skip
        set_rules(after.store, *rules)
        outcomes = _all_done(after, made, until_decided)
        seen += outcomes
        assert found.calls == len(made), seed
        assert found.proposed == outcomes["propose"], (seed, rules, made)
        assert found.opened == Proposal.objects.filter(store=after.store).count(), (seed, rules, made)
        assert found.refused + found.hidden == len(made) - outcomes["propose"] - outcomes["allow"], (seed, rules, made)
        over = sum(group.calls for group in found.groups if group.is_over)
        assert over <= outcomes["over"] + outcomes["refuse"], (seed, rules, made)
    assert seen["over"] or not LONG


def _all_done(hub: Hub, made: Sequence[Call], until_decided: int) -> Counter[str]:
    """What becomes of the calls of two sessions, if what waits is decided after each so many calls."""
    outcomes: Counter[str] = Counter()
    for number, call in enumerate(made, 1):
        outcomes[_done(hub, call, f"s{number % 3 == 0}")] += 1
        if number % until_decided == 0:
            for proposal in Proposal.objects.filter(store=hub.store, state="open"):
                Api(hub).good("POST", f"/proposals/{proposal.number}/withdraw")
    return outcomes

"""What the tests of proposals and path rules in exports share: stores in which people decided and said something, and
the lines that an export has of it."""

import json
import re
from contextlib import suppress
from datetime import date
from random import Random
from typing import Any

from memoryhub.actions.comments import comments, on_proposals
from memoryhub.actions.comments.on_proposals import Draft, Place
from memoryhub.actions.core.plans import Choice, PlanChanged
from memoryhub.actions.history.revert import NeedsChoice
from memoryhub.actions.proposals import decide, own
from memoryhub.actions.proposals.decide import AlreadyDecided
from memoryhub.actions.proposals.plan import by_memory, proposal_plan
from memoryhub.actions.proposals.selected import Parts
from memoryhub.actions.stores import path_rules
from memoryhub.models import Comment, Door, Key, Memory, MemoryStore, Proposal, ProposalState, ProposedChange, User
from memoryhub.pure.path_rules import Condition, Effect, Lines, PathRule, Verb
from memoryhub.pure.protocol.errors import ToolError
from tests.transfer.exported import export, lines_of, of_type
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.proposals.proposing import begun, edit, proposes, replaces

A, B, C = "/policies/a.md", "/policies/b.md", "/policies/c.md"
NEW = "/policies/new.md"
GOVERNANCE = ("proposal", "decided_proposal", "path_rules", "thread")


def governed(store: MemoryStore, key: str, alice: User) -> Caller:
    """A store with a merged proposal (1), a partly merged (2), a refused (3), a withdrawn (4) and an open one (5), with
    comments on the first and the last, and path rules."""
    caller = begun(store, key, A, B, C)
    replaces(caller, A, "two", "2")
    proposes(caller, "create", NEW, file_text="new\n")
    say(store, 1, "Is 2 right?", alice, A)
    merge(store, 1, alice)
    caller.session = "run-8"
    replaces(caller, B, "one", "1")
    replaces(caller, B, "seven", "7")
    memory = Memory.objects.at(B).get(store=store)
    merge(store, 2, alice, parts=Parts({memory.pk: [2]}))
    caller.session = "run-9"
    proposes(caller, "delete", C)
    refuse(store, 3, alice, "It is needed")
    caller.session = "run-10"
    replaces(caller, C, "one", "1")
    withdraw(caller, 4)
    caller.session = "run-11"
    replaces(caller, A, "six", "VI")
    say(store, 5, "Why Roman?", alice, A)
    say(store, 5, "Ask <b>Bob</b>", alice)
    rule(store, *rules_for(store))
    return caller


def rules_for(store: MemoryStore) -> list[PathRule]:
    """Rules of every kind, among them one for an agent, one for its key, and protected lines."""
    key = Key.objects.for_store(store).get()
    version = Memory.objects.at(C).get(store=store).head_id
    return [
        PathRule(Effect.REFUSE, C, only_if=Lines(version, 2, 3), reason="Legal said so", until=date(2099, 1, 1)),
        PathRule(Effect.ALLOW, "/policies/free/", frozenset({Verb.CREATE}), key.agent_id),
        PathRule(Effect.HIDE, "/secret/", who=key.pk),
        PathRule(Effect.PROPOSE, "/policies/", only_if=Condition.REMOVES_LINES, most=3),
        PathRule(Effect.PROPOSE, "/policies/"),
    ]


def rule(store: MemoryStore, *rules: PathRule) -> None:
    before = path_rules.of_store(MemoryStore.objects.get(pk=store.pk))
    path_rules.save(store.pk, rules, path_rules.digest(before), act())


def merge(store: MemoryStore, number: int, by: User, **more: Any) -> None:
    proposal = Proposal.objects.of_store(store.pk).get(number=number)
    choices = more.pop("choices", {})
    decide.merge(store.pk, number, choices, proposal_plan(proposal).digest, act(by), **more)


def refuse(store: MemoryStore, number: int, by: User, why: str = "") -> None:
    seen = decide.seen_of(Proposal.objects.of_store(store.pk).get(number=number))
    decide.refuse(store.pk, number, act(by)._replace(note=why), seen=seen)


def withdraw(caller: Caller, number: int) -> None:
    own.withdraw(caller.store.pk, number, caller._asked(Door.API))


def say(store: MemoryStore, number: int, text: str, by: User, path: str = "") -> None:
    """A comment on a proposal, or on the first proposed line of a memory of it."""
    proposal = Proposal.objects.of_store(store.pk).get(number=number)
    place = None
    if path:
        groups = by_memory(ProposedChange.objects.of_proposal(proposal))
        name, steps = next((name, steps) for name, steps in groups.items() if steps[-1].path == path)
        place = Place(name, steps[-1].base or "", steps[-1].number, is_old=False, line=1)
    on_proposals.comment(store.pk, number, [Draft(text, place=place)], act(by))


def told(store: MemoryStore, form: str = "jsonl") -> list[dict[str, Any]]:
    """The lines about what people decided and said, in which ids are what they stand for."""
    return without_ids(lines_of(export(store, form, governance=True)))


def without_ids(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    for line in of_type(lines, "memory", "version"):
        is_memory = line["type"] == "memory"
        names[line["id"]] = line["path"] if is_memory else f"{names[line['memory']]}#{line['number']}"
    shown = json.dumps(of_type(lines, *GOVERNANCE))
    shown = re.sub(r"\bmem(ver)?_[0-9A-Z]{26}\b", lambda found: names.get(found[0], "gone"), shown)
    found: list[dict[str, Any]] = json.loads(shown)
    return found


def lived(random: Random, store: MemoryStore, key: str, alice: User, steps: int = 16) -> None:
    """Agents propose, people decide, say something, undo, and edit, as it comes."""
    caller = begun(store, key, A, B, C)
    for step in range(steps):
        with suppress(AlreadyDecided, PlanChanged, ToolError, NeedsChoice, IndexError, own.NotOpen):
            random.choice((_propose, _propose, _propose, _decide, _decide, _say, _edit))(random, caller, alice, step)
    rules = random.sample(rules_for(store), random.randint(0, 5)) if Memory.objects.live().at(C).exists() else []
    rule(store, *rules)


def _propose(random: Random, caller: Caller, alice: User, step: int) -> None:
    caller.session = f"run-{random.randint(1, 9)}-{step // 6}"
    path = random.choice((A, B, C, f"/policies/new-{step}.md"))
    memory = Memory.objects.live().at(path).filter(store=caller.store).select_related("text").first()
    if memory is None:
        caller.call("create", path=f"/memories{path}", file_text=f"new {step}\n")
    elif random.random() < 0.2:
        caller.call("delete", path=f"/memories{path}")
    elif random.random() < 0.2:
        caller.call("rename", old_path=f"/memories{path}", new_path=f"/memories/policies/moved-{step}.md")
    else:
        line = random.choice(str(memory.text and memory.text.content).splitlines())
        caller.call("str_replace", path=f"/memories{path}", old_str=f"{line}\n", new_str=f"{line} {step}\nmore\n")


def _decide(random: Random, caller: Caller, alice: User, step: int) -> None:
    proposal = random.choice(list(Proposal.objects.of_store(caller.store.pk)))
    if proposal.state != ProposalState.OPEN:
        decide.take_back(caller.store.pk, proposal.seq or 0, act(alice))
        return
    chosen = random.random()
    if chosen < 0.2:
        refuse(caller.store, proposal.number, alice, f"No {step}")
    elif chosen < 0.3:
        withdraw(caller, proposal.number)
    else:
        plan = proposal_plan(proposal)
        kept = [change for change in plan.changes if Choice.KEEP in change.choices or random.random() < 0.3]
        merge(caller.store, proposal.number, alice, choices={change.memory: Choice.KEEP for change in kept})


def _say(random: Random, caller: Caller, alice: User, step: int) -> None:
    proposal = random.choice(list(Proposal.objects.of_store(caller.store.pk)))
    change = random.choice([*ProposedChange.objects.of_proposal(proposal)])
    say(caller.store, proposal.number, f"Said {step}", alice, random.choice(("", change.path)))
    said = random.choice(list(Comment.objects.of_store(caller.store.pk)))
    comments.reply(caller.store.pk, said.thread, f"Answered {step}", act(alice))
    if random.random() < 0.3:
        comments.resolve(caller.store.pk, said.thread, act(alice))


def _edit(random: Random, caller: Caller, alice: User, step: int) -> None:
    edit(caller.store, random.choice((A, B, C)), "three", f"three, by hand {step}", alice)

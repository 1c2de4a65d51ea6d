"""The path rules of a memory store: the list, the rule that decides about a path, and earlier lists."""

import json
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoryhub.actions.core.rules.path_rules import WORDS, of_agent, of_memories
from memoryhub.actions.core.rules.protected_lines import ProtectedLines
from memoryhub.actions.core.rules.sight import day_of
from memoryhub.actions.stores import path_rules
from memoryhub.models import Access, AuditEntry, Key, Memory, MemoryStore, Role
from memoryhub.pure import ids
from memoryhub.pure.path_rules import Condition, Decision, Doer, Lines, Met, PathRule, PathRules, Verb, of_json
from memoryhub.pure.protocol import results
from memoryhub.web.common import pages
from memoryhub.web.common.guards.access import in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.typed_paths import below_root
from memoryhub.web.path_rules.naming import ended_keys
from memoryhub.web.path_rules.sentences import MISMATCHES, VERBS, Names, choices, names_in, sentence

LONGEST = 1024
ONLY_ADDS, SEE = "only_adds", "see"
"""The values of a question's `verb` that are not a Verb: may the agent make a change that removes no lines, and does it
see the memory?"""
MOST_EARLIER = 20
"""The most earlier lists that the page shows. The audit has all of them."""

Change: TypeAlias = tuple[tuple[PathRule, ...], tuple[PathRule, ...]]
"""The rules before a change and after it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A rule in the list."""

    number: int
    rule: PathRule
    sentence: str
    why: str = ""  # why the rule decides about the path in question, or does not
    decides: bool = False
    is_over: bool = False  # the last day of the rule is over
    unreachable: int = 0  # the number of an earlier rule that always decides first
    lines: "LinesNow | None" = None
    idle: str = ""  # why the rule applies to no key


@dataclass(frozen=True, slots=True)
class LinesNow:
    """The current position of the protected lines of a rule. `address` is the URL of the text in which a person chose
    the lines."""

    address: str
    first: int = 0  # 0 if none of the lines is left
    last: int = 0
    is_text_gone: bool = False  # the chosen text no longer exists, so every line is protected

    @property
    def is_protected(self) -> bool:
        return bool(self.first) or self.is_text_gone


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the rules: may this agent or key do this at this path?"""

    who: str  # the id of the agent or key
    verb: str  # a Verb, ONLY_ADDS or SEE
    path: str
    problem: str = ""  # what is wrong with the path


@dataclass(frozen=True, slots=True)
class Line:
    """A rule that was added (`sign` is `+`) or removed (`-`) between two lists."""

    sign: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier change of the rules."""

    entry: AuditEntry
    lines: Sequence[Line] | None  # the added and removed rules, or None if they were erased
    count: int  # the number of rules after the change
    is_current: bool


@require_safe
@in_store(Role.VIEWER)
def page(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the rules to every member. If the query asks about a path, say for each rule whether it decides."""
    rules = PathRules(path_rules.of_store(store), day_of(timezone.now()))
    entries = list(_entries(store)[: MOST_EARLIER + 1])
    changes = [_change(entry) for entry in entries]
    known = [rule for change in changes if change for rules_then in change for rule in rules_then]
    names = names_in(store, [*rules.rules, *known])
    answered = asking(request.GET, store, rules, names)
    return render(
        request,
        "path_rules/rules.html",
        pages.context(
            request,
            store,
            rules=answered.pop("rules", None) or _shown(store, rules, names),
            has_rest=not any(rule.is_about_everything for rule in rules.rules),
            earlier=_earlier(entries[:MOST_EARLIER], changes, names),
            has_more=len(entries) > MOST_EARLIER,
            **answered,
        ),
    )


def asking(given: QueryDict, store: MemoryStore, rules: PathRules, names: Names) -> dict[str, Any]:
    """Return the template context of a question to the rules: its fields and, if asked, its answer."""
    asked = _asked(given, store)
    answered = _answered(store, rules, names, asked) if asked and not asked.problem else {}
    return {"agents": choices(names), "verbs": _verbs(rules), "asked": asked, **answered}


def _entries(store: MemoryStore) -> Any:
    return AuditEntry.objects.of_chain(store.pk).of_command("edit_path_rules").that_ended(True).newest()


def saved_by(store: MemoryStore, seq: str) -> tuple[PathRule, ...] | None:
    """Return the rules that the entry with this seq saved, or None if that entry saved none."""
    if not (seq.isascii() and seq.isdigit() and len(seq) < 19):
        return None
    entry = _entries(store).filter(seq=int(seq)).first()
    change = _change(entry) if entry else None
    return change[1] if change else None


def rules_before(store: MemoryStore, seqs: Collection[int]) -> dict[int, tuple[PathRule, ...]]:
    """Return {seq: the rules just before this entry}.

    A seq is left out if these rules are not known, or were partly erased. Only the newest MOST_EARLIER changes are
    read.
    """
    entries = list(_entries(store).filter(seq__lt=max(seqs))[:MOST_EARLIER])
    changes = {entry.seq: _change(entry) for entry in entries}
    newest = {seq: next((one for one in changes if one < seq), 0) for seq in seqs}
    return {seq: change[1] for seq, one in newest.items() if (change := changes.get(one))}


def _change(entry: AuditEntry) -> Change | None:
    """Return the rules before and after an entry, or None if they cannot be read because an erasure masked parts."""
    try:
        details = json.loads(entry.input or "{}")
        return of_json(details["before"]).rules, of_json(details["after"]).rules
    except (KeyError, ValueError):
        return None


def _asked(given: QueryDict, store: MemoryStore) -> Asked | None:
    path = unicodedata.normalize("NFC", given.get("path", "").strip().replace("\0", "")[:LONGEST])
    if not path:
        return None
    verb = given.get("verb", "")
    problem = "" if path.startswith("/") else _("A path begins with a slash: /customers/acme.md")
    verb = verb if verb in {*Verb, ONLY_ADDS, SEE} else Verb.EDIT
    return Asked(given.get("who", ""), verb, below_root(path, [store.pk]), problem)


def _verbs(rules: PathRules) -> dict[str, Any]:
    """Return {verb: its words} for the verbs that a question can have. ONLY_ADDS is one of them only if a rule has a
    condition about lines."""
    words: dict[str, Any] = {verb.value: VERBS[verb] for verb in (Verb.EDIT, *Verb)}
    if any(one == Condition.REMOVES_LINES or isinstance(one, Lines) for one in rules.conditions):
        words |= {Verb.EDIT.value: _("change or remove lines of"), ONLY_ADDS: _("only add lines to")}
    return words | {SEE: _("see")}


def _answered(store: MemoryStore, rules: PathRules, names: Names, asked: Asked) -> dict[str, Any]:
    """Return the template's context for the answer: which rule decides, and why the other rules do not."""
    doer, verb = _doer(asked.who), _VERBS[asked.verb]
    met = _met(store, rules, doer, asked)
    decision = _decision(rules, doer, asked, met)
    mismatches = rules.mismatches(doer, verb, asked.path, met)
    shown = [
        replace(one, why=_why(one.number, decision, mismatch), decides=one.number == decision.number)
        for one, mismatch in zip(_shown(store, rules, names), mismatches, strict=True)
    ]
    told = _answer_to_agent(store, decision, asked)
    return {"rules": shown, "decision": decision, "sees": verb is None, "barred": _barred(store, asked), "told": told}


def _answer_to_agent(store: MemoryStore, decision: Decision, asked: Asked) -> str:
    """Return the answer that the agent would get if a rule refuses the change or makes it a proposal, else ""."""
    verb = _VERBS[asked.verb]
    if decision.rule is None or decision.hides or verb is None:
        return ""
    if decision.is_refusal:
        return results.refused_by_rule(asked.path, WORDS[verb], decision.rule.reason)
    if decision.is_proposal:
        return results.proposed("…", decision.rule.reason, is_error=not store.proposes_without_error)
    return ""


def _shown(store: MemoryStore, rules: PathRules, names: Names) -> list[Shown]:
    unreachable, protected = rules.unreachable(), ProtectedLines(store.pk)
    idle = ended_keys(store, rules.rules)
    return [
        Shown(
            number,
            rule,
            sentence(rule, names),
            is_over=number - 1 in rules.over,
            unreachable=unreachable.get(number, 0),
            lines=_place(store, rule.pattern, rule.only_if, protected) if isinstance(rule.only_if, Lines) else None,
            idle=idle.get(rule.who, ""),
        )
        for number, rule in enumerate(rules.rules, 1)
    ]


def _place(store: MemoryStore, path: str, lines: Lines, protected: ProtectedLines) -> LinesNow:
    """Return the current position of the protected lines in the memory at a path."""
    memory = Memory.objects.live().filter(store=store).at(path).values_list("pk", flat=True).first()
    _text, numbers = protected.in_newest(memory or "", lines)
    if numbers is None:
        return LinesNow("", is_text_gone=True)
    address = reverse("version", args=[store.pk, lines.version]) + f"#L{lines.first}-L{lines.last}"
    return LinesNow(address, *((numbers[0], numbers[-1]) if numbers else ()))


def decision_now(store: MemoryStore, asked: Asked) -> Decision:
    """Return the decision of the store's current rules about a question."""
    rules = PathRules(path_rules.of_store(store), day_of(timezone.now()))
    doer = _doer(asked.who)
    return _decision(rules, doer, asked, _met(store, rules, doer, asked))


def _decision(rules: PathRules, doer: Doer, asked: Asked, met: Met) -> Decision:
    sight, verb = rules.sight(doer, asked.path), _VERBS[asked.verb]
    return sight if sight.hides or verb is None else rules.decide(doer, verb, asked.path, met)


_VERBS: dict[str, Verb | None] = {**{verb.value: verb for verb in Verb}, ONLY_ADDS: Verb.EDIT, SEE: None}
"""{verb of the form: the verb about which the rules are asked}; None asks whether the memory is seen."""


def _barred(store: MemoryStore, asked: Asked) -> str:
    """Return a sentence on why this key, or every key of this agent, cannot do the act even if the rules allow it.

    Return "" if one of the keys can, or if the question is about no agent or key of the store.
    """
    found = Key.objects.for_store(store).filter(Q(pk=asked.who) | Q(agent_id=asked.who))
    if not asked.who or not found.exists():
        return ""
    usable, is_key = found.usable(timezone.now()), asked.who.startswith(ids.KEY)
    if not usable.exists():
        return _("This key does not work any more.") if is_key else _("No key of this agent works here now.")
    if asked.verb == SEE or usable.exclude(access=Access.READ).exists():
        return ""
    return _("This key may only read.") if is_key else _("The keys of this agent may only read here.")


def _met(store: MemoryStore, rules: PathRules, doer: Doer, asked: Asked) -> Met:
    """Return the conditions that the change in question would meet if it were made now."""
    memories = Memory.objects.live().filter(store=store).at(asked.path).values_list("pk", flat=True)
    met: set[Condition | Lines] = set()
    met |= {condition for condition, ids in of_memories(store.pk, list(memories), rules.conditions).items() if ids}
    if asked.verb in (Verb.EDIT, Verb.DELETE, Verb.RENAME):
        protected, named = ProtectedLines(store.pk), rules.protected_lines(asked.path)
        met |= {one for one in named if _place(store, asked.path, one, protected).is_protected}
    if asked.verb in (Verb.EDIT, Verb.DELETE):
        met.add(Condition.REMOVES_LINES)
    return of_agent(store.pk, doer.agent, rules.conditions) | met


def _why(number: int, decision: Decision, mismatch: Any) -> str:
    if number == decision.number:
        return _("This rule decides.")
    if mismatch is not None:
        return str(MISMATCHES[mismatch])
    if number < decision.number:
        return _("This rule matches too, but rule %(number)s hides the memory.") % {"number": decision.number}
    return _("This rule matches too, but rule %(number)s comes first.") % {"number": decision.number}


def _doer(who: str) -> Doer:
    """Return the Doer for the id of a key or an agent. An agent's Doer has an empty `key`, so that rules about keys do
    not match it."""
    key = Key.objects.filter(pk=who).first()
    return Doer(key.pk, key.agent_id) if key else Doer("", who)


def _earlier(entries: Sequence[AuditEntry], changes: Sequence[Change | None], names: Names) -> list[Earlier]:
    return [
        Earlier(entry, _compared(*change, names) if change else None, len(change[1]) if change else 0, number == 0)
        for number, (entry, change) in enumerate(zip(entries, changes, strict=False))
    ]


def _compared(before: Sequence[PathRule], after: Sequence[PathRule], names: Names) -> list[Line]:
    """Return the rules that differ between two lists, as sentences: removed rules with `-`, added rules with `+`."""
    old, new = _sentences(before, names), _sentences(after, names)
    lines: list[Line] = []
    for tag, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            lines += [Line("-", one) for one in old[first:last]] + [Line("+", one) for one in new[start:end]]
    return lines


def _sentences(rules: Sequence[PathRule], names: Names) -> list[str]:
    return [sentence(rule, names) + (f" “{rule.reason}”" if rule.reason else "") for rule in rules]

"""Imports path rules: they are added after the rules of the memory store, so that no agent gets more rights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.stores import path_rules as rules_of_stores
from memoryhub.actions.transfer.importing.places import Here, Named, kept_text
from memoryhub.actions.transfer.importing.stopping import WHO_GOVERNS, may
from memoryhub.models import Agent, Import, ImportItem, Key, Memory, MemoryStore, User
from memoryhub.pure import ids, path_rules
from memoryhub.pure.path_rules import MOST_RULES, BadRule, Lines, PathRule
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.transfer.bundle import BundledRule


@dataclass(frozen=True, slots=True)
class Fitting:
    """A rule of an import as it would apply in this hub.

    `why` is the reason for leaving the rule out ("": it is not left out). `name` is the source's name of the agent or
    key to which the rule applies.
    """

    rule: PathRule
    name: str
    why: str = ""


def history_of(rules: Sequence[BundledRule], named: Named) -> list[dict[str, Any]]:
    """Return rules in the form in which `ImportItem.history` stores them."""
    return [
        {
            "rule": one.rule.as_json(),
            "name": kept_text(one.name),
            "sha256": one.sha256,
            "at": named.version(one.rule.only_if.version) if isinstance(one.rule.only_if, Lines) else None,
        }
        for one in rules
    ]


def fitting(item: ImportItem, place: str, user: User | None) -> list[Fitting]:
    """Return the rules of an item as they would be under the directory `place`.

    A rule for one key applies to the key with the same id; a rule for one agent, to the agent with the same id or name.
    Without such a key or agent, the rule is left out. Only agents that `user` sees count (None: all).
    """
    agents = Agent.objects.all() if user is None else Agent.objects.visible_to(user)
    return [_fitting(told, place, agents) for told in item.history]


def _fitting(told: dict[str, Any], place: str, agents: Any) -> Fitting:
    rule, name = PathRule.of_json(told["rule"]), told["name"]
    if rule.who and not Key.objects.filter(pk=rule.who, agent__in=agents).exists():
        is_agent = rule.who.startswith(ids.AGENT)
        found = agents.filter(pk=rule.who) or (agents.filter(name=name) if name and is_agent else ())
        if not found:
            return Fitting(rule, name, _("The agent or key of the rule is not here."))
        rule = replace(rule, who=found[0].pk)
    if place:
        rule = replace(rule, pattern=place + (rule.pattern or "/"))
    try:
        path_rules.require_valid([rule])
    except BadRule:
        return Fitting(rule, name, _("The pattern of the rule is too long for this directory."))
    if "*" in place:
        return Fitting(rule, name, _("The name of this directory has a *, which would match other directories too."))
    return Fitting(rule, name)


def taken(store: Tree, job: Import, item: ImportItem) -> Record | None:
    """Add the rules of an item after those of the store; return the record of the entry, or None if no rule is added.

    The item's `reason` names the rules that are left out. Raises ToolError if the person who started the import may not
    change path rules, or if there would be too many rules.
    """
    if not may(store, WHO_GOVERNS):
        raise ToolError("Only an admin of the memory store can take over path rules.")
    user = User.objects.filter(pk=store.act.actor.id).first()
    here, fits = Here(store, job), fitting(item, job.place, user)
    found = [_with_lines(one, told, here, store.store) for one, told in zip(fits, item.history, strict=True)]
    left = [(number, one.why) for number, one in enumerate(found, 1) if one.why]
    item.reason = " ".join(_("Rule %(number)s is left out. %(why)s") % {"number": at, "why": why} for at, why in left)
    before = rules_of_stores.of_store(MemoryStore.objects.get(pk=store.store))
    new = dict.fromkeys(one.rule for one in found if not one.why and one.rule not in before)
    if len(before) + len(new) > MOST_RULES:
        raise ToolError(f"The memory store would have {len(before) + len(new)} path rules; {MOST_RULES} are the most.")
    more = {"import": job.pk, "left_out": len(left)}
    return rules_of_stores.replaced(store, before, [*before, *new], **more) if new else None


def _with_lines(one: Fitting, told: dict[str, Any], here: Here, store: str) -> Fitting:
    """If a rule protects lines of a version, return it with the id of this version and the path of its memory here.

    The version is the one that the rule named at the source or, if that one was not imported, the newest version with
    the same text. If there is neither, the rule is left out. A rule that protects no lines is returned unchanged.
    """
    lines = one.rule.only_if
    if one.why or not isinstance(lines, Lines):
        return one
    memory = here.memory(told["at"][0] if told["at"] else None, one.rule.pattern)
    version = here.version(told["at"], memory)
    if version is None and memory and told["sha256"]:
        version = here.with_sum(memory, told["sha256"])
    if version is None:
        return replace(one, why=_("The text whose lines the rule protects was not imported."))
    path = Memory.objects.among(store, [str(memory)]).values_list("path", flat=True).get()
    return replace(one, rule=replace(one.rule, pattern=path, only_if=lines._replace(version=version)))

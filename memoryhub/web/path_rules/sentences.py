"""Path rules in words, and the agents and keys that rules can name."""

from collections.abc import Iterable, Mapping

from django.utils.formats import date_format
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from memoryhub.models import Agent, Key, MemoryStore, User
from memoryhub.pure.path_rules import Condition, Effect, Lines, Mismatch, PathRule, Verb
from memoryhub.pure.text.visible import without_hidden
from memoryhub.templatetags.visible import isolated

VERBS = {
    Verb.CREATE: gettext_lazy("create"),
    Verb.EDIT: gettext_lazy("change"),
    Verb.DELETE: gettext_lazy("delete"),
    Verb.RENAME: gettext_lazy("rename"),
}
MISMATCHES = {
    Mismatch.WHO: gettext_lazy("This rule is for another agent."),
    Mismatch.VERB: gettext_lazy("This rule is about other changes."),
    Mismatch.SIGHT: gettext_lazy("This rule is only about changes, so it does not show or hide anything."),
    Mismatch.PATTERN: gettext_lazy("This rule is about other paths."),
    Mismatch.CONDITION: gettext_lazy("The condition of this rule is not met."),
    Mismatch.OVER: gettext_lazy("The last day of this rule is over."),
}
CONDITIONS = {
    Condition.REMOVES_LINES: gettext_lazy("if lines are changed or removed"),
    Condition.BY_PERSON: gettext_lazy("if a person wrote or approved a version of it"),
    Condition.HAS_FINDING: gettext_lazy("if it has an open finding"),
    Condition.NEW_AGENT: gettext_lazy("until a proposal of the agent has been merged"),
}


def condition(of: Condition | Lines) -> str:
    """Return a condition in words, for the end of a sentence."""
    if isinstance(of, Condition):
        return str(CONDITIONS[of])
    if of.first == of.last:
        return _("if the protected line %(first)s is changed") % {"first": of.first}
    return _("if one of the protected lines %(first)s to %(last)s is changed") % {"first": of.first, "last": of.last}


MOST_OTHERS = 200
"""The most agents without a key to the store that a form lists."""
Names = Mapping[str, str]
"""The names of agents and keys by their ids."""


def names_in(store: MemoryStore, rules: Iterable[PathRule] = (), *, seen_by: User | None = None) -> dict[str, str]:
    """Return {id: name} of the agents with a key to a store, and of their keys that are not revoked.

    The agents and keys that `rules` name are added. If `seen_by` is a person, up to MOST_OTHERS other agents that this
    person sees are added too.
    """
    keys = list(Key.objects.for_store(store).select_related("agent").order_by("agent__folded_name", "agent_id", "pk"))
    found: dict[str, str] = {}
    for key in keys:
        found.setdefault(key.agent_id, key.agent.name)
        if key.revoked_at is None:
            found[key.pk] = name_of_key(key)
    missing = {rule.who for rule in rules if rule.who and rule.who not in found}
    found |= {agent.pk: agent.name for agent in Agent.objects.filter(pk__in=missing)}
    found |= {key.pk: name_of_key(key) for key in Key.objects.filter(pk__in=missing).select_related("agent")}
    if seen_by is not None:
        others = Agent.objects.visible_to(seen_by).exclude(pk__in=found).by_name()
        found |= {agent.pk: agent.name for agent in others[:MOST_OTHERS]}
    return found


def choices(names: Names) -> list[tuple[str, str]]:
    """Return the names as the options of a form, with hidden characters replaced and right-to-left text isolated."""
    return [(id, isolated(without_hidden(name))) for id, name in names.items()]


def name_of_key(key: Key) -> str:
    """Return a name for a key: the name that a person gave to it, if any, and the end of its secret."""
    words = _("%(agent)s with the key %(name)s (…%(hint)s)") if key.name else _("%(agent)s with the key …%(hint)s")
    return words % {"agent": key.agent.name, "name": key.name, "hint": key.hint}


def sentence(rule: PathRule, names: Names) -> str:
    """Return a rule as a sentence. If the rule limits the proposals of a session, a second sentence says so."""
    details = {"who": names.get(rule.who, rule.who), "verbs": verbs(rule), "where": where(rule.pattern)}
    if rule.only_if:
        details["where"] += " " + condition(rule.only_if)
    if rule.until:
        details["where"] += " " + _("until %(day)s") % {"day": date_format(rule.until, "j M Y")}
    if rule.effect is Effect.HIDE:
        words = _("%(who)s cannot see %(where)s.") if rule.who else _("Agents cannot see %(where)s.")
        if not rule.pattern:
            details["where"] += _(", except where a rule above allows all changes")
    elif rule.effect is Effect.ALLOW:
        words = _("%(who)s may %(verbs)s %(where)s.") if rule.who else _("Every agent may %(verbs)s %(where)s.")
    elif rule.effect is Effect.PROPOSE:
        words = (
            _("%(who)s may only propose to %(verbs)s %(where)s: a person decides.")
            if rule.who
            else _("Agents may only propose to %(verbs)s %(where)s: a person decides.")
        )
    else:
        words = _("%(who)s may not %(verbs)s %(where)s.") if rule.who else _("No agent may %(verbs)s %(where)s.")
    return words % details + (f" {limit(rule.most)}" if rule.most else "")


def limit(most: int) -> str:
    """Return the sentence for a rule's limit of proposals in a session."""
    words = ngettext(
        "A session may open at most one proposal.", "A session may open at most %(count)s proposals.", most
    )
    return words % {"count": most}


def verbs(rule: PathRule) -> str:
    *before, last = [str(VERBS[verb]) for verb in Verb if verb in rule.verbs]
    return _("%(several)s or %(last)s") % {"several": ", ".join(before), "last": last} if before else last


def where(pattern: str) -> str:
    """Return words for the memories that a pattern matches, for the end of a sentence."""
    if not pattern:
        return _("any memory")
    if "*" in pattern:
        return _("any memory that matches %(pattern)s") % {"pattern": pattern}
    if pattern.endswith("/"):
        return _("any memory under %(path)s") % {"path": pattern}
    return _("the memory at %(path)s") % {"path": pattern}

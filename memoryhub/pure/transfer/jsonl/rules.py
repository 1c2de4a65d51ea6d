"""Reads path rules from JSON Lines."""

from memoryhub.pure import path_rules
from memoryhub.pure.path_rules import MOST_RULES, BadRule, PathRule
from memoryhub.pure.transfer.bundle import BundledRule, Refused
from memoryhub.pure.transfer.jsonl.said import LONGEST_NAME
from memoryhub.pure.transfer.jsonl.values import Line, text, text_or_none


def rules_of(line: Line) -> tuple[BundledRule, ...]:
    """Return the path rules that a line lists, in their order. Raises Refused."""
    told = line.get("rules")
    if not isinstance(told, list) or len(told) > MOST_RULES:
        raise Refused("The path rules are no list, or too many.")
    return tuple(map(_rule_of, told))


def _rule_of(value: object) -> BundledRule:
    if not isinstance(value, dict):
        raise Refused("A path rule is no object.")
    for name in ("pattern", "who", "reason"):
        text(value, name)
    if not isinstance(value.get("most"), int | None) or isinstance(value.get("most"), bool):
        raise Refused("The limit of a path rule for sessions is not a number.")
    try:
        rule = PathRule.of_json(value)
        path_rules.require_valid([rule])
    except (BadRule, ValueError, KeyError, TypeError, AttributeError):
        raise Refused("A path rule is invalid.") from None
    name = text_or_none(value, "name") or ""
    if len(name) > LONGEST_NAME:
        raise Refused("The name in a path rule is too long.")
    return BundledRule(rule, name, text_or_none(value, "sha256"))

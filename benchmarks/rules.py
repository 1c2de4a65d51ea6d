"""Compares the tool calls of a memory store that has path rules with those of one that has none, in one run.

    .venv/bin/python -m benchmarks.rules

Serves one hub with two memory stores and sends both the same requests in short bursts, by turns, as `against` does. No
rule matches the calls, so each call is compared with all rules. The table has the rules as "now", and no rules as
"before". Needs Linux.
"""

import argparse

from benchmarks.against import Side, compare
from benchmarks.tool_calls import Served, running

RULES = 50
SAVE = """
from django.utils import timezone
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.stores import path_rules
from memoryhub.models import Door
from memoryhub.pure.path_rules import Effect, PathRule, Verb
patterns = ("/teams/{}/", "/**/secret-{}.md", "/policies/*-{}.md", "/archive/**/{}/", "/prices/{}.md")
effects = [effect for effect in Effect if effect != Effect.HIDE]
rules = [PathRule(effects[n %% 3], patterns[n %% 5].format(n), frozenset(Verb)) for n in range(%d)]
act = Act(Actor.system("benchmark"), Door.COMMAND, timezone.now())
path_rules.save("%s", rules, path_rules.digest([]), act)
print("saved")
"""


def with_rules(served: Served, count: int) -> Side:
    """Return the side of a new memory store with this many rules."""
    side = Side(served)
    served.command("shell", "--no-imports", "-c", SAVE % (count, side.store))
    return side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, default=RULES)
    parser.add_argument("--rounds", type=int, default=15, help="bursts of each request")
    parser.add_argument("--calls", type=int, default=150, help="calls of a burst")
    arguments = parser.parse_args()
    with running(16) as served:
        compare(Side(served), with_rules(served, arguments.rules), arguments.rounds, arguments.calls)


if __name__ == "__main__":
    main()

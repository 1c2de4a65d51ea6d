"""The path rules of an import in its preview, each with the reason if it would be left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from memoryhub.actions.transfer.importing.preview import RULES, TAKE
from memoryhub.actions.transfer.importing.rules import fitting
from memoryhub.models import Import, ImportItem, MemoryStore, User
from memoryhub.pure.path_rules import PathRule
from memoryhub.web.path_rules.sentences import names_in, sentence


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, its sentence, and why it is left out ("" if it is not)."""

    rule: PathRule
    sentence: str
    why: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The path rules of an import. All of them are one import item, which has the number `number`.

    `own` is the number of path rules that the store already has.
    """

    number: int
    rules: Sequence[Rule]
    is_chosen: bool
    own: int

    @property
    def count(self) -> int:
        """Return how many rules can be imported."""
        return sum(not rule.why for rule in self.rules)


def rules_of(job: Import, store: MemoryStore, user: User) -> Rules | None:
    """Return the path rules of an import, or None if it has none."""
    item = ImportItem.objects.filter(job=job, found=RULES).first()
    if item is None or not item.history:
        return None
    found = fitting(item, job.place, user)
    names = names_in(store, [one.rule for one in found if not one.why])
    rules = [
        # Names of agents that the person may not see are not looked up; the names from the source are shown.
        Rule(one.rule, sentence(one.rule, {one.rule.who: one.name} if one.why and one.name else names), one.why)
        for one in found
    ]
    return Rules(item.number, rules, item.choice == TAKE, len(store.path_rules))

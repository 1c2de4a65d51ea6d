"""Plans an act and screens the texts that it will write before the store is locked, so that other writers wait less."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from memoryhub.actions.core.audit.commands import BY_AGENTS
from memoryhub.actions.core.plans import Change, Plan, State, in_parts
from memoryhub.actions.core.rules.ruling import NOTHING_CLEAN, Clean, Ruling
from memoryhub.actions.core.transactions.snapshot import snapshot
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings, refusals
from memoryhub.models import AuditChain, AuditEntry, MemoryText, MemoryVersion
from memoryhub.pure import sensitive
from memoryhub.pure.text.novelty import Novelty

MOST_TOUCHED = 500
"""The most memories whose changes since the plan was made are compared with the plan. If agents changed more of them,
the plan is made again."""
TEXTS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Ahead:
    """A plan, the seq of the newest entry when the plan was made, and the texts and paths without findings.

    These are the texts and paths of the plan in which the rules for sensitive text found nothing.
    """

    plan: Plan
    seq: int
    clean: Clean

    def holds(self, store: Tree, undone: Collection[str] | None) -> bool:
        """Return whether the plan would be the same if it was made now, in the locked store.

        A path that the plan needs may be taken by now: this is not checked.

        `undone` are the versions that the plan undoes (None: the plan is about every memory).
        """
        if store.head.last_seq == self.seq:
            return True
        since = AuditEntry.objects.of_chain(store.store).filter(seq__gt=self.seq, ok=True)
        if since.exclude(command__in=BY_AGENTS).exists():
            return False
        made = MemoryVersion.objects.filter(store_id=store.store, seq__gt=self.seq).order_by()
        touched = list(made.values_list("memory_id", flat=True).distinct()[: MOST_TOUCHED + 1])
        if len(touched) > MOST_TOUCHED or undone is None:
            return not touched
        theirs = MemoryVersion.objects.filter(store_id=store.store, memory_id__in=touched)
        return set(undone).isdisjoint(theirs.values_list("pk", flat=True))


def planned(store_id: str, plan: Callable[[], Plan]) -> Ahead:
    """Make a plan. Screen the texts and paths that the plan proposes, by the rules of the store."""
    with snapshot():
        seq = AuditChain.objects.filter(pk=store_id).values_list("last_seq", flat=True).first() or 0
        made = plan()
    return Ahead(made, seq, _clean(made))


def is_clean(store: Tree, change: Change, new: State) -> bool:
    """Return whether a new text was screened before the store was locked, and nothing was found in it."""
    return store.clean.rules is store.ruling and _pair(change, new) in store.clean.texts


def _pair(change: Change, new: State) -> tuple[str | None, str]:
    return change.now.sha256 if change.now.is_there else None, new.sha256


def _clean(plan: Plan) -> Clean:
    wanted = [change for change in plan.changes if change.then.is_there]
    rules = refusals.rules_of(plan.store) if wanted else None
    if rules is None:
        return NOTHING_CLEAN
    texts = {pair for part in in_parts(wanted, TEXTS_AT_ONCE) for pair in _texts(plan.store, rules, part)}
    paths = {str(change.then.path) for change in wanted if change.then.path != change.now.path}
    return Clean(rules, frozenset(texts), frozenset(path for path in paths if not sensitive.find(path, rules.watched)))


def _texts(store_id: str, rules: Ruling, changes: Collection[Change]) -> Collection[tuple[str | None, str]]:
    """Return (SHA-256 of a memory's current text or None, SHA-256 of its new text) for the new texts without
    findings."""
    stored = MemoryText.objects.contents(
        store_id, [id for one in changes for id in (one.now.text, one.then.text) if id]
    )

    def content(state: State) -> str | None:
        return stored.get(state.text) if state.text else state.content

    found = set[tuple[str | None, str]]()
    for change in changes:
        now, old, new = change.now, content(change.now), content(change.then)
        if new is None or (old is None and now.is_there) or change.then.same(now):
            continue
        if not any(findings.spans_of(rules, Novelty(old, new))):
            found.add(_pair(change, change.then))
    return found

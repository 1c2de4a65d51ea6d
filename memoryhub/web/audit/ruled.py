"""The path rule that refused an agent's call, held it back, or hid the requested memory from the agent."""

from dataclasses import dataclass
from urllib.parse import urlencode

from memoryhub.models import AuditEntry, MemoryStore
from memoryhub.models.audit import ActorKind
from memoryhub.pure.path_rules import Decision, Verb
from memoryhub.pure.protocol.kinds import Kind, kind_of
from memoryhub.pure.protocol.paths import ROOT
from memoryhub.pure.protocol.results import BY_RULE
from memoryhub.web.path_rules.rules import SEE, Asked, decision_now

_VERBS = {
    "create": Verb.CREATE, "str_replace": Verb.EDIT, "insert": Verb.EDIT, "delete": Verb.DELETE, "rename": Verb.RENAME,
}  # fmt: skip
_WORDS = {"create": Verb.CREATE, "change": Verb.EDIT, "delete": Verb.DELETE, "rename": Verb.RENAME}


@dataclass(frozen=True, slots=True)
class Ruled:
    """The decision that the current path rules make about a failed call.

    `query` opens the page of the rules with this decision. `was_refused` says whether a rule refused the call, or held
    it back, at the time.
    """

    decision: Decision
    query: str
    was_refused: bool


def ruled(entry: AuditEntry, store: MemoryStore | None, answer: str) -> Ruled | None:
    """Return the rule that explains why an agent's call failed, or None."""
    if store is None or entry.ok or entry.path is None or entry.actor_kind != ActorKind.KEY:
        return None
    kind = kind_of(answer)
    if kind == Kind.NOT_FOUND:
        asked = Asked(entry.actor_id or "", SEE, entry.path)
    elif kind in (Kind.RULE, Kind.PROPOSED):
        asked = Asked(entry.actor_id or "", *_change(entry, answer))
    else:
        return None
    decision = decision_now(store, asked)
    if kind == Kind.NOT_FOUND and not decision.hides:
        return None
    query = urlencode({"who": asked.who, "verb": asked.verb, "path": asked.path})
    return Ruled(decision, query, kind != Kind.NOT_FOUND)


def _change(entry: AuditEntry, answer: str) -> tuple[str, str]:
    """Return the verb and the path of the change that a rule refused or held back."""
    path, verb = entry.path or "", _VERBS.get(entry.command or "", Verb.EDIT)
    refused = answer.partition(BY_RULE)[2]
    if not refused:
        return verb, path
    word, _, rest = refused.partition(f" {ROOT}")
    verb = _WORDS.get(word, verb)
    named = (one for one in (entry.new_path, entry.path) if one and (rest == one or rest.startswith(f"{one}: ")))
    return verb, next(named, rest.partition(": ")[0]) or path

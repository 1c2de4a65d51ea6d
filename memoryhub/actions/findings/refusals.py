"""Says, before an act, which texts and paths the rules for sensitive text would refuse."""

from memoryhub.actions.core import sql, store_settings
from memoryhub.actions.core.rules.ruling import Ruling, ruling
from memoryhub.actions.findings import findings
from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import Action
from memoryhub.pure.text.novelty import Novelty


def rules_of(store_id: str) -> Ruling | None:
    """Return the rules that apply in a store now. Return None if there is no such store, or if every kind is off."""
    sql.connect()
    row = sql.one(sql.STORE, store_id)
    rules = ruling(*store_settings.of_row(row[sql.TOTAL_COLUMNS :]).rules) if row else None
    return rules if rules is not None and not rules.is_idle else None


def blocks_texts(rules: Ruling) -> bool:
    """Return whether any text could be refused: a value that is only masked is no reason for it."""
    return bool(_blocked(rules))


def of_text(rules: Ruling, path: str, old: str | None, new: str) -> ToolError | None:
    """Return why a memory cannot get a new text; None if it can. `old` is its text until now (None: no text)."""
    novelty = Novelty(old, new)
    if not novelty.has_any(_blocked(rules)):
        return None
    kept_out, _ = findings.spans_of(rules, novelty)
    try:
        findings.refuse_blocked(rules.actions, path, new, kept_out)
    except ToolError as error:
        return error
    return None


def _blocked(rules: Ruling) -> frozenset[str]:
    return frozenset(kind for kind, action in rules.actions.items() if action == Action.BLOCK)


def of_path(rules: Ruling, path: str) -> ToolError | None:
    """Return why nothing can get a path; None if it is possible."""
    kept_out = rules.spans(path)
    return ToolError(results.path_blocked(kept_out[0].kind)) if kept_out else None

"""What the audit keeps of a key's call whose input is large."""

import json

from memoryhub.actions.core import audit
from memoryhub.text import keeping

_WRITTEN = frozenset({"command", "path", "file_text", "old_str", "new_str", "insert_text"})
"""The parameters of a call that a version holds: of a call that made one they are kept whole."""


def kept_of(record: audit.Record) -> audit.Record:
    """The record as the audit keeps it: what a version holds anyway stays whole in the input that made it."""
    given = record.input
    if given is None or len(given) <= keeping.MOST:
        return record
    if not record.ok and record.replay_of is None and record.answer is not None:
        quoted = json.loads(given).get("old_str")
        record = record._replace(answer=keeping.short_answer(record.answer, quoted if isinstance(quoted, str) else ""))
    return record.given(keeping.in_part(given, _WRITTEN if record.ok and record.versions else ()))

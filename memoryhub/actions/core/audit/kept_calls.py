"""Shortens the large input of a key's call, and a large listing in its answer, before the audit stores them."""

import json

from memoryhub.actions.core import audit
from memoryhub.pure.protocol.commands import View
from memoryhub.pure.text import keeping

_WRITTEN = frozenset({"command", "path", "file_text", "old_str", "new_str", "insert_text"})
"""The parameters that a version also holds: they are kept whole if the call made a version."""


def kept_of(record: audit.Record) -> audit.Record:
    """Return the record as the audit stores it: large inputs, answers of failed calls and directory listings are
    shortened.

    If the call made a version, the parameters whose values the version also contains are not shortened.
    """
    given = record.input
    if record.ok and record.command == View.name and record.answer is not None and not record.rendered:
        record = record._replace(answer=keeping.short_listing(record.answer))
    if given is None or len(given) <= keeping.MOST:
        return record
    if not record.ok and record.replay_of is None and record.answer is not None:
        quoted = json.loads(given).get("old_str")
        record = record._replace(answer=keeping.short_answer(record.answer, quoted if isinstance(quoted, str) else ""))
    return record.given(keeping.in_part(given, _WRITTEN if record.ok and record.versions else ()))

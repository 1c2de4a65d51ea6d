"""Masks kept-out values in the audit entry of a call: in its input, and in its answer if that is an error.

A kept-out value is one that the store's rules for sensitive text mask or block, so that it is stored nowhere. If
a path of a refused call contains such a value, the path is left out of the entry.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from memoryhub.actions.core import audit, sql
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.rules.ruling import Ruling
from memoryhub.actions.core.tree import Tree
from memoryhub.pure.protocol.commands import PARAMETERS
from memoryhub.pure.text import kept_once

TEXTS = ("new_str", "insert_text", "file_text")
"""The parameters that become a part of a memory's text, and so can contain only a part of a value."""

_APART = f"\n{'~' * 60}\n"
"""A separator that keeps a detector from reading two strings as one."""


def of_call(store: Tree, record: Record, input: Mapping[str, Any], text: str) -> Record:
    """Return the record with the call's input, whose JSON is `text`.

    Kept-out values are masked in the input, and in the answer if it is an error. A repeated call gets the stored input
    and paths of the first call, from which values may have been redacted since.
    """
    if record.replay_of is not None and record.rendered:
        row = sql.one(sql.GIVEN, store.store, record.replay_of)
        given, path, new_path = row if row is not None else (None, None, None)
        record = record._replace(path=path, new_path=new_path)
        return _without_paths(store, record.given(kept_once.whole(given) if given is not None else None))
    rules = store.ruling
    if not rules.kept_out:
        return record.given(text)
    if not store.kept_out and record.ok and not _may_hold(rules, input, store.masked):
        return record.given(text)
    masked = {
        name if name in PARAMETERS else rules.masked(name): _masked(store, value) for name, value in input.items()
    }
    if store.kept_out:
        masked |= {
            name: _without(store.kept_out, str(masked[name])) for name in TEXTS if isinstance(input.get(name), str)
        }
    record = record.given(text if masked == input else audit.to_json(masked))
    if not record.ok and record.answer is not None:
        record = record._replace(answer=rules.masked(record.answer))
    return _without_paths(store, record)


def _masked(store: Tree, value: Any) -> Any:
    """Return a value of an input, masked.

    For a new text that the act has already screened, return the masked text of that screening.
    """
    if store.masked is not None and value is store.masked[0]:
        return store.masked[1]
    return store.ruling.masked_in(value)


def of_api(store: Tree, record: Record, details: Mapping[str, str | None]) -> Record:
    """Return the record of an API request with its input, which has ids and paths, but no text."""
    rules = store.ruling
    details = {name: value for name, value in details.items() if value is not None}
    if rules.kept_out:
        details = {name: rules.masked(value) if value and name in _PATHS else value for name, value in details.items()}
        if not record.ok and record.answer is not None:
            record = record._replace(answer=rules.masked(record.answer))
        record = _without_paths(store, record)
    return record.given(audit.to_json(details))


_PATHS = frozenset({"path", "new_path"})


def _may_hold(rules: Ruling, input: Mapping[str, Any], masked: tuple[str, str] | None) -> bool:
    """Return whether an input may contain a kept-out value."""
    clean = masked[0] if masked and masked[0] is masked[1] else None
    values = [value for value in input.values() if value is not clean and value is not None]
    if not PARAMETERS.issuperset(input) or not all(isinstance(value, str) for value in values):
        return True
    return bool(rules.spans(_APART.join(values)))


def _without_paths(store: Tree, record: Record) -> Record:
    """Remove from the record of a refused call the paths that contain a kept-out value."""
    if record.ok:
        return record
    path, new_path = (None if path and store.ruling.spans(path) else path for path in (record.path, record.new_path))
    return record._replace(path=path, new_path=new_path)


def _without(kept_out: Sequence[tuple[str, str]], text: str) -> str:
    """Return a passage of a longer text, with the values `kept_out` masked.

    The passage may contain a whole value, may begin or end with a part of a value, or may itself be a part of a value.
    """
    for kind, value in kept_out:
        sign = f"[redacted:{kind}]"
        if value in text:
            text = text.replace(value, sign)
        elif text and text in value:
            text = sign
        else:
            text = _without_ends(value, text, sign)
    return text


def _without_ends(value: str, text: str, sign: str) -> str:
    most = min(len(value), len(text))
    first = next((size for size in range(most, 0, -1) if text.startswith(value[-size:])), 0)
    last = next((size for size in range(most - first, 0, -1) if text.endswith(value[:size])), 0)
    return (sign if first else "") + text[first : len(text) - last] + (sign if last else "")

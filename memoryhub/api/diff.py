"""Comparison of two memory versions in the API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.core.rules.sight import sight_in
from memoryhub.actions.memories import reading
from memoryhub.actions.memories.api.requests import Asked
from memoryhub.api.frame import Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.further import CompareVersions, VersionDiff
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, MemoryVersion
from memoryhub.pure.text import diffs
from memoryhub.pure.text.diffs import Diff, Gap, Row, Span

router = Router()

NO_VERSION = "This memory store has no such memory version."
MOST_LINES, MOST_BYTES = 10_000, 1_000_000
"""The most lines, and the most bytes of text, in one answer. One line is always included, whatever its length."""
NO_NEWLINE = "\\ No newline at end of file\n"
MARKS = {"same": " ", "removed": "-", "added": "+"}


@router.get(
    "/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}/diff",
    auth=needs(Access.READ), response=answers(VersionDiff, 429), summary="Compare memory versions",
)  # fmt: skip
def compare_memory_versions(
    request: HttpRequest, memory_store_id: str, memory_version_id: str, query: Query[CompareVersions]
) -> Json:
    """The changes to this memory version from the previous one, or from another version of the same memory store. Lines
    end at line feeds only. Both texts count as read."""
    asked = call_of(request).asked
    version = _find(memory_store_id, memory_version_id, asked)
    before = _find(memory_store_id, query.against, asked) if query.against else _before(version, asked)
    ids = [version.pk] if before is None else [before.pk, version.pk]
    details = {"memory_version_id": version.pk, "against": before.pk if before else None}
    found = reading.with_texts(memory_store_id, asked, ids, details)
    if len(found) != len(ids):
        raise Problem.not_found(NO_VERSION)
    return _difference(found[-1], found[0] if before else None, query.context, query.after)


def _find(store_id: str, version_id: str, asked: Asked) -> MemoryVersion:
    """Return a version that is not redacted; raises Problem: 404 if there is none, 400 if it is redacted."""
    version = reading.seen_version(store_id, version_id, asked)
    if version is None:
        raise Problem.not_found(NO_VERSION)
    if version.redacted_at is not None:
        raise Problem.invalid(f"The memory version {version.pk} is redacted: there is nothing to compare.")
    return version


def _before(version: MemoryVersion, asked: Asked) -> MemoryVersion | None:
    """Return the previous version; None if the caller sees no earlier one. Raises Problem (400) if the previous version
    is redacted."""
    earlier = MemoryVersion.objects.filter(store_id=version.store_id, memory_id=version.memory_id)
    sight = sight_in(version.store_id, asked.caller.actor, asked.at)
    (found,) = reading.newest_seen(earlier.filter(number__lt=version.number), sight, 1) or (None,)
    if found is not None and found.redacted_at is not None:
        raise Problem.invalid(f"The memory version {found.pk} before it is redacted: name another in `against`.")
    return found


def _difference(version: MemoryVersion, before: MemoryVersion | None, context: int, after: int) -> Json:
    old, new = (before.content or "") if before else "", version.content or ""
    diff = diffs.compare(old, new, context=context)
    piece = _piece(diff, after)
    hunks = list(_hunks(piece))
    return {
        "type": "memory_version_diff",
        "memory_store_id": version.store_id,
        "memory_version_id": version.pk,
        "against": before.pk if before else None,
        "old_path": before.path if before else None,
        "new_path": version.path,
        "identical": diff.identical,
        "added_lines": diff.added,
        "removed_lines": diff.removed,
        "bounded": diff.bounded,
        "truncated": piece.following is not None,
        "next_after": piece.following,
        "hunks": hunks,
        "unified": _unified(before, version, hunks, diff),
    }


@dataclass(slots=True)
class _Piece:
    """The part of a comparison that one answer holds: rows, and the gaps between them.

    `at` are the numbers of the last old and the last new line before the part. `following` is how many rows of the
    comparison come before the next part; None if this is the last part.
    """

    parts: list[Row | Gap] = field(default_factory=list)
    at: tuple[int, int] = (0, 0)
    following: int | None = None


def _piece(diff: Diff, after: int) -> _Piece:
    """Return the part of a comparison after its first `after` rows: as many rows as one answer may hold."""
    piece, passed, left = _Piece(), 0, MOST_BYTES
    for part in diffs.unified(diff):
        if passed < after or (passed == after and isinstance(part, Gap)):
            piece.at = _reached(part, piece.at)
            passed += isinstance(part, Row)
            continue
        if isinstance(part, Row):
            left -= sum(len(span.text.encode("utf-8", "surrogatepass")) for span in _spans(part))
            if passed > after and (passed - after >= MOST_LINES or left < 0):
                piece.following = passed
                break
            passed += 1
        piece.parts.append(part)
    return piece


def _reached(part: Row | Gap, at: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of the last old and the last new line at the end of a row or gap.

    `at` are the numbers of the last old and the last new line before it.
    """
    if isinstance(part, Gap):
        return part.old_first + part.count - 1, part.new_first + part.count - 1
    return part.old_number or at[0], part.new_number or at[1]


def _hunks(piece: _Piece) -> Iterator[Json]:
    """Yield the hunks: each change with the equal lines around it. The lines in gaps are left out."""
    rows: list[Row] = []
    at = piece.at
    for part in piece.parts:
        if isinstance(part, Row):
            rows.append(part)
            continue
        if rows:
            yield _hunk(rows, at)
            rows = []
        at = _reached(part, at)
    if rows:
        yield _hunk(rows, at)


def _hunk(rows: Sequence[Row], at: tuple[int, int]) -> Json:
    """Return a hunk. `at` are the numbers of the last old and the last new line before the hunk."""
    old = [row.old_number for row in rows if row.old_number is not None]
    new = [row.new_number for row in rows if row.new_number is not None]
    return {
        "old_start": old[0] if old else at[0],
        "old_lines": len(old),
        "new_start": new[0] if new else at[1],
        "new_lines": len(new),
        "lines": [_line(row) for row in rows],
    }


def _line(row: Row) -> Json:
    return {
        "kind": row.kind,
        "old_number": row.old_number,
        "new_number": row.new_number,
        "text": "".join(span.text for span in _spans(row)),
    }


def _spans(row: Row) -> Sequence[Span]:
    return (row.old if row.kind == "removed" else row.new) or ()


def _unified(before: MemoryVersion | None, version: MemoryVersion, hunks: Sequence[Json], diff: Diff) -> str:
    """Return the hunks in the format of `diff -u`."""
    if not hunks:
        return ""
    old_path = before.path if before and before.text_id else None
    parts = [f"--- {_named(old_path)}\n", f"+++ {_named(version.path if version.text_id else None)}\n"]
    for hunk in hunks:
        old, new = _range(hunk["old_start"], hunk["old_lines"]), _range(hunk["new_start"], hunk["new_lines"])
        parts.append(f"@@ -{old} +{new} @@\n")
        for line in hunk["lines"]:
            parts.append(MARKS[line["kind"]] + line["text"] + "\n")
            ends_old = diff.old_no_newline and line["old_number"] == diff.old_lines
            ends_new = diff.new_no_newline and line["new_number"] == diff.new_lines
            if ends_old or ends_new:
                parts.append(NO_NEWLINE)
    return "".join(parts)


def _named(path: str | None) -> str:
    return "/dev/null" if path is None else path


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"

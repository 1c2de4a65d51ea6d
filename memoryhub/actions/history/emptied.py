"""Finds versions that await review and of which no line would be left if their memory got another text."""

from collections.abc import Sequence

from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Row, Texts
from memoryhub.models import Memory, MemoryVersion
from memoryhub.pure.text.blame import TextOf, Version, blame as origins_of, texts_of_blame
from memoryhub.pure.text.changed_lines import Work, changes, ended

_NEW = ""
"""The id of the text that has no row yet."""


def emptied_by(memory: Memory, text: str) -> list[str]:
    """Return the ids of the unreviewed versions of which no line would be left if the memory's text became `text`.

    Only versions that did nothing but add lines are returned. If a needed text was removed, or comparing would take too
    long, versions may be missing.
    """
    history, work = blame.up_to(memory, memory.version_count), Work()
    versions, rows = history.versions(), history.by_number()
    if not versions or versions[-1].text is None:
        return []
    texts = Texts(memory.store_id, texts_of_blame(versions))

    def text_of(id: str) -> str:
        return text if id == _NEW else texts(id)

    after = [*versions, Version(versions[-1].number + 1, _NEW)]
    gone = _authors(versions, text_of, work, history.whole) - _authors(after, text_of, work, history.whole)
    emptied: list[str] = []
    for part in in_parts(sorted(gone)):
        waiting = MemoryVersion.objects.of_memory(memory).filter(number__in=part).unreviewed()
        emptied += [pk for pk, number in waiting.values_list("pk", "number") if _only_adds(rows, number, text_of, work)]
    return [] if work.passed else sorted(emptied)


def _authors(versions: Sequence[Version], text_of: TextOf, work: Work, whole: bool) -> set[int]:
    """Return the numbers of the versions that certainly added a line of the last version."""
    return {one.number for one in origins_of(versions, text_of, work, whole=whole) if one.is_certain}


def _only_adds(rows: dict[int, Row], number: int, text_of: TextOf, work: Work) -> bool:
    """Return whether a version did nothing but add lines to the version before it."""
    row, before = rows[number], rows.get(number - 1)
    if row.text is None or (before is None and number > 1):
        return False
    if before is None:
        return True
    if before.text is None or before.is_deletion or before.path != row.path:
        return False
    areas = changes(ended(text_of(before.text)), ended(text_of(row.text)), work)
    return all(first == end for first, end, _, _ in areas)

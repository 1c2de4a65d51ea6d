"""Finds the lines of comments in later versions, and moves comments when retention removes their versions."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from memoryhub.actions.history import blame
from memoryhub.actions.history.blame import Texts
from memoryhub.models import Comment, Memory, MemoryVersion
from memoryhub.pure.text.blame import Version
from memoryhub.pure.text.carried import followed
from memoryhub.pure.text.changed_lines import Work

MOST_STEPS = 200
"""The most versions through which lines are followed one by one. Across more versions, only the first and the last text
are compared."""

Lines = tuple[int, int]


def lines_in(memory: Memory, number: int, threads: Iterable[Comment]) -> dict[str, Lines | None]:
    """Return {thread: its lines in version `number`}, for threads on lines of that version or of an earlier one.

    If version `number` has no text, the newest earlier text counts. The lines are None if that text has none of them,
    if it takes too much work to follow them, or if the text on which the thread began was redacted or removed.
    """
    on_lines = {one.thread: one for one in threads if one.first is not None and one.number <= number}
    if not on_lines:
        return {}
    numbers = {one.number for one in on_lines.values()}
    return _followed(memory.store_id, _versions(memory, numbers, number), on_lines, Work())


def move_from(store_id: str, memory: Memory, removed: Collection[int]) -> None:
    """Move the threads on lines of the versions `removed` to the next version that stays.

    Call it before the versions are removed; the act's entry must follow. If no later version stays, or if that version
    has none of a thread's lines, the thread is not moved.
    """
    first_ones, work = Comment.objects.of_memory(store_id, memory.pk).first_ones(), Work()
    for number in sorted(removed):
        threads = {one.thread: one for one in first_ones.filter(number=number, first__isnull=False)}
        if not threads:
            continue
        later = MemoryVersion.objects.of_memory(memory).filter(number__gt=number, text__isnull=False)
        stays = later.exclude(number__in=removed).order_by("number").values_list("number", flat=True).first()
        if stays is None:
            continue
        found = _followed(store_id, _versions(memory, {number}, stays), threads, work)
        for thread, lines in found.items():
            if lines is not None:
                changed = first_ones.filter(pk=thread)
                changed.update(number=stays, first=lines[0], last=lines[1])


def _versions(memory: Memory, numbers: Collection[int], last: int) -> list[Version]:
    """Return the versions from the lowest of `numbers` to `last`.

    If there are more than MOST_STEPS, return only the versions with these `numbers`, and the newest version with a text
    up to `last`.
    """
    history = blame.between(memory, min(numbers), last, MOST_STEPS)
    if history.whole:
        return history.versions()
    own = MemoryVersion.objects.of_memory(memory).filter(text__isnull=False, number__lte=last).order_by("number")
    newest = own.values_list("number", flat=True).last() or last
    return [Version(*row) for row in own.filter(number__in={*numbers, newest}).values_list("number", "text_id")]


def _followed(
    store_id: str, versions: Sequence[Version], threads: Mapping[str, Comment], work: Work
) -> dict[str, Lines | None]:
    places = {name: (one.number, range(one.first or 1, (one.last or 1) + 1)) for name, one in threads.items()}
    texts = Texts(store_id, list(dict.fromkeys(version.text for version in versions if version.text)))
    found = followed(versions, places, texts, work)
    return {name: (lines.first, lines.last) if (lines := found.get(name)) else None for name in threads}

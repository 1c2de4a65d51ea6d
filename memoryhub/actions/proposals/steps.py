"""The changes of one memory in a proposal: the text that they ask for, and which of them are replaced by later ones."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from memoryhub.actions.core.proposed_texts import REMOVED
from memoryhub.models import MemoryVersion, Operation, ProposedChange
from memoryhub.models.memories import MemoryVersionQuerySet
from memoryhub.pure.text.proposed import Joined, Wish


class Bases(NamedTuple):
    """The versions on which changes are based. `texts` is {id: text}, without redacted versions.

    `deletions` has the ids of the versions that are deletions. The text of a deletion is empty.
    """

    texts: Mapping[str, str]
    deletions: frozenset[str] = frozenset()


class Replaced(NamedTuple):
    """The ids of changes that later changes replaced: completely (`replaced`) or in part (`cut`)."""

    replaced: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


class _Fate(Enum):
    KEPT = auto()
    CUT = auto()
    REPLACED = auto()


def bases_of(store_id: str, changes: Sequence[ProposedChange]) -> Bases:
    """Return the texts of the versions on which some changes are based."""
    found = with_text(MemoryVersion.objects.among(store_id, {change.base for change in changes if change.base}))
    deletions = (version.pk for version in found if version.operation == Operation.DELETED)
    return Bases({version.pk: version.content or "" for version in found}, frozenset(deletions))


def with_text(versions: MemoryVersionQuerySet) -> list[MemoryVersion]:
    """Return versions with their texts. Redacted versions are left out."""
    return list(versions.select_related("text").filter(redacted_at=None))


def is_gone(steps: Sequence[ProposedChange], bases: Bases) -> bool:
    """Return whether a proposed text, or a text on which one of the changes is based, no longer exists."""
    return is_removed(steps) or any(step.content is not None and step.base not in bases.texts for step in steps)


def is_removed(steps: Sequence[ProposedChange]) -> bool:
    """Return whether a proposed text became a version by a merge, and that version was removed."""
    return any(step.content == REMOVED for step in steps)


def wishes_of(steps: Sequence[ProposedChange], bases: Bases) -> dict[str, Wish]:
    """Return {id of a change: the text that it asks for, with the text on which it is based}.

    A change is left out if the text on which it is based no longer exists. If the last change of the text restores a
    deleted memory, only this change is returned. Otherwise, all changes that restore the memory are left out.
    """
    asked = [step for step in steps if step.content is not None]
    if asked and asked[-1].base in bases.deletions:
        asked = asked[-1:]
    else:
        asked = [step for step in asked if step.base not in bases.deletions]
    return {
        step.pk: Wish(bases.texts[base], step.content or "")
        for step in asked
        for base in (step.base or "",)
        if base in bases.texts
    }


def replaced_of(steps: Sequence[ProposedChange], wishes: Mapping[str, Wish], joined: Joined | None) -> Replaced:
    """Return the changes of a memory that later changes replaced, completely or in part.

    `joined` are all wishes joined into one (None: this took too much work).
    """
    text = dict(_fates_of_text(wishes, joined))
    fates = {step.pk: {*_fates(step, steps[-1], _last_path(steps), text)} for step in steps}
    whole = tuple(pk for pk, found in fates.items() if found == {_Fate.REPLACED})
    cut = tuple(pk for pk, found in fates.items() if found not in ({_Fate.REPLACED}, {_Fate.KEPT}))
    return Replaced(whole, cut)


def _last_path(steps: Sequence[ProposedChange]) -> str | None:
    return next((step.new_path for step in reversed(steps) if step.new_path is not None), None)


def _fates_of_text(wishes: Mapping[str, Wish], joined: Joined | None) -> Iterator[tuple[str, _Fate]]:
    for number, pk in enumerate(wishes):
        is_whole = joined is not None and number in joined.replaced
        is_cut = joined is not None and number in joined.cut
        yield pk, _Fate.REPLACED if is_whole else _Fate.CUT if is_cut else _Fate.KEPT


def _fates(
    step: ProposedChange, last: ProposedChange, last_path: str | None, text: Mapping[str, _Fate]
) -> Iterator[_Fate]:
    """Yield, for each part of one change, whether it is kept, cut or replaced in the end.

    A deletion has one part. The parts of another change are its new path and its new text, if it has them.
    """
    if step.deletes or last.deletes:
        yield _Fate.KEPT if step.deletes and last.deletes else _Fate.REPLACED
    elif step.memory is None:
        yield _Fate.KEPT if step.content == last.content else _Fate.REPLACED
    else:
        if step.new_path is not None:
            yield _Fate.KEPT if step.new_path == last_path else _Fate.REPLACED
        if step.content is not None:
            yield text.get(step.pk, _Fate.REPLACED)

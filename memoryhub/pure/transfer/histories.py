"""Checks that the histories of imported memories are consistent."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memoryhub.pure.transfer import reading
from memoryhub.pure.transfer.bundle import BundledMemory, BundledVersion, Refused
from memoryhub.pure.transfer.reading import Bounds, Left, visible

OPERATIONS = ("created", "modified", "deleted")
MOST_NUMBER = 1_000_000_000


def checked(memories: Iterable[BundledMemory], bounds: Bounds) -> tuple[tuple[BundledMemory, ...], tuple[Left, ...]]:
    """Return the memories that can be imported, and those that cannot. Raises Refused for histories that contradict
    themselves."""
    all_of_them = list(memories)
    require_bounds(all_of_them, bounds)
    _require_ids(all_of_them)
    taken, left = [], []
    for memory in all_of_them:
        _require_order(memory)
        why = _why_not(memory)
        if why is None:
            taken.append(memory if memory.path else replace(memory, path=_last_path(memory)))
        else:
            left.append(Left(memory.path, why))
    reading.require_apart(memory.path[1:] for memory in taken if is_live(memory))
    return tuple(taken), tuple(left)


def _last_path(memory: BundledMemory) -> str:
    """Return the last known path of a memory whose deletion was redacted; "" if no version has a path."""
    return next((version.path for version in reversed(memory.versions) if version.path), "")


def is_live(memory: BundledMemory) -> bool:
    """Return whether a memory is not in the trash."""
    return memory.versions[-1].operation != "deleted"


def require_bounds(memories: Sequence[BundledMemory], bounds: Bounds) -> None:
    """Raise Refused if there are too many memories, versions or bytes."""
    if len(memories) > bounds.entries:
        raise Refused(f"It has {len(memories):,} memories; at most {bounds.entries:,} are allowed.")
    versions = sum(len(memory.versions) for memory in memories)
    if versions > bounds.versions:
        raise Refused(f"It has {versions:,} versions; at most {bounds.versions:,} are allowed.")
    size = sum(
        len(version.content.encode("utf-8", "surrogatepass"))
        for memory in memories
        for version in memory.versions
        if version.content
    )
    if size > bounds.unpacked:
        raise Refused(f"Its texts have {size:,} bytes; at most {bounds.unpacked:,} are allowed.")


def _require_ids(memories: Sequence[BundledMemory]) -> None:
    seen: set[str] = set()
    for memory in memories:
        for id in (memory.id, *(version.id for version in memory.versions)):
            if id is not None and id in seen:
                raise Refused(f"The id {visible(id)} is there twice.")
            if id is not None:
                seen.add(id)


def _require_order(memory: BundledMemory) -> None:
    """Raise Refused if the versions of a memory cannot have followed one another."""
    if not memory.versions:
        raise Refused(f"The memory {visible(memory.path)} has no version.")
    last: BundledVersion | None = None
    for version in memory.versions:
        name = f"Version {version.number} of {visible(memory.path)}"
        if version.operation not in OPERATIONS:
            raise Refused(f"{name} has the operation {visible(version.operation)}, which does not exist.")
        if not 1 <= version.number <= MOST_NUMBER or (last and version.number <= last.number):
            raise Refused(f"{name} does not have a higher number than the previous version.")
        if version.operation == "deleted" and version.content is not None:
            raise Refused(f"{name} is a deletion and has a text.")
        if version.operation != "deleted" and (version.content is None) != version.redacted:
            raise Refused(f"{name} {'is redacted and has a' if version.redacted else 'has no'} text.")
        if last is None and version.number == 1 and version.operation != "created":
            raise Refused(f"{name} is the first, and its operation is not created.")
        if (
            last
            and version.number == last.number + 1
            and (last.operation == "deleted") != (version.operation == "created")
        ):
            raise Refused(f"{name} cannot be {version.operation} after {last.operation}.")
        last = version


def _why_not(memory: BundledMemory) -> str | None:
    """Return the reason why a memory cannot be imported, or None if it can."""
    last = memory.versions[-1]
    if is_live(memory) and last.content is None:
        return "Its newest version has no text."
    if is_live(memory) and last.path != memory.path:
        return "Its newest version is at another path."
    if all(version.operation == "deleted" for version in memory.versions):
        return "Only its deletion is left of it."
    place = reading.refusal_of(memory.path) if memory.path or is_live(memory) else None
    return place or next((why for version in memory.versions if (why := _why_not_version(version))), None)


def _why_not_version(version: BundledVersion) -> str | None:
    if version.content is not None and _is_no_text(version.content):
        return "It has characters that no text has: a NUL or an unpaired surrogate."
    if not version.path:
        return None if version.redacted else f"Version {version.number} has no path."
    why = reading.refusal_of(version.path)
    return f"At version {version.number}: {why}" if why else None


def _is_no_text(content: str) -> bool:
    try:
        content.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return True
    return "\0" in content


def newest_alone(memory: BundledMemory) -> BundledMemory:
    """Return a memory that has only the newest version of the given memory, as its first version."""
    last = memory.versions[-1]
    return BundledMemory(None, memory.path, (replace(last, id=None, number=1, operation="created"),))

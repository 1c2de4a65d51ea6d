"""The preview of an import: each memory is new, in the trash, the same, in conflict, or refused.

Proposals and path rules are previewed after the memories.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Sum

from memoryhub.actions.core import sql, tree
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.rules import limits
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.models import Import, ImportItem, Memory
from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError

NEW, TRASH, SAME, CONFLICT, REFUSED, PROPOSAL = "new", "trash", "same", "conflict", "refused", "proposal"
DECIDED, RULES = "decided", "rules"
TAKE, SKIP, BESIDE = "take", "skip", "beside"

CHOICES: Mapping[str, tuple[str, ...]] = {
    NEW: (TAKE, SKIP), TRASH: (TAKE, SKIP), CONFLICT: (SKIP, TAKE, BESIDE), SAME: (SKIP,), REFUSED: (SKIP,),
    PROPOSAL: (TAKE, SKIP), DECIDED: (TAKE, SKIP), RULES: (SKIP, TAKE),
}  # fmt: skip
"""The choices for each result, the proposed one first. In a conflict, `take` replaces the text in the store."""

TAKEN, REPLACED, BESIDE_IT, SKIPPED, CHANGED = "taken", "replaced", "beside", "skipped", "changed"
"""The outcomes of an item, besides SAME and REFUSED. `changed`: someone wrote at its path after the preview, so nothing
was done."""

AFTER_MEMORIES = (PROPOSAL, DECIDED, RULES)
"""The results of items that refer to memories of the import, and so are imported after these."""


_TEXTS = ("base", "content")
"""The texts of a proposed change. The text that the agent saw (`base`) is only searched for in the store; if the
proposal is decided already, this text may be missing."""

ABOUT = "about"
"""In the `history` of a proposal, the first change has the values of the proposal itself under this name."""


def look(store: Tree, job: Import, items: Sequence[ImportItem]) -> None:
    """Set `found`, `choice`, `reason` and `met` (the version in conflict) of these items. The items are not saved."""
    there = _there(store.store, [item.path for item in items])
    known = _known({item.memory for item in items if item.memory})
    earlier = ImportItem.objects.filter(job_id=job.pk, number__lt=items[0].number, found=NEW) if items else None
    memories = earlier.count() if earlier is not None else 0
    size = (earlier.aggregate(size=Sum("size"))["size"] or 0) if earlier is not None else 0
    for item in items:
        if item.found not in (REFUSED, RULES):
            _look_at(store, item, there, known, memories, size)
        item.choice = CHOICES[item.found][0]
        if item.found == NEW:
            memories, size = memories + 1, size + item.size


def _look_at(
    store: Tree, item: ImportItem, there: Mapping[str, Memory], known: Mapping[str, str], memories: int, size: int
) -> None:
    try:
        if item.is_proposal:
            item.found = DECIDED if is_decided(item) else PROPOSAL
            _require_texts(store, item)
            return
        if is_deleted(item):
            item.found = SAME if known.get(item.memory or "") == store.store else TRASH
            _require_texts(store, item)
            return
        require_path(item.path)
        memory = there.get(item.path)
        if memory is not None:
            item.found, item.met = (SAME if memory.sha256 == _sha256(item) else CONFLICT), memory.head_id
        else:
            item.found = NEW
            require_free(store, item.path)
        if item.found == SAME:
            return
        limits.check(
            store.limits,
            item.path,
            old_size=memory.size if memory else None,
            new_size=item.size,
            memories=store.memories + memories,
            total_bytes=store.total_bytes + size,
        )
        _require_texts(store, item)
    except ToolError as error:
        item.found, item.reason = REFUSED, error.message


def require_path(path: str) -> None:
    """Raise ToolError if no memory can be at this path, or if the path is not in its stored form."""
    if paths.from_tool(paths.to_tool(path), creates=True) != path or not path:
        raise ToolError(results.path_not_allowed(paths.to_tool(path), "it is not written as paths are stored"))


def require_free(store: Tree, path: str) -> None:
    """Raise ToolError if a directory is at the path, or a memory is above it."""
    if sql.one(sql.DIRECTORY_AT, store.store, path):
        raise ToolError(results.already_exists(path))
    above = tree.memory_above(store, path)
    if above is not None:
        raise ToolError(results.cannot_create(path, above))


def _require_texts(store: Tree, item: ImportItem) -> None:
    """Check every text of an item as for a write.

    Store the kinds of masked and of flagged values in the item's `reason`. Raises ToolError if a kind is blocked or if
    a limit is exceeded.
    """
    limits.check_versions(store.limits, item.path, 0 if item.is_proposal else len(item.history))
    masked: set[str] = set()
    flagged: set[str] = set()
    for path, content in texts_of(item):
        most = store.limits.memory_bytes
        if most is not None and len(content.encode()) > most:
            raise ToolError(results.memory_too_large(path, len(content.encode()), most))
        screened = findings.screen(store, path, None, content)
        masked |= {span.kind for span in screened.masked}
        flagged |= {span.kind for span in screened.flagged}
    if item.path:
        flagged |= {span.kind for span in findings.screen_path(store, item.path).flagged}
    parts = [("masked", masked), ("flagged", flagged)]
    item.reason = "; ".join(f"{what}: {', '.join(sorted(kinds))}" for what, kinds in parts if kinds)


def texts_of(item: ImportItem, *, with_seen: bool = False) -> Iterable[tuple[str, str]]:
    """Return (path, text) for each different text that an item would store.

    An open proposal would also store the texts that the agent saw. For a decided proposal, these texts are returned
    only with `with_seen`.
    """
    if item.is_proposal:
        names = _TEXTS[1:] if is_decided(item) and not with_seen else _TEXTS
        texts = ((change["memory"] or change["path"], change[name]) for change in item.history for name in names)
        return [(path, content) for path, content in texts if content is not None]
    if item.found == RULES:
        return []
    if not item.history:
        return [(item.path, item.content or "")]
    found = {
        version["content"]: version["path"] or item.path for version in item.history if version["content"] is not None
    }
    return [(path, content) for content, path in found.items()]


def is_decided(item: ImportItem) -> bool:
    """Return whether an item is a proposal that was already decided at the source."""
    return item.is_proposal and item.history[0][ABOUT]["decision"] is not None


def is_deleted(item: ImportItem) -> bool:
    """Return whether an item is imported into the trash."""
    return bool(item.history) and not item.is_proposal and item.history[-1]["operation"] == "deleted"


def _sha256(item: ImportItem) -> str | None:
    return None if item.content is None else hashlib.sha256(item.content.encode()).hexdigest()


def _there(store_id: str, at: Sequence[str]) -> dict[str, Memory]:
    """Return {path: the live memory at it} for the given paths. Paths without a live memory are left out."""
    found: dict[str, Memory] = {}
    for part in in_parts(sorted(set(at))):
        rows = (
            Memory.objects.filter(store_id=store_id, path__in=part)
            .live()
            .only("pk", "path", "head_id", "sha256", "size")
        )
        found |= {row.path: row for row in rows}
    return found


def _known(ids: set[str]) -> dict[str, str]:
    """Return {memory id: store id} for the given memories that this hub has."""
    found: dict[str, str] = {}
    for part in in_parts(sorted(ids)):
        found |= dict(Memory.objects.filter(pk__in=part).values_list("pk", "store_id"))
    return found

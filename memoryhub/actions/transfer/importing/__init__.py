"""Imports: a person uploads a source, sees a preview, chooses what to do with each item, and starts the import.

No memory changes before `start`. Then short transactions import the memories. Each memory is imported completely or not
at all, and its import makes one entry `import`.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.actions.core import audit, tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.core.plans import in_parts
from memoryhub.actions.core.rules.ruling import Looked
from memoryhub.actions.core.transactions import pace, writing
from memoryhub.actions.findings import findings
from memoryhub.actions.transfer.importing import items as import_items, places, preview, writes
from memoryhub.actions.transfer.importing.preview import AFTER_MEMORIES, BESIDE, CHOICES, REFUSED, RULES, SKIP
from memoryhub.actions.transfer.importing.stopping import reason_to_stop
from memoryhub.models import Door, Import, ImportItem, ImportState, MemoryVersion
from memoryhub.models.audit import ActorKind
from memoryhub.pure import ids
from memoryhub.pure.protocol import paths
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.reading import Bounds, Read

OPEN = (ImportState.ARRIVING, ImportState.READING, ImportState.PREVIEW, ImportState.RUNNING)
AT_WORK = (ImportState.READING, ImportState.RUNNING)
MOST_ITEMS, MOST_VERSIONS, MOST_BYTES = 50, 200, 256 * 1024
"""The most items, versions (comments count too) and bytes of one transaction (at least one memory), so that tool calls
wait only briefly."""
_size = pace.Size(MOST_ITEMS)
MOST_ARRIVING = 1024 * 1024
"""The most bytes of one transaction of an upload."""
MOST_OPEN = 20
"""The most open imports of a store: their texts are kept until they end."""


class NotOpen(Exception):
    """The import has ended, or is not in the state that the act needs."""


class Brought(NamedTuple):
    """The content of a source, and its name for people.

    If the source is a memory store of this hub, `copied_from` is the id of this store."""

    read: Read
    # No digest of the source is stored, because a digest could confirm guesses at a text that is erased later.
    name: str
    copied_from: str | None = None


def bounds() -> Bounds:
    """Return the limits of an import, from the settings."""
    return Bounds(**settings.MEMORYHUB_IMPORT)


# ------------------------------------------------------------------------------------------------ preparing


def prepare(store_id: str, brought: Brought, place: str, act: Act) -> Import:
    """Store the content of a source for an import into the directory `place`. Return the import.

    The content is written in short transactions; the last one writes the entry. Afterwards, `step` makes the preview of
    the import. Raises ToolError if the store is archived or the place is invalid; Refused if MOST_OPEN imports of the
    store are open, or if this import is cancelled while its content is written. Also raises NoSuchStore.
    """
    place = "" if place.strip("/ ") == "" else paths.from_tool(paths.to_tool("/" + place.strip("/")))
    job = _arriving(store_id, brought, place, act)
    try:
        with pace.giving_way():
            for items in _pieces(import_items.items_of(brought.read, place)):
                _add(job, items)
        _arrived(job, brought, act)
    except BaseException:
        drop(job.pk)
        raise
    return job


def _arriving(store_id: str, brought: Brought, place: str, act: Act) -> Import:
    bundle = brought.read.bundle
    with tree.locked(store_id, act) as store:
        tree.require_active(store)
        if Import.objects.filter(store_id=store_id, state__in=OPEN).count() >= MOST_OPEN:
            raise Refused(f"{MOST_OPEN} imports of this memory store are not over: start or cancel one of them.")
        job = Import(  # type: ignore[misc]
            id=ids.new_id(ids.IMPORT, act.at),
            store_id=store_id,
            state=ImportState.ARRIVING,
            source=bundle.source,
            name=places.kept_text(brought.name)[:300],
            copied_from=brought.copied_from,
            place=place,
            actor=_kept(act.actor),
            door=act.door.value,
            actors=import_items.labels(bundle.memories),
            memory_count=sum(map(len, (bundle.memories, brought.read.left, bundle.proposals, bundle.rules[:1]))),
            created_at=act.at,
            created_by_id=act.actor.id if act.actor.kind == ActorKind.USER else None,
        )
        job.save(force_insert=True)
    return job


def _pieces(items: Iterable[ImportItem]) -> Iterator[list[ImportItem]]:
    """Yield lists of at most MOST_ITEMS items and about MOST_ARRIVING bytes. A single item may have more bytes."""
    piece: list[ImportItem] = []
    size = 0
    for item in items:
        piece.append(item)
        size += import_items.weight(item)
        if len(piece) >= MOST_ITEMS or size > MOST_ARRIVING:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _add(job: Import, items: Sequence[ImportItem]) -> None:
    for item in items:
        item.job = job
    with writing():
        _require_arriving(job)
        ImportItem.objects.bulk_create(items)
    job.byte_count += sum(item.size for item in items)


def _require_arriving(job: Import) -> None:
    """Lock the import's row. Raise Refused if an erasure or a person has ended the import."""
    rows = Import.objects.select_for_update().filter(pk=job.pk, state=ImportState.ARRIVING)
    if not rows.values_list("pk", flat=True):
        raise Refused("The import was cancelled while it was being read.")


def _arrived(job: Import, brought: Brought, act: Act) -> None:
    with tree.locked(job.store_id, act) as store:
        tree.require_active(store)
        _require_arriving(job)
        job.state = ImportState.READING
        job.save(update_fields=["state", "byte_count"])
        _write_entry(
            store,
            job,
            "prepare_import",
            {
                "source": job.source,
                "name": job.name,
                "place": job.place,
                "memories": len(brought.read.bundle.memories),
                "left_out": len(brought.read.left),
                "bytes": job.byte_count,
                **({"proposals": len(proposals)} if (proposals := brought.read.bundle.proposals) else {}),
                **({"path_rules": len(rules)} if (rules := brought.read.bundle.rules) else {}),
            },
        )


def drop(import_id: str) -> None:
    """Delete an incomplete upload. It has no entry and no page."""
    items = ImportItem.objects.filter(job_id=import_id, job__state=ImportState.ARRIVING).order_by("number")
    while numbers := list(items.values_list("number", flat=True)[:MOST_ITEMS]):
        with writing():
            ImportItem.objects.filter(job_id=import_id, number__in=numbers).delete()
    with writing():
        Import.objects.filter(pk=import_id, state=ImportState.ARRIVING).delete()


# ------------------------------------------------------------------------------------------------ choosing


def choose(import_id: str, choice: str, numbers: Sequence[int] | None = None, *, governs: bool = False) -> int:
    """Set a choice for those items of a preview that allow this choice. Return their number. Raises NotOpen.

    `numbers` are the numbers of the items (None: all conflicts). Choices about path rules are set only if the person
    `governs` the memory store.
    """
    with writing():
        job = Import.objects.filter(pk=import_id).first()
        if job is None or job.state != ImportState.PREVIEW:
            raise NotOpen(import_id)
        allowed = [found for found, choices in CHOICES.items() if choice in choices and (governs or found != RULES)]
        items = ImportItem.objects.filter(job_id=import_id, found__in=allowed)
        if numbers is None:
            return items.filter(found__in=("conflict",)).update(choice=choice)
        return sum(
            items.filter(number__in=numbers[start : start + 500]).update(choice=choice)
            for start in range(0, len(numbers), 500)
        )


def start(import_id: str, act: Act) -> None:
    """Start a previewed import. Raises ToolError if the store is archived. Also raises NotOpen and NoSuchStore."""
    store_id = _store_of(import_id)
    with tree.locked(store_id, act) as store:
        job = Import.objects.get(pk=import_id)
        if job.state != ImportState.PREVIEW:
            raise NotOpen(import_id)
        tree.require_active(store)
        job.state, job.group, job.done_count, job.started_at = (
            ImportState.RUNNING,
            act.group or ids.new_id(ids.GROUP, act.at),
            0,
            act.at,
        )
        job.actor, job.door = _kept(act.actor), act.door.value
        job.save(update_fields=["state", "group", "done_count", "started_at", "actor", "door"])
        items = ImportItem.objects.filter(job_id=import_id)
        choices = {choice: items.filter(choice=choice).count() for choice in ("take", BESIDE, SKIP)}
        _write_entry(
            store, job, "start_import", {"source": job.source, "name": job.name, "place": job.place, **choices}
        )


def cancel(import_id: str, act: Act, problem: str = "") -> None:
    """End an open import. Memories that it has imported stay. `problem` is a sentence that says why it ends.

    Raises NotOpen and NoSuchStore."""
    with tree.locked(_store_of(import_id), act) as store:
        job = Import.objects.get(pk=import_id)
        if job.state not in OPEN:
            raise NotOpen(import_id)
        before, done = job.state, job.done_count if job.state == ImportState.RUNNING else 0
        job.problem = problem
        _end(job, ImportState.CANCELLED, act.at)
        _write_entry(store, job, "cancel_import", {"state": [before, job.state], "done": done})


# ------------------------------------------------------------------------------------------------ running


def step(import_id: str, at: datetime) -> bool:
    """Process the next items of an import in one short transaction. Return whether to call this again."""
    job = Import.objects.filter(pk=import_id).first()
    if job is None or job.state not in AT_WORK:
        return False
    act = Act(Actor(**job.actor), Door(job.door), at, group=job.group)
    try:
        looked = _looked(job, act)
    except tree.NoSuchStore:
        return False
    with writing():
        try:
            store = tree.lock(job.store_id, act)
        except tree.NoSuchStore:
            return False
        store.looked = looked
        job = Import.objects.get(pk=import_id)
        if job.state == ImportState.READING:
            _look(store, job)
        elif job.state == ImportState.RUNNING:
            _run(store, job)
        return job.state in AT_WORK


def versions_of(import_id: str) -> list[str]:
    """Return the ids of the versions that an import has made so far, in the order of its entries."""
    store_id, found = _store_of(import_id), list[str]()
    for part in in_parts(seqs_of(import_id)):
        rows = MemoryVersion.objects.filter(store_id=store_id, seq__in=part).order_by("seq", "number")
        found += rows.values_list("pk", flat=True)
    return found


def seqs_of(import_id: str) -> Iterator[int]:
    """Yield the seqs of the entries that an import has made so far, in order."""
    made = ImportItem.objects.filter(job_id=import_id, seq__isnull=False).order_by("seq").values_list("seq", flat=True)
    yield from (seq for seq in made.iterator(2000) if seq is not None)


def go_on(import_id: str, seconds: float) -> None:
    """Process items of an import while a request waits. Stop after `seconds` seconds, or when `step` returns False."""
    end = time.monotonic() + seconds
    with pace.giving_way():
        while time.monotonic() < end and step(import_id, timezone.now()):
            pass


def running() -> list[str]:
    """Return the ids of the imports that the background has to process, oldest first."""
    return list(Import.objects.filter(state__in=AT_WORK).order_by("pk").values_list("pk", flat=True))


def _look(store: tree.Tree, job: Import) -> None:
    """Make the preview of the next items, and save it."""
    items = _few(job)
    preview.look(store, job, items)
    for item in items:
        if item.found == REFUSED:  # a refused text may not be stored here either
            item.content, item.history = None, []
    _save(items, ["found", "choice", "reason", "met", "content", "history"])
    job.done_count += len(items)
    if job.done_count >= job.memory_count:
        job.state = ImportState.PREVIEW
    job.save(update_fields=["done_count", "state"])
    _size.learn(len(items), len(items))


def _looked(job: Import, act: Act) -> Looked:
    """Screen the texts of the next items before the store is locked. Return the findings."""
    with tree.locked(job.store_id, act) as store:
        rules = store.ruling
    items = [item for item in _few(job) if item.choice != SKIP and item.found != REFUSED]
    return findings.look_ahead(rules, {text for item in items for _, text in preview.texts_of(item, with_seen=True)})


def _few(job: Import) -> list[ImportItem]:
    """Return the next items of an import, with their texts.

    They are at most MOST_ITEMS items. Together, those that are not skipped have at most MOST_VERSIONS versions and
    comments, and at most MOST_BYTES bytes; a single item may have more. After `start`, items of proposals and path
    rules are not returned together with items of memories.
    """
    chosen: list[int] = []
    versions, size, is_rest = 0, 0, False
    sizes = _next(job).values_list("number", "choice", F("version_count") + F("comment_count"), "size", "found")
    for number, choice, count, length, found in sizes[: min(MOST_ITEMS, _size.next)]:
        if choice != SKIP:
            versions, size = versions + count, size + length
        is_over, last, is_rest = versions > MOST_VERSIONS or size > MOST_BYTES, is_rest, found in AFTER_MEMORIES
        if chosen and (is_over or is_rest != last):
            break
        chosen.append(number)
    return list(_next(job).filter(number__lte=chosen[-1])) if chosen else []


def _save(items: Sequence[ImportItem], fields: list[str]) -> None:
    """Save columns of existing items in one statement."""
    ImportItem.objects.bulk_create(items, update_conflicts=True, unique_fields=["job", "number"], update_fields=fields)


def _run(store: tree.Tree, job: Import) -> None:
    """Import the next memories. End the import as failed if there is a reason to stop."""
    if problem := reason_to_stop(store):
        job.problem = problem
        _end(job, ImportState.FAILED, store.at)
        return
    few = _few(job)
    items: list[ImportItem] = []
    for item in pace.some(few):
        writes.bring(store, job, item)
        items.append(item)
    _save(items, ["seq", "outcome", "reason", "content", "history"])
    job.done_count += len(items)
    job.save(update_fields=["done_count"])
    if job.done_count >= job.memory_count:
        _end(job, ImportState.DONE, store.at)
    _size.learn(len(items), len(few))


def _next(job: Import) -> Any:
    return ImportItem.objects.filter(job_id=job.pk, number__gte=job.done_count).order_by("number")


def _end(job: Import, state: ImportState, at: datetime) -> None:
    """End an import: delete its texts, and keep the result for each memory."""
    job.state, job.ended_at = state, at
    job.save(update_fields=["state", "ended_at", "problem"])
    ImportItem.objects.filter(job_id=job.pk).update(content=None, history=[])


def cancel_erased(store: tree.Tree, having: Collection[str]) -> list[str]:
    """Cancel the open imports of a locked store that contain an erased text; return their ids.

    The caller passes the ids of the imports with such a text as `having`. Uploads that are still being read are
    cancelled too, but only ids in `having` are returned.
    """
    jobs = Import.objects.filter(store_id=store.store, state__in=OPEN).order_by("pk")
    ended = [job for job in jobs if job.pk in having or job.state == ImportState.ARRIVING]
    for job in ended:
        why = _(
            "The erasure of entry %(seq)s cancelled the import: it contained one of the erased texts, or was "
            "still being read."
        )
        job.problem = why % {"seq": store.seq}
        _end(job, ImportState.CANCELLED, store.at)
    return [job.pk for job in ended if job.pk in having]


# ------------------------------------------------------------------------------------------------ internals


def _store_of(import_id: str) -> str:
    return Import.objects.values_list("store_id", flat=True).get(pk=import_id)


def _kept(actor: Actor) -> dict[str, Any]:
    return {"kind": actor.kind, "id": actor.id, "author_id": actor.author_id, "label": actor.label}


def _write_entry(store: tree.Tree, job: Import, command: str, details: Mapping[str, object]) -> None:
    store.act = store.act._replace(group=job.group or store.act.group)
    tree.commit(store, Record(command, path=job.place or None, input=audit.to_json({"import": job.pk, **details})))

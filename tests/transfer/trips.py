"""A store with everything that a history can hold, taken out of the hub and brought into an empty one."""

from datetime import UTC, datetime, timedelta
from typing import Any

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.retention import removal
from memoryhub.actions.stores import stores
from memoryhub.actions.transfer import exporting, importing
from memoryhub.actions.verification import verify
from memoryhub.models import Door, Import, ImportItem, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure.transfer import recognition
from memoryhub.pure.transfer.reading import Read

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
COMMAND = Actor.system("tests")


def act(minutes: float = 0, actor: Actor = COMMAND) -> Act:
    """An act so many minutes after the start."""
    return Act(actor, Door.COMMAND, START + timedelta(minutes=minutes))


def new_store(name: str = "Source") -> MemoryStore:
    return stores.create_store(stores.StoreSettings(name=name), actor=COMMAND, door=Door.COMMAND, at=START)


def lived_in(person: User) -> MemoryStore:
    """A store with edits, renames, a trash, a memory that came out of it, redactions and removed versions."""
    store, by = new_store(), Actor.person(person)
    one = curation.create(store.pk, "/notes/ü 1.md", "first\nline\n", act(1, by))
    sha = Memory.objects.get(pk=one.memory).sha256
    curation.edit(store.pk, str(one.memory), "first\nline two\n", sha, act(2.5))
    curation.rename(store.pk, "/notes/ü 1.md", "/deep/er/one.md", act(3, by))
    two = curation.create(store.pk, "/two.md", "two", act(4))
    curation.delete(store.pk, "/two.md", act(5, by))
    curation.restore(store.pk, str(two.version), act(6), path="/second.md")
    gone = curation.create(store.pk, "/gone.md", "gone", act(7))
    curation.delete(store.pk, "/gone.md", act(8, by))
    three = curation.create(store.pk, "/three.md", "secret", act(9))
    for minute, text in enumerate(("b", "c", "", "e"), 10):
        sha = Memory.objects.get(pk=three.memory).sha256
        curation.edit(store.pk, str(three.memory), text, sha, act(minute, by))
    redaction.redact_version(store.pk, str(three.version), act(20, by))
    numbered = MemoryVersion.objects.filter(memory_id=three.memory, number__in=(2, 4)).order_by("number")
    removed = [version.pk for version in numbered]
    with tree.locked(store.pk, act(21)) as locked:
        kept = removal.remove_versions(locked, str(three.memory), removed)
        tree.commit(locked, Record("purge", memory=three.memory, redactions=kept.redactions))
    assert gone.memory
    return store


def exported(store: MemoryStore, form: str) -> bytes:
    """The store as an export writes it."""
    begun = exporting.begin(store.pk, exporting.Wanted(form), act(30))
    return b"".join(begun.body())


def read(data: bytes, name: str = "brought") -> Read:
    return recognition.read(data, name, importing.bounds())


def prepared(store: MemoryStore, data: bytes, place: str = "", name: str = "brought", minute: float = 40) -> Import:
    """An import that has been looked at."""
    job = importing.prepare(store.pk, importing.Brought(read(data, name), name), place, act(minute))
    while importing.step(job.pk, act(minute).at):
        pass
    job.refresh_from_db()
    return job


def run(job: Import, minute: float = 41) -> Import:
    """Starts it and goes on to its end."""
    importing.start(job.pk, act(minute))
    while importing.step(job.pk, act(minute).at):
        pass
    job.refresh_from_db()
    return job


def with_rules(job: Import) -> Import:
    """Says that an administrator takes over the path rules."""
    importing.choose(
        job.pk, "take", list(job.items.filter(found="rules").values_list("number", flat=True)), governs=True
    )
    return job


def outcomes(job: Import) -> dict[str, str]:
    """What came of each memory, by its path."""
    return dict(ImportItem.objects.filter(job=job).values_list("path", "outcome"))


def facts(store: MemoryStore, *, authors: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything of a store's memories that an export carries, by memory."""
    found: dict[str, Any] = {}
    for memory in Memory.objects.filter(store=store).order_by("pk"):
        versions = MemoryVersion.objects.filter(store=store, memory=memory).select_related("text").order_by("number")
        found[memory.pk] = (
            memory.path, memory.is_live, memory.sha256, memory.size, memory.created_at, memory.updated_at,
            memory.version_count, memory.removed_versions,
            [
                (one.pk, one.number, one.operation, one.path, one.content, one.created_at, one.redacted_at is None)
                for one in versions
            ],
        )  # fmt: skip
    return found


def require_verified(store: MemoryStore, path: Any) -> None:
    """Raises AssertionError where the store's audit does not verify."""
    count, problem = verify.verify(store.pk, path)
    assert problem is None, problem
    assert count

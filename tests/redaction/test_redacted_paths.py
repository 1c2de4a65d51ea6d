"""A redacted version's path leaves the audit with it, unless another version has the same path."""

import pytest
from django.utils import timezone

from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Door, ImportItem, Memory, MemoryStore, MemoryVersion
from tests.redaction import looking
from tests.transfer import trips
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db

NAME = "anna-b-12345"


def redact(store: MemoryStore, version: MemoryVersion) -> None:
    redaction.redact_version(store.pk, version.pk, Act(Actor.system("tests"), Door.API, timezone.now()))
    assert verify.verify(store.pk)[1] is None


def standing(name: str) -> list[str]:
    """The columns of the database in which it stands."""
    return [column for column, values in looking.columns() if name.encode() in values]


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    """An agent that made a memory, looked at it and at its directory, failed at it, and renamed it."""
    caller = Caller(store, key, session="run-1")
    caller.create(f"/people/{NAME}.md", "one\n")
    caller.create(f"/people/{NAME}.md.bak", "another memory\n")
    caller.call("view", path=f"/memories/people/{NAME}.md")
    caller.call("view", path="/memories/people")
    caller.call("create", path=f"/memories/people/{NAME}.md", file_text="two\n")
    caller.call("str_replace", path=f"/memories/people/{NAME}.md", old_str="nothing", new_str="x")
    caller.call("rename", old_path=f"/memories/people/{NAME}.md", new_path="/memories/people/somebody.md")
    caller.call("view", path=f"/memories/people/{NAME}.md")
    return caller


def test_the_path_of_a_redacted_version_is_in_no_entry_any_more(store: MemoryStore, caller: Caller) -> None:
    first = MemoryVersion.objects.get(store=store, path=f"/people/{NAME}.md")
    assert len(standing(f"{NAME}.md")) >= 5
    redact(store, first)
    for entry in AuditEntry.objects.of_chain(store.pk):
        told = "\n".join(filter(None, (entry.path, entry.new_path, entry.input, entry.message)))
        assert f"{NAME}.md" not in told.replace(f"{NAME}.md.bak", ""), (entry.seq, entry.command)
    assert any(f"{NAME}.md.bak" in (entry.input or "") for entry in AuditEntry.objects.of_chain(store.pk))


@pytest.mark.both_databases
def test_no_byte_of_the_path_is_left_when_all_its_versions_are_redacted(store: MemoryStore, caller: Caller) -> None:
    caller.delete(f"/people/{NAME}.md.bak")
    for version in MemoryVersion.objects.filter(store=store, path__contains=NAME).order_by("seq"):
        redact(store, version)
    assert standing(NAME) == []
    assert NAME not in "".join(Memory.objects.filter(store=store).values_list("path", flat=True))


def test_a_path_that_another_version_has_stays_until_that_is_redacted_too(store: MemoryStore, key: str) -> None:
    caller = Caller(store, key, session="run-1")
    path = f"/{NAME}.md"
    caller.create(path, "one\n")
    caller.call("str_replace", path=f"/memories{path}", old_str="one", new_str="two")
    caller.call("rename", old_path=f"/memories{path}", new_path="/memories/b.md")
    first, second = MemoryVersion.objects.filter(store=store, path=path).order_by("number")
    redact(store, first)
    assert AuditEntry.objects.of_chain(store.pk).at_path(path).exists()
    redact(store, second)
    assert standing(NAME) == []


@pytest.mark.both_databases
def test_the_list_of_an_import_that_is_over_has_the_path_no_more(store: MemoryStore) -> None:
    source = trips.new_store()
    for name in (NAME, "other"):
        curation.create(source.pk, f"/{name}.md", f"{name}\n", trips.act(1))
    trips.run(trips.prepared(store, trips.exported(source, "jsonl")))
    waiting = trips.prepared(store, trips.exported(source, "jsonl"), place="/again")
    memory = Memory.objects.at(f"/{NAME}.md").get(store=store)
    curation.delete(store.pk, memory.path, trips.act(60))
    for version in MemoryVersion.objects.of_memory(memory):
        redact(store, version)
    listed = ImportItem.objects.filter(job__store=store).exclude(job=waiting).values_list("path", flat=True)
    assert sorted(listed) == ["/[redacted]", "/other.md"]
    there = ImportItem.objects.filter(job=waiting).values_list("path", flat=True)
    assert sorted(there) == [f"/again/{NAME}.md", "/again/other.md"], "what is uploaded for another place stays"

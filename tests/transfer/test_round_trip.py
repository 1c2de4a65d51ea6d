"""A store taken out of the hub and brought into an empty one is the same store: in all formats that carry a history."""

import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models import Sum
from django.urls import reverse

from memoryhub.actions import figures
from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import delete
from memoryhub.actions.transfer import exporting, importing
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Growth, Import, ImportItem, Memory, MemoryStore, MemoryVersion, Role, User
from memoryhub.pure.transfer import reading, tree_read
from tests.support.fixtures import BY, new_person, signed_in
from tests.transfer import trips

FORMS = ("zip", "jsonl", "git")


def emptied(store: MemoryStore) -> None:
    """The hub without the store, as one where nothing was ever kept of it."""
    delete.delete_store(store.pk, act=trips.act(31))
    while delete.step(store.pk):
        pass


def authors(store: MemoryStore) -> dict[str, tuple[str, str]]:
    """Who wrote each version: by its origin, or by the entry that made it."""
    labels = {label for job in Import.objects.all() for label in job.actors.items()}
    entries = {entry.seq: entry for entry in AuditEntry.objects.of_chain(store.pk)}
    found = {}
    for version in MemoryVersion.objects.filter(store=store):
        entry = entries[version.seq]
        if version.origin:
            id = version.origin["id"]
            found[version.pk] = ("hub" if id.startswith("author_") else id, dict(labels)[id])
        else:
            found[version.pk] = (entry.actor_id or "hub", str(entry.label))
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_what_comes_back_is_what_was_there(form: str, own_checkpoints: Path) -> None:
    person = new_person("Alice")
    source = trips.lived_in(person)
    before, wrote = trips.facts(source), authors(source)
    trips.require_verified(source, own_checkpoints)
    data = trips.exported(source, form)
    emptied(source)
    target = trips.new_store("Target")
    job = trips.run(trips.prepared(target, data))
    assert job.state == "done" and set(trips.outcomes(job).values()) == {"taken"}
    assert trips.facts(target) == before
    assert authors(target) == wrote
    trips.require_verified(target, own_checkpoints)
    again = trips.facts(target)
    second = trips.run(trips.prepared(target, trips.exported(target, form)), 50)
    assert trips.facts(target) == again, "what is there already is not brought twice"
    assert not set(trips.outcomes(second).values()) - {"same"}
    trips.require_verified(target, own_checkpoints)


@pytest.mark.django_db
@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("form", FORMS)
def test_a_memory_whose_deletion_was_redacted_keeps_its_last_path(form: str, own_checkpoints: Path) -> None:
    source = trips.new_store()
    gone = curation.create(source.pk, "/gone.md", "gone", trips.act(1))
    curation.rename(source.pk, "/gone.md", "/left.md", trips.act(2))
    curation.delete(source.pk, "/left.md", trips.act(3))
    redaction.redact_version(source.pk, str(Memory.objects.get(pk=gone.memory).head_id), trips.act(4))
    before, data = trips.facts(source), trips.exported(source, form)
    emptied(source)
    target = trips.new_store("Target")
    trips.run(trips.prepared(target, data))
    assert [memory.path for memory in Memory.objects.filter(store=target)] == ["/left.md"]
    assert trips.facts(target) == before
    trips.require_verified(target, own_checkpoints)


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMS)
def test_a_memory_in_the_trash_that_was_redacted_looks_the_same_after_an_import(form: str, alice: User) -> None:
    source, target = trips.new_store(), trips.new_store("Target")
    gone = curation.create(source.pk, "/gone.md", "gone", trips.act(1))
    curation.delete(source.pk, "/gone.md", trips.act(2))
    for version in source.versions.order_by("number"):
        redaction.redact_version(source.pk, version.pk, trips.act(3))
    trips.run(trips.prepared(target, trips.exported(source, form)))
    memories = [Memory.objects.get(pk=gone.memory), Memory.objects.get(store=target)]
    client = signed_in(alice)
    for memory in memories:
        keys_and_roles.set_role(memory.store, alice, Role.ADMIN, **BY)
        assert (memory.path, memory.name) == ("/[redacted]", "[redacted]")
        for name, of in (("export_trash", [memory.store_id]), ("export_versions", [memory.store_id, memory.pk])):
            told = client.post(reverse(name, args=of), {"format": "json"}).getvalue()
            assert {row["size"] or 0 for row in json.loads(told)} == {0}, name
    address = reverse("remove_memories", args=[target.pk])
    client.post(address, {"id": memories[1].pk, "name": "[redacted]"})
    assert not Memory.objects.filter(store=target).exists()
    assert verify.verify(target.pk)[1] is None


MARKED = ("/.anthropic-memory-store", "/.anthropic-memory-store.d/x.md", "/notes/.anthropic-memory-store")


@pytest.mark.django_db
@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("form", FORMS)
def test_a_memory_named_like_the_marker_of_the_sdk_comes_back_from_an_export(form: str, own_checkpoints: Path) -> None:
    source = trips.new_store()
    for path in MARKED:
        curation.create(source.pk, path, f"at {path}\n", trips.act(1))
    before = trips.facts(source)
    whole = trips.exported(source, form)
    newest = b"".join(exporting.begin(source.pk, exporting.Wanted(form, history=False), trips.act(30)).body())
    emptied(source)
    target = trips.new_store("Target")
    assert set(trips.outcomes(trips.run(trips.prepared(target, whole))).values()) == {"taken"}
    assert trips.facts(target) == before
    trips.require_verified(target, own_checkpoints)
    other = trips.new_store("Of the newest versions")
    trips.run(trips.prepared(other, newest), 50)
    assert tuple(Memory.objects.filter(store=other).order_by("path").values_list("path", flat=True)) == MARKED


@pytest.mark.django_db
def test_a_marker_of_the_sdk_that_is_no_memory_of_an_export_is_left() -> None:
    stream = (b"commit refs/heads/main", b"committer A <a@example.com> 1700000000 +0000", b"data 1", b"x",
              b"M 100644 inline notes/.anthropic-memory-store", b"data 2", b"x", b"",
              b"M 100644 inline a.md", b"data 2", b"a", b"", b"done", b"")  # fmt: skip
    brought = trips.read(b"\n".join(stream))
    assert [memory.path for memory in brought.bundle.memories] == ["/a.md"]
    assert [(left.path, left.why) for left in brought.left] == [("/notes/.anthropic-memory-store", reading.MARKED)]
    source = trips.new_store()
    curation.create(source.pk, "/notes/a.md", "a\n", trips.act(1))
    unpacked = {"notes/a.md": b"a\n", "notes/.anthropic-memory-store": b"{}"}
    with zipfile.ZipFile(io.BytesIO(trips.exported(source, "zip"))) as archive:
        unpacked |= {name: archive.read(name) for name in archive.namelist() if name.startswith(".memoryhub/")}
    read = tree_read.read_texts(unpacked, importing.bounds(), False, "directory")
    assert [memory.path for memory in read.bundle.memories] == ["/notes/a.md"]
    assert ("/notes/.anthropic-memory-store", reading.MARKED) in [(left.path, left.why) for left in read.left]


@pytest.mark.django_db
def test_into_a_hub_that_has_the_ids_they_come_as_new_ones(own_checkpoints: Path) -> None:
    source = trips.lived_in(new_person("Alice"))
    data, target = trips.exported(source, "jsonl"), trips.new_store("Target")
    trips.run(trips.prepared(target, data, place="/from/there"))
    there, here = trips.facts(source), trips.facts(target)
    assert not there.keys() & here.keys()
    assert sorted("/from/there" + facts[0] for facts in there.values()) == sorted(facts[0] for facts in here.values())
    numbers = [sorted([version[1] for version in facts[-1]] for facts in found.values()) for found in (there, here)]
    assert numbers[0] == numbers[1]
    for store in (source, target):
        trips.require_verified(store, own_checkpoints)


@pytest.mark.django_db
def test_git_shows_the_right_blame_and_what_it_writes_out_again_comes_back(tmp_path: Path) -> None:
    person = new_person("Alice")
    source = trips.lived_in(person)
    before, stream = trips.facts(source), trips.exported(source, "git")
    emptied(source)

    def git(*command: str, given: bytes = b"") -> str:
        told = subprocess.run(["git", "-C", str(tmp_path), *command], input=given, capture_output=True, check=True)
        return told.stdout.decode()

    git("init", "-q", ".")
    git("fast-import", "--quiet", given=stream)
    git("checkout", "-q", "main")
    blame = git("blame", "--line-porcelain", "deep/er/one.md")
    named = re.findall(r"^author (.*)$", blame, re.MULTILINE)
    assert named == ["Alice", "tests"] and "line two" in blame
    again = subprocess.run(
        ["git", "-C", str(tmp_path), "fast-export", "--use-done-feature", "main"], capture_output=True, check=True
    ).stdout
    comments = b"".join(line + b"\n" for line in stream.split(b"\n") if line.startswith(b"# memoryhub "))
    target = trips.new_store("Target")
    trips.run(trips.prepared(target, comments + again))
    assert trips.facts(target) == before


@pytest.mark.django_db
def test_a_stream_that_names_all_texts_of_each_commit_has_the_same_history(tmp_path: Path) -> None:
    def git(*command: str) -> bytes:
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
        return subprocess.run(["git", "-C", str(tmp_path), *who, *command], capture_output=True, check=True).stdout

    git("init", "-q", "-b", "main", ".")
    for texts in (
        {"a.md": "1", "d/b.md": "1"},
        {"a.md": "2"},
        {"c.md": "1", "a.md": None},
        {"d/b.md": "2"},
        {"d": "x"},
    ):
        for name, text in texts.items():
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            (tmp_path / name).unlink(missing_ok=True)
            if text is not None:
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).write_text(text)
        git("add", "-A")
        git("commit", "-qm", "change")
    found = []
    for words in ((), ("--full-tree",)):
        target = trips.new_store("Target")
        trips.run(trips.prepared(target, git("fast-export", *words, "main")))
        versions = MemoryVersion.objects.filter(store=target).order_by("seq", "memory__path", "number")
        found.append(list(versions.values_list("memory__path", "number", "operation", "path", "text__content")))
    assert found[0] == found[1]
    assert len(found[0]) == 8


@pytest.mark.django_db
def test_pages_say_who_wrote_what_an_import_brought() -> None:
    source = trips.lived_in(new_person("Alice"))
    data = trips.exported(source, "jsonl")
    emptied(source)
    target, carol = trips.new_store("Target"), new_person("Carol")
    keys_and_roles.set_role(target, carol, Role.CURATOR, **BY)
    trips.run(trips.prepared(target, data))
    memory, browser = Memory.objects.at("/deep/er/one.md").get(store=target), signed_in(carol)
    for name in ("versions", "blame"):
        shown = browser.get(reverse(name, args=[target.pk, memory.pk])).content.decode()
        assert "Alice (imported)" in shown and "tests (imported)" in shown
    shown = browser.get(reverse("version", args=[target.pk, memory.head_id])).content.decode()
    assert "Alice (imported)" in shown
    assert not ImportItem.objects.filter(content__isnull=False).exists()


@pytest.mark.django_db
def test_figures_count_what_came_and_pages_of_the_past_show_it_from_then_on() -> None:
    source = trips.lived_in(new_person("Alice"))
    data = trips.exported(source, "jsonl")
    emptied(source)
    target = trips.new_store("Target")
    job = trips.run(trips.prepared(target, data))
    while not figures.catch_up():
        pass
    target.refresh_from_db()
    grown = Growth.objects.filter(store=target).aggregate(memories=Sum("memories"), bytes=Sum("bytes"))
    assert grown == {"memories": target.memory_count, "bytes": target.total_bytes}
    first = AuditEntry.objects.of_chain(target.pk).filter(group=job.group).order_by("seq").first()
    assert first is not None
    past = MemoryVersion.objects.filter(store=target)
    assert not past.as_of(first.seq).exists()
    live = Memory.objects.live().filter(store=target)
    last = AuditEntry.objects.of_chain(target.pk).order_by("-seq")[0].seq
    assert set(past.as_of(last).values_list("pk", flat=True)) == set(live.values_list("head_id", flat=True))


NAMED_LIKE_FILES_OF_TOOLS = (
    "/a.md",
    "/__MACOSX/x.md",
    "/n/c.lock",
    "/n/node_modules/y.md",
    "/.obsidian/z.md",
    "/d/.git/k.md",
    "/e/f.sqlite3",
)


@pytest.mark.django_db
def test_nothing_of_an_unpacked_export_is_left_out_by_its_name(tmp_path: Path) -> None:
    source = trips.new_store()
    for minute, path in enumerate(NAMED_LIKE_FILES_OF_TOOLS, 1):
        made = curation.create(source.pk, path, "first\n", trips.act(minute))
        sha = Memory.objects.get(pk=made.memory).sha256
        curation.edit(source.pk, str(made.memory), f"at {path}\n", sha, trips.act(minute + 10))
    before = trips.facts(source)
    with zipfile.ZipFile(io.BytesIO(trips.exported(source, "zip"))) as archive:
        archive.extractall(tmp_path)
    for place in (".git/config", ".DS_Store", "n/node_modules/other.md", ".obsidian/app.json"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("of a tool")
    emptied(source)
    target, other = trips.new_store("Target"), trips.new_store("Without some")
    call_command("import_store", target.pk, str(tmp_path))
    assert trips.facts(target) == before
    call_command("import_store", other.pk, str(tmp_path), "--exclude", "x.md", "--exclude", "n/*.lock")
    live = Memory.objects.filter(store=other).values_list("path", flat=True)
    assert set(live) == set(NAMED_LIKE_FILES_OF_TOOLS) - {"/__MACOSX/x.md", "/n/c.lock"}

"""Imports: what each memory meets, what is chosen for it, and that every rule of the store holds for it."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.erasure import erasure
from memoryhub.actions.findings import rules
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.actions.transfer import importing
from memoryhub.actions.transfer.importing import forgetting
from memoryhub.background import tasks
from memoryhub.models import AuditEntry, Door, Finding, Import, ImportItem, Memory, MemoryStore, MemoryVersion, User
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import Action
from memoryhub.pure.transfer import tree_read
from memoryhub.pure.transfer.bundle import Refused
from tests.support.fixtures import signed_in
from tests.transfer import hostile, trips
from tests.transfer.hostile import archive, commit, written
from tests.web.erasure.erasing import everywhere

pytestmark = pytest.mark.django_db


@pytest.fixture
def target(db: None) -> MemoryStore:
    return trips.new_store("Target")


def write(store: MemoryStore, path: str, content: str) -> None:
    curation.create(store.pk, path, content, trips.act(1))


def texts(store: MemoryStore) -> dict[str, str]:
    rows = Memory.objects.live().filter(store=store).select_related("text")
    return {memory.path: memory.text.content for memory in rows}


def found(job: Import) -> dict[str, str]:
    return dict(ImportItem.objects.filter(job=job).values_list("path", "found"))


def entries(job: Import) -> list[AuditEntry]:
    return list(AuditEntry.objects.of_chain(job.store_id).filter(group=job.group).order_by("seq"))


@pytest.mark.both_databases
def test_a_preview_says_what_each_memory_meets_and_changes_nothing(target: MemoryStore) -> None:
    write(target, "/same.md", "same")
    write(target, "/other.md", "other")
    write(target, "/dir/x.md", "x")
    write(target, "/above", "a memory")
    job = trips.prepared(target, archive(
        ("same.md", b"same"), ("other.md", b"another"), ("dir", b"a text"), ("above/below.md", b"text"),
        ("new.md", b"new"), ("p.bin", b"\xff"), (" x.md", b"spaced"),
    ))  # fmt: skip
    assert job.state == "preview"
    assert found(job) == {
        "/same.md": "same", "/other.md": "conflict", "/dir": "refused", "/above/below.md": "refused", "/new.md": "new",
        "/p.bin": "refused", "/ x.md": "refused",
    }  # fmt: skip
    assert all(ImportItem.objects.filter(job=job, found="refused").values_list("reason", flat=True))
    assert texts(target) == {"/same.md": "same", "/other.md": "other", "/dir/x.md": "x", "/above": "a memory"}
    before = Memory.objects.get(store=target, path="/other.md").head_id
    trips.run(job)
    assert Memory.objects.get(store=target, path="/other.md").head_id == before, "what nobody chose for is kept"
    assert texts(target)["/new.md"] == "new"


@pytest.mark.both_databases
def test_every_choice_does_what_it_says_in_one_group(target: MemoryStore, own_checkpoints: Path) -> None:
    for name in ("keep", "replace", "beside", "changed"):
        write(target, f"/{name}.md", "here")
    job = trips.prepared(
        target, archive(*[(f"{name}.md", b"there") for name in ("beside", "changed", "keep", "replace", "skip")])
    )
    numbers = dict(ImportItem.objects.filter(job=job).values_list("path", "number"))
    for path, choice in (
        ("/replace.md", "take"),
        ("/beside.md", "beside"),
        ("/changed.md", "take"),
        ("/skip.md", "skip"),
    ):
        assert importing.choose(job.pk, choice, [numbers[path]]) == 1
    assert importing.choose(job.pk, "beside", [numbers["/skip.md"]]) == 0, "there is nothing beside which it could go"
    memory = Memory.objects.at("/changed.md").get(store=target)
    curation.edit(target.pk, memory.pk, "somebody was faster", memory.sha256, trips.act(40.5))
    write(target, "/beside (imported).md", "taken")
    trips.run(job)
    assert texts(target) == {
        "/keep.md": "here", "/replace.md": "there", "/beside.md": "here", "/beside (imported).md": "taken",
        "/beside (imported 2).md": "there", "/changed.md": "somebody was faster",
    }  # fmt: skip
    assert trips.outcomes(job) == {
        "/keep.md": "skipped", "/replace.md": "replaced", "/beside.md": "beside", "/changed.md": "changed",
        "/skip.md": "skipped",
    }  # fmt: skip
    told = entries(job)
    assert [entry.command for entry in told] == ["start_import", "import", "import"]
    first = json.loads(told[0].input or "")
    assert (first["take"], first["beside"], first["skip"]) == (2, 1, 2) and "content_sha256" not in first
    trips.require_verified(target, own_checkpoints)


@pytest.mark.both_databases
def test_the_rules_of_the_store_hold_for_every_text_of_a_history(target: MemoryStore, own_checkpoints: Path) -> None:
    key = "sk-ant-api03-" + "aB3dE6gH9-" * 9 + "xyzAA"
    stream = commit(written("old.md", content=key.encode()), written("ok.md", content=b"fine"), head="mark :1\n")
    stream += commit(written("old.md", content=b"clean now"), head="mark :2\n").replace(
        b"data 1\nm\n", b"data 1\nm\nfrom :1\n"
    )
    for action, outcome in ((Action.MASK, "taken"), (Action.BLOCK, "refused")):
        store = trips.new_store(action.value)
        rules.save_rules(store.pk, {"provider_key": action.value}, trips.act(1))
        job = trips.run(trips.prepared(store, stream))
        assert trips.outcomes(job) == {"/old.md": outcome, "/ok.md": "taken"}
        contents = [version.content for version in MemoryVersion.objects.filter(store=store)]
        assert contents and not any(key in str(content) for content in contents)
        trips.require_verified(store, own_checkpoints)
    job = trips.run(trips.prepared(target, stream))
    assert [finding.kind for finding in Finding.objects.filter(store=target)] == ["provider_key"]


def test_limits_hold_and_a_refused_memory_is_told(target: MemoryStore, own_checkpoints: Path) -> None:
    data = archive(*[(f"{number}.md", b"x" * 100) for number in range(4)])
    job = trips.prepared(target, data)
    settings = stores.StoreSettings("Target", limits={"limit_memories": 2})
    stores.edit_store(target, settings, actor=trips.COMMAND, door=Door.COMMAND, at=trips.act(40.5).at)
    trips.run(job)
    assert sorted(trips.outcomes(job).values()) == ["refused", "refused", "taken", "taken"]
    assert [entry.ok for entry in entries(job)] == [True, True, True, False, False]
    assert "limit" in (entries(job)[-1].message or "")
    assert set(found(trips.prepared(target, data.replace(b"0.md", b"9.md"), minute=60)).values()) == {"same", "refused"}
    trips.require_verified(target, own_checkpoints)


def test_an_archived_store_takes_nothing(target: MemoryStore) -> None:
    job = trips.prepared(target, hostile.GOOD)
    stores.set_archived(target, True, actor=trips.COMMAND, door=Door.COMMAND, at=trips.act(40.5).at)
    with pytest.raises(ToolError):
        importing.start(job.pk, trips.act(41))
    with pytest.raises(ToolError):
        trips.prepared(target, hostile.GOOD)
    assert not texts(target)


def test_cancelled_or_forgotten_its_texts_are_gone(target: MemoryStore) -> None:
    job = trips.prepared(target, hostile.GOOD)
    importing.cancel(job.pk, trips.act(42))
    assert ImportItem.objects.get(job=job).content is None
    for again in (lambda: importing.cancel(job.pk, trips.act(43)), lambda: importing.start(job.pk, trips.act(43))):
        with pytest.raises(importing.NotOpen):
            again()
    old = trips.prepared(target, hostile.GOOD)
    assert forgetting.forget_previews(trips.act(40 + 23 * 60).at) == 0
    assert forgetting.forget_previews(trips.act(41 + 24 * 60).at) == 1
    old.refresh_from_db()
    assert old.state == "cancelled" and ImportItem.objects.get(job=old).content is None


@pytest.mark.both_databases
def test_an_erasure_finds_and_empties_what_is_about_to_come(target: MemoryStore) -> None:
    stream = commit(written("a.md", content=b"Jane Roe lives here"), head="mark :1\n")
    stream += commit(written("a.md", content=b"nobody lives here"), head="mark :2\n").replace(
        b"data 1\nm\n", b"data 1\nm\nfrom :1\n"
    )
    job = trips.prepared(target, stream, name="Jane Roe.gitstream")
    hits = erasure.search(target.pk, ["Jane Roe"], trips.act(41).at)
    assert hits.counts["import"] >= 2
    erasure.erase(target.pk, ["Jane Roe"], hits.digest, trips.act(42))
    job.refresh_from_db()
    item = ImportItem.objects.get(job=job)
    assert job.state == "cancelled" and "Jane" not in job.name
    assert item.content is None and item.history == []
    assert "import" not in erasure.search(target.pk, ["Jane Roe"], trips.act(43).at).counts


def test_no_digest_of_an_imported_text_is_left_after_its_erasure(target: MemoryStore, own_checkpoints: Path) -> None:
    text = b"Jane Roe lives here"
    stream = commit(written("a.md", content=text), head="mark :1\n")
    job = trips.prepared(target, stream, name="a.gitstream")
    trips.run(job)
    hits = erasure.search(target.pk, ["Jane Roe"], trips.act(51).at)
    erasure.erase(target.pk, ["Jane Roe"], hits.digest, trips.act(52))
    for imported in (stream, text):
        assert everywhere(hashlib.sha256(imported).hexdigest()) == []
    trips.require_verified(target, own_checkpoints)


@pytest.mark.both_databases
def test_one_straight_history_of_any_repository_comes_with_its_versions(
    target: MemoryStore, own_checkpoints: Path
) -> None:
    stream = commit(written("a.md", content=b"one"), written("b.md", content=b"bee"), head="mark :1\n")
    for number, change in enumerate(
        (written("a.md", content=b"two"), b"R a.md c/d.md", b"D b.md", written("b.md", content=b"new")), 1
    ):
        made = commit(change, head=f"mark :{number + 1}\n")
        stream += made.replace(b"data 1\nm\n", f"data 1\nm\nfrom :{number}\n".encode())
    job = trips.run(trips.prepared(target, stream, place="/repo"))
    assert job.state == "done"
    told = {
        (memory.path, memory.is_live): [
            version.operation for version in MemoryVersion.objects.filter(memory=memory).order_by("number")
        ]
        for memory in Memory.objects.filter(store=target)
    }
    assert told == {
        ("/repo/c/d.md", True): ["created", "modified", "modified"], ("/repo/b.md", False): ["created", "deleted"],
        ("/repo/b.md", True): ["created"],
    }  # fmt: skip
    assert {version.origin["id"][:7] for version in MemoryVersion.objects.filter(store=target)} == {"author_"}
    assert not any("@" in json.dumps(version.origin) for version in MemoryVersion.objects.filter(store=target))
    trips.require_verified(target, own_checkpoints)


def test_only_what_coding_agents_remember_is_taken_of_a_project(tmp_path: Path, target: MemoryStore) -> None:
    for place in (
        "CLAUDE.md", "src/AGENTS.md", ".claude/rules/style.md", ".claude/settings.json",
        ".claude/agent-memory/x/MEMORY.md", "notes/MEMORY.md", "notes/topic.md", "notes/deep/topic.md", "README.md",
        "node_modules/p/CLAUDE.md", ".git/MEMORY.md",
    ):  # fmt: skip
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(place)
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    (tmp_path / "out").symlink_to("/etc")
    taken = {
        "/CLAUDE.md", "/src/AGENTS.md", "/.claude/rules/style.md", "/.claude/agent-memory/x/MEMORY.md",
        "/notes/MEMORY.md", "/notes/topic.md", "/notes/deep/topic.md",
    }  # fmt: skip
    call_command("import_store", target.pk, str(tmp_path), "--only-memory-files", "--place", "/p")
    assert texts(target).keys() == {"/p" + path for path in taken}
    whole = trips.new_store("Whole")
    call_command("import_store", whole.pk, str(tmp_path))
    assert texts(whole).keys() == taken | {"/.claude/settings.json", "/README.md"}
    assert not any("root:" in text for text in texts(whole).values())
    with pytest.raises(Refused, match=r"no CLAUDE\.md"):
        tree_read.read_texts({"a.md": b"x"}, importing.bounds(), True, "zip")


def meets(target: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str]) -> None:
    """Somebody who types imports a directory whose text is not the one at its path; the input ends after that."""

    def answer(_: str) -> str:
        if not typed:
            raise EOFError
        return typed.pop(0)

    write(target, "/a.md", "old")
    (tmp_path / "a.md").write_text("new")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", answer)
    call_command("import_store", target.pk, str(tmp_path))


@pytest.mark.parametrize(("typed", "kept"), [(["what", "skip"], "old"), (["replace"], "new")])
def test_the_command_asks_until_it_is_told(
    target: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], kept: str
) -> None:
    meets(target, tmp_path, monkeypatch, typed)
    assert texts(target) == {"/a.md": kept}


def test_the_end_of_the_input_imports_nothing_and_leaves_no_preview(
    target: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="Nothing was imported"):
        meets(target, tmp_path, monkeypatch, ["what"])
    assert texts(target) == {"/a.md": "old"}
    assert not Import.objects.filter(state__in=importing.OPEN).exists()


@pytest.mark.both_databases
def test_the_command_shows_asks_and_reports(tmp_path: Path, target: MemoryStore, capsys: Any) -> None:
    write(target, "/a.md", "old")
    source = tmp_path / "project.zip"
    source.write_bytes(archive(("a.md", b"new"), ("b.md", b"b")))
    call_command("import_store", target.pk, str(source), "--dry-run")
    out = capsys.readouterr().out
    assert "1 conflict, 1 new." in out and "Nothing was imported" in out
    with pytest.raises(CommandError, match="--on-conflict"):
        call_command("import_store", target.pk, str(source))
    assert texts(target) == {"/a.md": "old"}
    call_command("import_store", target.pk, str(source), "--on-conflict", "replace")
    assert texts(target) == {"/a.md": "new", "/b.md": "b"}
    assert "1 replaced, 1 taken" in capsys.readouterr().out
    for arguments, said in (
        (("memstore_none", str(source)), "no memory store"), ((target.pk, str(tmp_path / "none")), "cannot be read"),
        ((target.pk, str(source), "--place", "/../x"), "lead out of the memory store"),
        ((target.pk, "https://x.example"), "--from-store"),
    ):  # fmt: skip
        with pytest.raises(CommandError, match=said):
            call_command("import_store", *arguments)
    (tmp_path / "bad.zip").write_bytes(hostile.GOOD[:-5])
    with pytest.raises(CommandError, match="cut off"):
        call_command("import_store", target.pk, str(tmp_path / "bad.zip"))
    assert not Import.objects.filter(state__in=importing.OPEN).exists()


def test_the_directory_of_an_import_needs_no_slash_and_a_wrong_one_is_named_as_it_was_typed(
    tmp_path: Path, target: MemoryStore
) -> None:
    (tmp_path / "a.md").write_text("a")
    for place in ("notes", "/notes/", "notes/"):
        call_command("import_store", target.pk, str(tmp_path), "--place", place)
        assert texts(target).keys() == {"/notes/a.md"}
    with pytest.raises(CommandError, match=r"^Path /\.\./x would lead out of the memory store"):
        call_command("import_store", target.pk, str(tmp_path), "--place", "../x")


@pytest.mark.parametrize("value", ["-3", "0", "x", "1.5"])
@pytest.mark.parametrize("option", ["--max-bytes", "--max-memories", "--max-versions"])
def test_a_limit_of_an_import_is_a_whole_number_above_0(
    option: str, value: str, tmp_path: Path, target: MemoryStore
) -> None:
    with pytest.raises(CommandError, match="is not a whole number above 0"):
        call_command("import_store", target.pk, str(tmp_path), f"{option}={value}")


def test_the_background_goes_on_with_previews_and_imports(target: MemoryStore) -> None:
    job = importing.prepare(target.pk, importing.Brought(trips.read(hostile.GOOD), "x"), "", trips.act(40))
    tasks.imports(5).go_on(timezone.now())
    job.refresh_from_db()
    assert job.state == "preview"
    importing.start(job.pk, trips.act(41))
    tasks.imports(5).go_on(timezone.now())
    job.refresh_from_db()
    assert job.state == "done" and texts(target) == {"/a.md": hostile.MARK}


@override_settings(MEMORYHUB_IMPORT={"packed": 10**6, "unpacked": 300, "entries": 3, "versions": 4, "ratio": 100})
def test_the_settings_say_how_much_is_taken(tmp_path: Path, target: MemoryStore) -> None:
    for number in range(4):
        (tmp_path / f"{number}.md").write_text("x" * 70)
    with pytest.raises(CommandError, match="4 memories; at most 3"):
        call_command("import_store", target.pk, str(tmp_path))
    (tmp_path / "3.md").unlink()
    (tmp_path / "2.md").write_text("x" * 200)
    with pytest.raises(CommandError, match="bytes; at most 300"):
        call_command("import_store", target.pk, str(tmp_path))
    stream = tmp_path / "s.gitstream"
    stream.write_bytes(b"".join(commit(written("a.md", content=f"{number}".encode())) for number in range(6)))
    with pytest.raises(CommandError, match="more than 4"):
        call_command("import_store", target.pk, str(stream))
    assert not texts(target)


@pytest.mark.both_databases
def test_the_note_of_a_deletion_comes_along(superuser: User) -> None:
    source, target = trips.new_store(), trips.new_store("Target")
    for minute, path in enumerate(("/a.md", "/b.md"), 1):
        curation.create(source.pk, path, "one\n", trips.act(minute))
    curation.delete(source.pk, "/a.md", trips.act(3)._replace(note="It is out of date"))
    curation.delete(source.pk, "/b.md", trips.act(4))
    data = trips.exported(source, "jsonl")
    assert notes_in(data) == ["It is out of date"]
    trips.run(trips.prepared(target, data))
    notes = {entry.path: entry.note for entry in AuditEntry.objects.of_chain(target.pk).of_command("import")}
    assert notes == {"/a.md": "It is out of date", "/b.md": None}
    assert "It is out of date" in signed_in(superuser).get(reverse("trash", args=[target.pk])).content.decode()
    assert notes_in(trips.exported(target, "jsonl")) == ["It is out of date"], "and goes on"


def notes_in(data: bytes) -> list[str]:
    found = map(json.loads, data.splitlines())
    return [line["note"] for line in found if line["type"] == "version" and "note" in line]

"""A full store comes back from its own export, and an import takes what it is told to take and says what it leaves."""

import io
import zipfile
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import curation
from memoryhub.actions.transfer import importing
from memoryhub.models import Memory, MemoryStore, Role, User
from tests.support.fixtures import BY, signed_in
from tests.support.long import LONG
from tests.transfer import trips
from tests.transfer.hostile import archive

pytestmark = pytest.mark.django_db

FEW = {"packed": 10**7, "unpacked": 10**7, "entries": 3, "versions": 20, "ratio": 100}


@pytest.fixture
def target(db: None) -> MemoryStore:
    return trips.new_store("Target")


def paths(store: MemoryStore) -> set[str]:
    return set(Memory.objects.filter(store=store).values_list("path", flat=True))


def imported(target: MemoryStore, source: object, *options: str) -> str:
    told = io.StringIO()
    call_command("import_store", target.pk, str(source), "--on-conflict", "skip", *options, stdout=told)
    return told.getvalue()


def test_an_import_takes_at_least_what_a_store_holds() -> None:
    limits, most = settings.MEMORYHUB_LIMITS, importing.bounds()
    assert most.entries >= limits["memories"] and most.unpacked >= limits["total_bytes"]
    assert (
        most.versions >= limits["versions"]
        and most.packed >= limits["total_bytes"]
        and most.small >= limits["total_bytes"]
    )


@pytest.mark.parametrize("form", ["git", *(pytest.param(form, marks=pytest.mark.long) for form in ("zip", "jsonl"))])
def test_a_store_of_many_and_equal_lines_comes_back_from_its_own_export(form: str, tmp_path: Path) -> None:
    source, target = trips.new_store(), trips.new_store("Target")
    memories = 110 if LONG else 20
    for number in range(memories):
        curation.create(source.pk, f"/m{number}.md", f"{number} " + "é" * 45_000, trips.act(number))
    path = tmp_path / f"export.{form}"
    path.write_bytes(trips.exported(source, form))
    assert form == "zip" or path.stat().st_size > 90_000 * memories
    imported(target, path)
    assert paths(target) == paths(source)


@override_settings(MEMORYHUB_IMPORT=FEW)
def test_the_manifest_and_the_history_of_an_archive_are_not_counted_as_memories(tmp_path: Path) -> None:
    source, target = trips.new_store(), trips.new_store("Target")
    for number in range(3):
        curation.create(source.pk, f"/{number}.md", "text", trips.act(number))
    (tmp_path / "export.zip").write_bytes(trips.exported(source, "zip"))
    imported(target, tmp_path / "export.zip")
    assert len(paths(target)) == 3


@override_settings(MEMORYHUB_IMPORT=FEW)
def test_a_refusal_says_the_true_size_and_the_limit_and_the_command_can_raise_it(
    tmp_path: Path, target: MemoryStore
) -> None:
    for number in range(7):
        (tmp_path / f"{number}.md").write_text("x" * 100)
    with pytest.raises(CommandError, match="7 texts; at most 3 are allowed"):
        imported(target, tmp_path)
    with pytest.raises(CommandError, match="700 bytes; at most 300 are allowed"):
        imported(target, tmp_path, "--max-memories", "10", "--max-bytes", "300")
    imported(target, tmp_path, "--max-memories", "10")
    assert len(paths(target)) == 7


def test_a_directory_with_the_beginning_of_the_tool_is_pointed_out(tmp_path: Path, target: MemoryStore) -> None:
    (tmp_path / "a.md").write_text("text")
    for place, is_pointed_out in (("/memories/x", True), ("/memories2", False)):
        told = io.StringIO()
        call_command("import_store", target.pk, str(tmp_path), "--place", place, stdout=io.StringIO(), stderr=told)
        assert ("/memories/memories" in told.getvalue()) == is_pointed_out


def test_what_tools_keep_is_excluded_unless_somebody_wants_it(tmp_path: Path, target: MemoryStore) -> None:
    for place in (
        "a.md",
        ".obsidian/app.json",
        ".git/HEAD",
        "notes.sqlite3",
        "drafts/x.md",
        "log/b.log",
        "deep/.git/x",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("text")
    assert "excluded" not in imported(target, tmp_path, "--exclude", "*.log", "--exclude", "drafts/*")
    assert paths(target) == {"/a.md"}
    imported(target, tmp_path, "--include-all", "--exclude", "drafts")
    assert paths(target) == {
        "/a.md", "/.obsidian/app.json", "/.git/HEAD", "/notes.sqlite3", "/log/b.log", "/deep/.git/x",
    }  # fmt: skip


def test_in_the_browser_what_tools_keep_is_left_out_and_can_be_asked_for(store: MemoryStore, alice: User) -> None:
    keys_and_roles.set_role(store, alice, Role.ADMIN, **BY)
    client, address = signed_in(alice), reverse("new_import", args=[store.pk])
    assert "Include the files of tools" in client.get(address).content.decode()
    brought = archive(("a.md", b"text"), (".obsidian/app.json", b"{}"))
    for more, count in (({}, 1), ({"include_all": "on"}, 2)):
        upload = io.BytesIO(brought)
        upload.name = "vault.zip"
        answer = client.post(address, {"source": "upload", "brought": upload, "place": "", **more})
        assert answer.status_code == 303
        page = client.get(answer.headers["Location"] + "?show=").content.decode()
        assert ("/.obsidian/app.json" in page) == (count == 2)


def test_a_memory_costs_an_import_few_statements() -> None:
    target = trips.new_store()
    data = archive(*[(f"d{number % 5}/{number}.md", b"text %d" % number) for number in range(50)])
    with CaptureQueriesContext(
        connection,
    ) as made:
        job = trips.run(trips.prepared(target, data))
    assert job.state == "done" and len(made) < 50 * 22


def test_an_unpacked_export_is_taken_whole_with_what_is_named_like_a_tool(tmp_path: Path) -> None:
    source, target = trips.new_store(), trips.new_store("Target")
    for number, path in enumerate(("/.obsidian/a.md", "/node_modules/b.md", "/x.db", "/.git/config")):
        curation.create(source.pk, path, "text", trips.act(number))
    zipfile.ZipFile(io.BytesIO(trips.exported(source, "zip"))).extractall(tmp_path)
    imported(target, tmp_path, "--include-all")
    assert paths(target) == paths(source)


def test_the_command_says_in_a_sentence_how_many_texts_of_an_archive_were_left_out(
    target: MemoryStore, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        for name in ("a.md", ".git/config", ".git/HEAD"):
            archive.writestr(name, "x\n")
    lines = imported(target, tmp_path / "notes.zip").splitlines()
    assert "refused: 2 that are excluded by their names (.git, .obsidian, databases and others)." in lines

"""Places that differ only in their Unicode form, places that no memory can have, and places that are excluded."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memoryhub.models import Memory, MemoryStore
from memoryhub.pure.transfer import recognition
from memoryhub.pure.transfer.bundle import Refused
from memoryhub.pure.transfer.git import places as git_places, read as git_read
from memoryhub.pure.transfer.reading import Bounds
from tests.transfer import trips
from tests.transfer.hostile import archive, commit, written

pytestmark = pytest.mark.django_db

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
DEEP = "d/" * 20 + "deep.md"
LONG = "/".join(["n" * 200] * 6)
SOURCES = ["directory", "zip", "git"]


@pytest.fixture
def target(db: None) -> MemoryStore:
    return trips.new_store("Target")


def source(form: str, tmp_path: Path, *texts: tuple[str, bytes]) -> Path:
    """A directory, an archive or a stream with these texts."""
    path = tmp_path / f"source.{form}"
    if form == "zip":
        path.write_bytes(archive(*texts))
    elif form == "git":
        path.write_bytes(commit(*[written(place, content=content) for place, content in texts]))
    else:
        for place, content in texts:
            (path / place).parent.mkdir(parents=True, exist_ok=True)
            (path / place).write_bytes(content)
    return path


def imported(target: MemoryStore, path: Path, *options: str) -> str:
    told = io.StringIO()
    call_command("import_store", target.pk, str(path), *options, stdout=told)
    return told.getvalue()


def paths(store: MemoryStore) -> set[str]:
    return set(Memory.objects.filter(store=store).values_list("path", flat=True))


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{COMPOSED}.md", f"{DECOMPOSED}.md"),
        (f"{DECOMPOSED}/a.md", f"{COMPOSED}/a.md"),
        (COMPOSED, f"{DECOMPOSED}/a.md"),
    ],
    ids=["texts", "directories", "a text and a directory"],
)
def test_two_names_that_are_one_name_here_are_refused_and_no_text_is_lost(
    form: str, one: str, other: str, tmp_path: Path, target: MemoryStore
) -> None:
    path = source(form, tmp_path, (one, b"one"), (other, b"other"), ("b.md", b"b"))
    with pytest.raises(CommandError, match=r"twice, perhaps in two Unicode forms|both a text and a directory"):
        imported(target, path)
    assert paths(target) == set()


@pytest.mark.parametrize("form", SOURCES)
def test_two_names_that_are_one_name_do_not_matter_where_they_are_excluded(
    form: str, tmp_path: Path, target: MemoryStore
) -> None:
    twins = ((f"node_modules/{COMPOSED}.md", b"one"), (f"node_modules/{DECOMPOSED}.md", b"other"))
    imported(target, source(form, tmp_path, *twins, ("b.md", b"b")))
    assert paths(target) == {"/b.md"}


@pytest.mark.parametrize("form", SOURCES)
def test_directories_in_two_forms_become_one_where_their_texts_differ(
    form: str, tmp_path: Path, target: MemoryStore
) -> None:
    imported(target, source(form, tmp_path, (f"{DECOMPOSED}/a.md", b"a"), (f"{COMPOSED}/b.md", b"b")))
    assert paths(target) == {f"/{COMPOSED}/a.md", f"/{COMPOSED}/b.md"}


@pytest.mark.both_databases
def test_a_stream_that_renames_a_text_to_its_other_form_keeps_both_histories(
    tmp_path: Path, target: MemoryStore
) -> None:
    """Git writes the new name before it deletes the old one where the new one is first by its bytes."""
    first = commit(written(f"{COMPOSED}.md", content=b"one"), head="mark :1\n")
    then = commit(
        written(f"{DECOMPOSED}.md", content=b"one"), f"D {COMPOSED}.md", head="mark :2\n", message="m\nfrom :1"
    ).replace(b"data 8\nm\nfrom :1", b"data 1\nm\nfrom :1")
    path = tmp_path / "s.gitstream"
    path.write_bytes(first + then)
    imported(target, path)
    told = {
        (memory.path, memory.is_live): memory.text.content if memory.text else None
        for memory in Memory.objects.filter(store=target).select_related("text")
    }
    assert told[f"/{COMPOSED}.md", True] == "one"


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize(("place", "why"), [(DEEP, "deeper than 20 levels"), (LONG, "longer than 1024 bytes")])
def test_only_the_text_that_can_have_no_place_is_left_out_and_named(
    form: str, place: str, why: str, tmp_path: Path, target: MemoryStore
) -> None:
    told = imported(target, source(form, tmp_path, ("a.md", b"a"), (place, b"text")))
    assert paths(target) == {"/a.md"}
    (line,) = (line for line in told.splitlines() if line.startswith("refused "))
    assert why in line and f"/{place}" in line


@pytest.mark.parametrize("form", SOURCES)
def test_a_text_that_is_excluded_may_be_anywhere(form: str, tmp_path: Path, target: MemoryStore) -> None:
    told = imported(
        target,
        source(
            form, tmp_path, ("a.md", b"a"), (f"node_modules/{DEEP}", b"x"), (f"{DEEP}/.git/x", b"x"), ("x.log", b"")
        ),
        "--exclude",
        "*.log",
    )
    assert paths(target) == {"/a.md"}
    assert "deeper" not in told


def test_what_an_archive_has_at_excluded_places_is_not_counted_and_not_unpacked(
    tmp_path: Path, target: MemoryStore
) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as written_:
        written_.writestr("a.md", "text")
        link = zipfile.ZipInfo(".venv/bin/python")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        written_.writestr(link, "/usr/bin/python")
        for number in range(20):
            written_.writestr(f"node_modules/{number}.js", "x" * 100_000)
    few = Bounds(unpacked=1_000, entries=2, small=1_000)
    read = recognition.read(made.getvalue(), "project.zip", few)
    assert [memory.path for memory in read.bundle.memories] == ["/a.md"]
    assert [left.why if hasattr(left, "why") else "" for left in read.left] and "21 that are excluded" in read.left[
        0
    ].why
    path = tmp_path / "project.zip"
    path.write_bytes(made.getvalue())
    with pytest.raises(CommandError, match="symbolic link"):
        imported(target, path, "--include-all")


def test_a_stream_takes_what_is_asked_for_and_nothing_that_is_excluded(tmp_path: Path, target: MemoryStore) -> None:
    texts = ((place, place.encode()) for place in ("CLAUDE.md", "README.md", "poetry.lock", "drafts/CLAUDE.md"))
    path = source("git", tmp_path, *texts)
    with path.open("ab") as stream:
        stream.write(b"commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nm\n")
        stream.write(written("drafts/link", "120000") + b"\nM 160000 " + b"0" * 40 + b" drafts/CLAUDE.md\n")
    with pytest.raises(CommandError, match="symbolic link"):
        imported(target, path)
    imported(target, path, "--exclude", "drafts")
    assert paths(target) == {"/CLAUDE.md", "/README.md"}
    other = trips.new_store("Other")
    imported(other, path, "--exclude", "drafts", "--only-memory-files")
    assert paths(other) == {"/CLAUDE.md"}
    with pytest.raises(CommandError, match=r"no CLAUDE\.md"):
        imported(other, path, "--exclude", "drafts", "--exclude", "CLAUDE.md", "--only-memory-files")


def test_a_directory_that_cannot_be_read_is_not_passed_over(tmp_path: Path, target: MemoryStore) -> None:
    """Its name is longer than what can be opened."""
    (tmp_path / "a.md").write_text("a")
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=at)
        below = os.open("n" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    with pytest.raises(CommandError, match="cannot be read: File name too long"):
        imported(target, tmp_path)
    assert paths(target) == set()


def test_places_of_many_names_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_places, "MOST_LOOKED_AT", 10_000)
    deep = "/".join(["n"] * 2_000)
    with pytest.raises(Refused, match="too many texts too often"):
        git_read.read(commit(*[written(f"{deep}/{number}") for number in range(5_000)]), Bounds())

"""Checkpoint files that were closed, made once for all tests: what is done to a segment or to several is noticed."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from memoryhub.actions.verification import checkpoints
from memoryhub.actions.verification.checkpoints import check as checkpoint_check
from memoryhub.models import HUB
from tests.actions.verification.test_checkpoint_segments import is_right, lines_of, verified, write
from tests.api.harness import Hub, new_hub


@dataclass(frozen=True, slots=True)
class Written:
    """A hub that has closed some checkpoint files, and the directory of these files."""

    hub: Hub
    directory: Path


@pytest.fixture(scope="module")
def written(
    rows_of_module: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Written:
    path = tmp_path_factory.mktemp("written") / "checkpoints.jsonl"
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpoints, "MOST_BYTES", 1_500)
        hub = new_hub()
        write(hub, path, 30)
    return Written(hub, path.parent)


@pytest.fixture
def closed(written: Written, db: None, own_checkpoints: Path) -> Path:
    """The live file of that hub, with its segments, which a test may change."""
    for file in written.directory.iterdir():
        shutil.copy2(file, own_checkpoints.with_name(file.name))
    return own_checkpoints


def _drop(line: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: lines[:line] + lines[line + 1 :]


EDITS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a line in the middle is removed": _drop(3),
    "the first line is removed": _drop(0),
    "the last line is removed": lambda lines: lines[:-1],
    "two lines change places": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "a line is there twice": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "everything is removed": lambda lines: [],
    "a letter is changed": lambda lines: [lines[0].replace(b"0", b"1", 1), *lines[1:]],
    "a line follows the closing one": lambda lines: [*lines, lines[2]],
}


def test_a_full_checkpoint_file_becomes_a_closed_segment_and_the_next_goes_on_from_it(
    written: Written, closed: Path
) -> None:
    segments = checkpoints.segments(closed)
    assert list(segments) == list(range(1, len(segments) + 1)) and len(segments) >= 2
    for file in segments.values():
        assert file.stat().st_size < 4_500 and "sha256" in lines_of(file)[-1]
        assert file.stat().st_mode & 0o777 == 0o600
    opening, *rest = lines_of(closed)
    assert opening["previous"] == checkpoints.sha256_of(segments[max(segments)])
    assert opening["segment"] == max(segments) + 1
    assert {line["chain"] for line in rest} == {HUB, written.hub.store.id}
    assert is_right()


def test_segments_that_are_kept_elsewhere_are_read_there(closed: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    first = checkpoints.segment_of(closed, 1)
    moved = first.rename(archive / first.name)
    assert "checkpoints-000001.jsonl not found" in verified()
    assert "not found" not in verified("--checkpoints", str(archive)) and is_right("--checkpoints", str(archive))
    moved.write_bytes(moved.read_bytes().replace(b'"line": 3,', b'"line": 4,'))
    assert "line 3 was changed" in verified("--checkpoints", str(archive))
    assert "is no directory" in verified("--checkpoints", str(moved))


@pytest.mark.parametrize("number", [1, 2])
def test_whatever_is_done_to_a_segment_is_noticed(closed: Path, number: int) -> None:
    file = checkpoints.segment_of(closed, number)
    whole = file.read_bytes()
    for edit, edited in EDITS.items():
        file.write_bytes(b"".join(edited(whole.splitlines(keepends=True))))
        files = checkpoint_check.check(closed).files
        assert files and str(file) in files[0], edit
    assert str(file) in verified() and not is_right()


def test_a_segment_that_is_missing_between_others_is_noticed(closed: Path) -> None:
    checkpoints.segment_of(closed, 2).unlink()
    assert f"{checkpoints.segment_of(closed, 2)} is missing" in verified()


def test_an_older_segment_in_the_place_of_another_is_noticed(closed: Path) -> None:
    first, second = (checkpoints.segment_of(closed, number) for number in (1, 2))
    shutil.copy(first, second)
    assert str(second) in verified() and not is_right()

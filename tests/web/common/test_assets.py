"""Static files are compressed once, and again when they have changed."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryhub.web.common.assets import UnchangedIsKept

LONG_AGO = 1_000_000_000


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sheet.css"
    path.write_text("p { color: black }\n" * 100)
    return path


def compressed(sheet: Path) -> Path:
    (made,) = UnchangedIsKept(quiet=True).compress(str(sheet))
    return Path(made)


def test_what_has_not_changed_is_not_compressed_again(sheet: Path) -> None:
    made = compressed(sheet)
    os.utime(made, (LONG_AGO, LONG_AGO))
    assert compressed(sheet) == made
    assert made.stat().st_mtime == LONG_AGO


@pytest.mark.parametrize("spoil", [lambda made: made[:40], lambda made: made[:-9] + bytes(9), lambda made: b""])
def test_what_has_changed_or_was_half_written_is_compressed_again(sheet: Path, spoil: Callable[[bytes], bytes]) -> None:
    made = compressed(sheet)
    sheet.write_text("p { color: white }\n" * 100)
    assert gzip.decompress(compressed(sheet).read_bytes()) == sheet.read_bytes()
    made.write_bytes(spoil(made.read_bytes()))
    assert gzip.decompress(compressed(sheet).read_bytes()) == sheet.read_bytes()

"""Static files are compressed once, and again when they have changed."""

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoryhub.web.common import assets
from memoryhub.web.common.assets import UnchangedIsKept
from tests.api.server import collected

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


def test_files_are_collected_again_where_one_is_missing_or_has_changed(tmp_path: Path, settings: Any) -> None:
    settings.STATIC_ROOT = tmp_path / "static"
    assert not assets.are_collected()
    shutil.copytree(collected(), settings.STATIC_ROOT)
    assert assets.are_collected()
    sheet = settings.STATIC_ROOT / assets.STYLES
    kept = sheet.stat().st_mtime_ns
    os.utime(sheet, ns=(kept + 1, kept + 1))
    assert not assets.are_collected()
    os.utime(sheet, ns=(kept, kept))
    assert assets.are_collected()
    sheet.unlink()
    assert not assets.are_collected()


def test_files_are_collected_again_where_a_source_has_changed(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATIC_ROOT = shutil.copytree(collected(), tmp_path / "static")
    changed = tmp_path / "changed.css"
    changed.write_text("")

    class Further:
        def list(self, ignored: object) -> list[tuple[str, Any]]:
            return [("changed.css", type("Sources", (), {"path": lambda self, name: str(changed)})())]

    finders = list(assets.get_finders())
    monkeypatch.setattr(assets, "get_finders", lambda: [*finders, Further()])
    assert not assets.are_collected()

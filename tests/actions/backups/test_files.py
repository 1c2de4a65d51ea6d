"""A backup as a file: whatever byte is changed, wherever it is cut, whatever is wrong in it is named."""

import errno
import io
import random
import resource
import tarfile
from pathlib import Path

import pytest
from pyrage import x25519

from memoryhub.actions.backups import encryption
from memoryhub.actions.backups.encryption import Keys, NotOpened
from memoryhub.pure.backups import archive
from memoryhub.pure.backups.archive import Damaged, Manifest
from memoryhub.settings import text_of
from tests.support.long import tried

IDENTITY = x25519.Identity.generate()
KEYS = Keys(recipient=str(IDENTITY.to_public()))


def written(directory: Path, keys: Keys, size: int = 300_000) -> Path:
    directory.mkdir()
    (directory / "key").write_text("k" * 64)
    (directory / "database").write_bytes(random.Random(7).randbytes(size))
    files = {"audit_key": directory / "key", archive.SQLITE: directory / "database"}
    manifest = Manifest("2026-06-30T03:00:00+00:00", [], 0, "", {}, archive.described(files))
    encryption.write(directory / "file", archive.packed(manifest, files), keys)
    return directory / "file"


def read(file: Path, into: Path | None = None) -> Manifest:
    with encryption.opened(file, encryption.identity(file, "", str(IDENTITY))) as stream:
        return archive.unpacked(stream, into)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "made", KEYS)
    (tmp_path / "read").mkdir()
    read(file, tmp_path / "read")
    assert (tmp_path / "read" / archive.SQLITE).read_bytes() == (tmp_path / "made" / "database").read_bytes()
    assert (tmp_path / "read" / "audit_key").read_text() == "k" * 64


def test_a_change_of_any_byte_and_any_cut_are_noticed(tmp_path: Path) -> None:
    file = written(tmp_path / "made", KEYS)
    whole, chance = file.read_bytes(), random.Random(11)
    for number in range(tried(600)):
        at = number if number < 20 else chance.randrange(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        for bad in (bytes(changed), whole[:at]):
            file.write_bytes(bad)
            with pytest.raises((NotOpened, Damaged)):
                read(file)


def test_a_file_that_can_be_no_larger_is_an_error_of_the_disk(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # as a full disk
    try:
        with pytest.raises(OSError) as caught:
            encryption.write(tmp_path / "file", [random.Random(7).randbytes(300_000)], KEYS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG


def test_another_key_is_not_called_damage(tmp_path: Path) -> None:
    file = written(tmp_path / "made", Keys(recipient=str(x25519.Identity.generate().to_public())))
    with pytest.raises(NotOpened, match="not one for which"):
        read(file)


@pytest.mark.push
def test_a_wrong_passphrase_is_not_called_damage_and_damage_not_a_wrong_passphrase(tmp_path: Path) -> None:
    file = written(tmp_path / "made", Keys(passphrase="seven words that no one knows"))
    with pytest.raises(NotOpened, match="not the passphrase"):
        encryption.identity(file, "other words", "")
    (own,) = encryption.identity(file, "seven words that no one knows", "")
    with encryption.opened(file, [own]) as stream:
        archive.unpacked(stream, None)
    whole = file.read_bytes()
    file.write_bytes(whole[:200] + b"#" + whole[201:])
    with pytest.raises(NotOpened, match="is damaged"):
        encryption.identity(file, "seven words that no one knows", "")


def test_a_passphrase_opens_what_was_made_with_a_line_break_at_its_end(tmp_path: Path) -> None:
    file = written(tmp_path / "made", Keys(passphrase="seven words that no one knows\n"))
    assert encryption.identity(file, "seven words that no one knows", "")


def test_a_passphrase_can_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("seven words that no one knows\n")
    assert text_of(str(tmp_path / "passphrase")) == "seven words that no one knows"
    with pytest.raises(SystemExit, match="MEMORYHUB_BACKUP_PASSPHRASE_FILE"):
        text_of(str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "other", "checkpoints-000001.jsonl.exe"])
def test_a_member_with_a_foreign_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "x").write_text("x")
    files = {name: tmp_path / "x"}
    manifest = Manifest("2026-06-30T03:00:00+00:00", [], 0, "", {}, archive.described(files))
    content = io.BytesIO(b"".join(archive.packed(manifest, files)))
    (tmp_path / "read").mkdir()
    with pytest.raises(Damaged, match="does not belong"):
        archive.unpacked(content, tmp_path / "read")
    assert list((tmp_path / "read").iterdir()) == []


def test_a_manifest_that_no_hub_writes_is_refused_before_anything_is_placed(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x" * 2_000_000)
    files, sizes = {"audit_key": tmp_path / "x"}, archive.described({"audit_key": tmp_path / "x"})
    (tmp_path / "read").mkdir()
    for made_at, told in (("no time", sizes), ("2026-06-30T03:00:00+00:00", {"audit_key": (10, "00")})):
        manifest = Manifest(made_at, [], 0, "", {}, told)
        with pytest.raises(Damaged):
            archive.unpacked(io.BytesIO(b"".join(archive.packed(manifest, files))), tmp_path / "read")
    assert (tmp_path / "read" / "audit_key").stat().st_size <= archive.BLOCK, "no more is written than is told"


def test_a_link_and_a_text_that_is_no_archive_are_refused(tmp_path: Path) -> None:
    for content in (b"", b"no archive", _with_link()):
        with pytest.raises(Damaged):
            archive.unpacked(io.BytesIO(content), tmp_path)
    assert list(tmp_path.iterdir()) == []


def _with_link() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as made:
        link = tarfile.TarInfo("manifest.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    return target.getvalue()

"""Which backups are kept, and which files are backups of this hub at all."""

from datetime import UTC, datetime, timedelta

import pytest

from memoryhub.backups.names import Name, parsed
from memoryhub.backups.rotation import Keep, superseded

NOW = datetime(2026, 6, 30, 3, 0, tzinfo=UTC)
DAILY = [NOW - timedelta(days=days) for days in range(400)]


def test_the_newest_and_one_for_each_week_and_month_are_kept() -> None:
    kept = sorted(set(DAILY) - superseded(DAILY, Keep(3, 2, 3)), reverse=True)
    assert [at.strftime("%m-%d") for at in kept] == ["06-30", "06-29", "06-28", "05-31", "04-30"]


def test_the_only_backup_is_always_kept_however_old() -> None:
    assert superseded(DAILY[-1:], Keep(0, 0, 0)) == set()
    assert superseded([], Keep()) == set()


def test_to_rotate_again_deletes_nothing_more() -> None:
    once = set(DAILY) - superseded(DAILY, Keep())
    assert superseded(once, Keep()) == set()


def test_a_name_is_read_as_it_was_written() -> None:
    for name in (Name("0123abcd", NOW), Name("0123abcd", NOW, is_verified=False)):
        assert parsed(str(name)) == name


@pytest.mark.parametrize(
    "name",
    [
        "memoryhub.backup",
        "memoryhub-0123abcd-20261399T000000Z.backup",
        ".memoryhub-0123abcd-20260630T030000Z.backup.new",
    ],
)
def test_another_file_is_no_backup(name: str) -> None:
    assert parsed(name) is None

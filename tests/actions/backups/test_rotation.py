"""Which backups are kept, and which files are backups of this hub at all."""

from datetime import UTC, datetime, timedelta

import pytest

from memoryhub.pure.backups.names import Name, parsed
from memoryhub.pure.backups.rotation import Keep, superseded

NOW = datetime(2026, 6, 30, 3, 0, tzinfo=UTC)
DAILY = [NOW - timedelta(days=days) for days in range(400)]


def test_the_newest_and_one_for_each_week_and_month_are_kept() -> None:
    kept = sorted(set(DAILY) - superseded(DAILY, Keep(3, 2, 3), NOW), reverse=True)
    assert [at.strftime("%m-%d") for at in kept] == ["06-30", "06-29", "06-28", "05-31", "04-30"]


def test_the_only_backup_is_always_kept_however_old() -> None:
    assert superseded(DAILY[-1:], Keep(0, 0, 0), NOW) == set()
    assert superseded([], Keep(), NOW) == set()


def test_backups_of_a_clock_that_was_ahead_take_the_place_of_none() -> None:
    ahead = [NOW + timedelta(hours=hours) for hours in range(1, 9)]
    gone = superseded([*ahead, *DAILY], Keep(7, 0, 0), NOW)
    assert gone == set(DAILY[7:]), "the newest backup, which was just made, stays"
    assert superseded([*ahead, *DAILY], Keep(7, 0, 0), ahead[-1]) == {ahead[0], *DAILY}


def test_to_rotate_again_deletes_nothing_more() -> None:
    once = set(DAILY) - superseded(DAILY, Keep(), NOW)
    assert superseded(once, Keep(), NOW) == set()


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

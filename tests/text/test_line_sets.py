"""Sets of line numbers compared with Python's own, and lines that move compared with a list that is edited."""

import random

import pytest

from memoryhub.pure.text.blame import Version
from memoryhub.pure.text.carried import carried, followed
from memoryhub.pure.text.changed_lines import RUNS_KEPT, Work, changes
from memoryhub.pure.text.line_sets import LineSet, Moves


@pytest.mark.parametrize("seed", range(30))
def test_a_set_is_what_pythons_set_is(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        one, other = ({rng.randrange(1, 40) for _ in range(rng.randrange(25))} for _ in range(2))
        mine, yours = LineSet.of(one), LineSet.of(other)
        first = rng.randrange(1, 40)
        last = rng.randrange(max(0, first - 2), 45)
        assert list(mine) == sorted(one) and len(mine) == len(one) and bool(mine) == bool(one)
        assert set(mine.union(yours)) == one | other and set(mine.intersection(yours)) == one & other
        assert set(mine.within(first, last)) == {line for line in one if first <= line <= last}
        assert [line in mine for line in range(42)] == [line in one for line in range(42)]
        assert not one or (mine.first, mine.last) == (min(one), max(one))
        assert all(after[0] > before[1] + 1 for before, after in zip(mine.runs, mine.runs[1:], strict=False))


@pytest.mark.parametrize("seed", range(30))
def test_lines_move_as_in_a_list_that_is_edited(seed: int) -> None:
    rng, names = random.Random(seed), iter(range(100_000))
    for _ in range(20):
        old = [f"line {next(names)}" for _ in range(rng.randrange(1, 30))]
        new = list(old)
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(new) + 1)
            new[at : at + rng.randrange(4)] = [f"line {next(names)}" for _ in range(rng.randrange(4))]
        areas = changes("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), Work())
        chosen = {line for line in range(1, len(old) + 1) if rng.random() < 0.5}
        moves = Moves(areas)
        assert set(moves.after(LineSet.of(chosen))) == {
            new.index(old[at - 1]) + 1 for at in chosen if old[at - 1] in new
        }
        assert set(moves.added) == {at for at, line in enumerate(new, 1) if line not in old}


def test_all_lines_of_many_long_versions_take_no_more_room_than_one() -> None:
    texts = {"t0": "x\n" * 5_100}
    for number in range(1, 51):
        texts[f"t{number}"] = f"{number}\n" + texts[f"t{number - 1}"]
    versions = [Version(number + 1, f"t{number}") for number in range(51)]
    work = Work()
    places = {f"thread {number}": (1, range(1, 5_101)) for number in range(100)}
    found = followed(versions, places, texts.__getitem__, work)
    assert {lines.runs for lines in found.values()} == {((51, 5_150),)}
    assert RUNS_KEPT - work.runs.left == 100 * 50 * 2 and not work.passed
    assert [len(lines.runs) for lines in carried(versions, {1}, texts.__getitem__, work).values()] == [1] * 51


@pytest.mark.long
def test_lines_in_very_many_runs_are_followed_only_so_far() -> None:
    texts = {"t0": "".join(f"{line}\n" for line in range(20_000))}
    for number in range(1, 41):
        texts[f"t{number}"] = "".join(f"{line if line % 2 else -line - number}\n" for line in range(20_000))
    versions = [Version(number + 1, f"t{number}") for number in range(41)]
    for work, follow in ((Work(), carried), (Work(), followed)):
        wanted = {1} if follow is carried else {"all": (1, range(1, 20_001))}
        found = follow(versions, wanted, texts.__getitem__, work)  # type: ignore[operator]
        assert work.passed
        assert sum(len(lines.runs) for lines in found.values()) <= RUNS_KEPT

"""Charts: what the geometry says of the numbers, and that nothing leaves the picture."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from memoryhub.pure import charts

VALUES = st.integers(0, 10**12)


@given(st.integers(-(10**12), 0), VALUES)
def test_ticks_are_round_few_and_hold_everything(least: int, most: int) -> None:
    marks = charts.steps(least, most)
    assert marks[0] <= least and marks[-1] >= most and marks[0] < marks[-1]
    assert 2 <= len(marks) <= 7
    assert 0 in marks
    assert len({after - before for before, after in pairwise(marks)}) == 1


@pytest.mark.parametrize(
    ("most", "marks"), [(0, (0, 1)), (3, (0, 1, 2, 3)), (7, (0, 2, 4, 6, 8)), (100, (0, 50, 100)), (99, (0, 50, 100))]
)
def test_ticks_are_what_a_person_would_choose(most: int, marks: tuple[int, ...]) -> None:
    assert charts.steps(0, most) == marks


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=100))
def test_stacked_bars_stand_on_each_other_within_the_picture(columns: list[list[int]]) -> None:
    drawn = charts.stacked(columns)
    assert sum(bar.value for bar in drawn.bars) == sum(map(sum, columns))
    for bar in drawn.bars:
        assert bar.x >= 0 and bar.x + bar.width <= 100.001
        assert bar.y >= -0.01 and bar.y + bar.height <= charts.HEIGHT + 0.02
        below = [other for other in drawn.bars if other.column == bar.column and other.series < bar.series]
        foot = below[-1].y if below else charts.HEIGHT
        assert bar.y + bar.height == pytest.approx(foot, abs=0.03)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=60))
def test_mirrored_bars_begin_at_the_base_line(pairs: list[tuple[int, int]]) -> None:
    drawn = charts.mirrored([up for up, _ in pairs], [down for _, down in pairs])
    assert drawn.base == pytest.approx(next(tick.y for tick in drawn.ticks if tick.value == 0), abs=0.02)
    for bar in drawn.bars:
        assert (bar.y if bar.series else bar.y + bar.height) == pytest.approx(drawn.base, abs=0.02)
        assert bar.y >= -0.02 and bar.y + bar.height <= charts.HEIGHT + 0.02


@given(st.lists(VALUES, min_size=1, max_size=400))
def test_a_line_has_a_dot_for_each_value_in_its_height(values: list[int]) -> None:
    drawn = charts.line(values)
    assert [dot.value for dot in drawn.dots] == values
    top = min(dot.y for dot in drawn.dots)  # two values can round to one height
    assert max(values) in {dot.value for dot in drawn.dots if dot.y == top}
    assert all(0 < dot.x < 100 and -0.01 <= dot.y <= charts.HEIGHT for dot in drawn.dots)
    assert len(drawn.points.split()) == len(values)


@pytest.mark.parametrize(
    ("most", "marks"),
    [
        (0, (0, 1)),
        (900, (0, 500, 1000)),
        (3_700, (0, 1024, 2048, 3072, 4096)),
        (2**21, (0, 2**20, 2**21)),
    ],
)
def test_ticks_of_bytes_are_round_when_counted_in_kilobytes(most: int, marks: tuple[int, ...]) -> None:
    assert charts.steps(0, most, unit=charts.binary_unit(most)) == marks


def test_nothing_can_be_drawn() -> None:
    assert charts.stacked([]).bars == ()
    assert charts.mirrored([], []).bars == ()
    assert charts.line([]).points == ""
    assert charts.spark([], 100, 20) == ""


def test_a_sparkline_of_nothing_lies_at_the_bottom() -> None:
    assert charts.spark([0, 0, 0], 100, 20) == "0,19 50,19 100,19"
    assert charts.spark([0, 5, 10], 100, 20) == "0,19 50,10 100,1"


@given(VALUES, st.integers(1, 10**12))
def test_what_is_something_can_be_seen(value: int, most: int) -> None:
    shown = charts.share(min(value, most), most)
    assert (shown > 0) == (value > 0)
    assert shown <= 100


@given(st.integers(1, 2000))
def test_words_beneath_are_few_and_the_last_column_has_one(columns: int) -> None:
    found = charts.labelled(columns)
    assert len(found) <= charts.LABELS
    assert found[-1] == columns - 1


@given(st.integers(1, 10**9), st.integers(0, 10**6), st.integers(1, 130), st.data())
def test_a_scale_puts_each_number_into_the_one_column_that_has_it(
    first: int, more: int, most: int, data: st.DataObject
) -> None:
    scale = charts.Scale.of(first, first + more, most)
    bounds = [scale.bounds(column) for column in range(scale.columns)]
    assert len(bounds) == min(most, more + 1)
    assert bounds[0][0] == first and bounds[-1][1] == first + more
    assert all(end + 1 == start for (_low, end), (start, _high) in pairwise(bounds))
    sizes = {high - low + 1 for low, high in bounds}
    assert max(sizes) - min(sizes) <= 1 and min(sizes) >= 1
    number = data.draw(st.integers(first, first + more))
    assert [at for at, (low, high) in enumerate(bounds) if low <= number <= high] == [scale.column(number)]


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.data())
def test_positions_on_a_scale_keep_the_order_and_stay_within_it(first: int, more: int, data: st.DataObject) -> None:
    scale = charts.Scale.of(first, first + more, 100)
    numbers = sorted(data.draw(st.lists(st.integers(first - 5, first + more + 5), min_size=2)))
    places = [scale.x(number) for number in numbers]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert (scale.x(first), scale.x(first + more)) == (0, 100)


@given(st.integers(1, 12), st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_the_boxes_of_a_flow_are_apart_and_each_edge_ends_at_its_boxes(firsts: int, lasts: list[int]) -> None:
    middles = [([number % firsts], size) for number, size in enumerate(lasts)]
    drawn = charts.flow(firsts, middles, 48, 40)
    for tops in drawn.tops:
        assert all(after - before >= 48 for before, after in pairwise(tops))
        assert all(0 <= top <= drawn.height - 40 for top in tops)
    assert len(drawn.edges) == len(middles) + sum(lasts)
    for (column, first), (to, last), path in drawn.edges:
        start, end = path.removeprefix("M").split(" ")[0], path.split(" ")[-1]
        assert to == column + 1
        assert float(start.split(",")[1]) == pytest.approx(drawn.tops[column][first] + 20, abs=0.01)
        assert float(end.split(",")[1]) == pytest.approx(drawn.tops[to][last] + 20, abs=0.01)

"""No 60 seconds ever hold more calls than the limit, wherever the minute begins and in whatever order calls come."""

from datetime import datetime, timedelta

from hypothesis import given, settings, strategies as st

from memoryhub.actions.core.rules.limits import Seconds, calls_within, count_calls
from tests.api.harness import AT
from tests.support.long import tried


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def made(times: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
    """Those of the calls (second, how many together) that were let through, in the order in which they came."""
    seconds: Seconds = ()
    accepted = []
    for time, calls in times:
        window = count_calls(seconds, at(time), calls, limit)
        if window.seconds is not None:
            seconds = window.seconds
            accepted.append((time, calls))
    return accepted


def waited(seconds: Seconds, time: float, calls: int, limit: int) -> int:
    """How many seconds a client waits that is refused now and waits each time as long as it is told.

    No single wait is longer than the minute, so that a call of its last fraction of a second may need a second one.
    """
    waits = [count_calls(seconds, at(time), calls, limit).wait]
    if count_calls(seconds, at(time + waits[0]), calls, limit).seconds is None:
        waits.append(count_calls(seconds, at(time + waits[0]), calls, limit).wait)
        assert waits == [60, 1]
    assert count_calls(seconds, at(time + sum(waits)), calls, limit).seconds is not None
    return sum(waits)


def most_in_a_minute(calls: list[tuple[float, int]]) -> int:
    """The most calls in any 60 seconds, both ends included: the fullest of those that begin with a call."""
    starts = (start for start, _ in calls)
    return max((sum(n for time, n in calls if start <= time <= start + 60) for start in starts), default=0)


def test_as_many_as_the_limit_are_let_through() -> None:
    for calls in (9, 10, 11):
        assert len(made([(0.0, 1)] * calls, 10)) == min(calls, 10)


def test_several_at_once_are_counted_all_or_none() -> None:
    assert made([(0.0, 4), (1.0, 7), (2.0, 6), (3.0, 1)], 10) == [(0.0, 4), (2.0, 6)]
    assert count_calls((), AT, 11, 10) == (None, 0, 60)


def test_the_wait_is_as_long_as_it_must_be() -> None:
    window = count_calls((), at(0.9), 10, 10)
    assert window.seconds is not None
    for later in (0.95, 1.0, 30.5, 60.0, 60.89, 60.99):
        refused = count_calls(window.seconds, at(later), 1, 10)
        assert refused.seconds is None
        assert 1 <= refused.wait <= 60
        assert waited(window.seconds, later, 1, 10) <= max(refused.wait, 61)
        assert count_calls(window.seconds, at(later + refused.wait - 1), 1, 10).seconds is None


def test_a_clock_that_was_set_locks_nobody_out() -> None:
    window = count_calls((), at(0), 10, 10)
    assert window.seconds is not None
    for jump in (-3600, -86_400, 3600, 10 * 365 * 86_400):
        assert count_calls(window.seconds, at(jump), 10, 10).seconds == [(int(at(jump).timestamp()), 10)]


def test_what_is_kept_does_not_grow() -> None:
    seconds: Seconds = ()
    for time in range(2000):
        seconds = count_calls(seconds, at(time), 1, 10_000).seconds or ()
    assert len(seconds) <= 121
    assert calls_within(seconds, at(1999)) == 61


TIMES = st.lists(st.tuples(st.floats(0, 240, width=32), st.integers(1, 4)), max_size=60)


@settings(max_examples=tried(300), deadline=None)
@given(TIMES, st.integers(1, 12))
def test_no_minute_is_ever_too_full(times: list[tuple[float, int]], limit: int) -> None:
    accepted = made(sorted(times), limit)
    assert most_in_a_minute(accepted) <= limit


@settings(max_examples=tried(300), deadline=None)
@given(TIMES, st.lists(st.floats(0, 59, width=32), min_size=60, max_size=60), st.integers(1, 12))
def test_nor_where_calls_are_counted_out_of_order(
    times: list[tuple[float, int]], delays: list[float], limit: int
) -> None:
    """Each call is counted up to a minute after it came, as when it waits for the store."""
    late = sorted(zip(times, delays, strict=False), key=lambda pair: pair[0][0] + pair[1])
    assert most_in_a_minute(made([call for call, _ in late], limit)) <= limit


@settings(max_examples=tried(200), deadline=None)
@given(TIMES, st.integers(1, 12))
def test_who_waits_as_long_as_told_is_let_through(times: list[tuple[float, int]], limit: int) -> None:
    seconds: Seconds = ()
    for time, calls in sorted(times):
        window = count_calls(seconds, at(time), calls, limit)
        if window.seconds is not None:
            seconds = window.seconds
        elif calls <= limit:
            assert 1 <= waited(seconds, time, calls, limit) <= 61

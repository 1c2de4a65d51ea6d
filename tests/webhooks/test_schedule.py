"""When a delivery is tried again, by the clock that is passed in."""

from datetime import UTC, datetime, timedelta

from memoryhub.pure.webhook_rules import schedule, signing
from memoryhub.pure.webhook_rules.schedule import AFTER, HOLDS_UP, Next, after_failure

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


def after(attempts: int, status: int | None = 500, retry_after: str = "", chance: float = 0.5, **more: bool) -> Next:
    return after_failure(attempts, status, retry_after, AT, lambda: chance, aside=more.get("aside", False))


def test_waits_grow_and_end_after_more_than_three_days() -> None:
    waits = [after(attempts).at for attempts in range(1, len(AFTER) + 1)]
    assert waits == [AT + wait for wait in AFTER] and list(AFTER) == sorted(AFTER)
    assert after(len(AFTER) + 1).at is None
    assert timedelta(days=3) < sum(AFTER, timedelta()) < timedelta(days=4)


def test_waits_differ_a_little_so_that_not_all_come_at_once() -> None:
    early, late = after(3, chance=0).at, after(3, chance=1).at
    assert early == AT + AFTER[2] * 0.9 and late == AT + AFTER[2] * 1.1


def test_a_receiver_that_says_when_is_not_asked_before() -> None:
    assert after(1, 503, "120").at == AT + timedelta(seconds=120)
    assert after(1, 429, "Mon, 03 Nov 2025 10:00:00 GMT").at == AT + timedelta(hours=1)
    assert after(3, 503, "1").at == AT + AFTER[2]  # never sooner than without
    assert after(1, 503, "999999999999").at == AT + timedelta(days=1)
    for nonsense in (
        "Mon, 03 Nov 2025 10:00:00 +99999999999999999999",
        "Mon, 03 Nov 99999999999 10:00:00 GMT",
        "soon",
        "-5",
        "1.5",
        "",
        "Mon, 99 Nov",
        "²",
    ):
        assert after(1, 503, nonsense).at == AT + AFTER[0], nonsense


def test_only_what_is_not_the_receivers_state_lets_others_pass() -> None:
    for status in (None, 500, 502, 503, 429, 408, 425, 301):
        assert not after(1, status).aside, status
        assert after(HOLDS_UP, status).aside, status
    for status in (400, 401, 403, 404, 409, 413, 422):
        assert after(1, status).aside, status
    assert after(1, 500, aside=True).aside


def test_what_is_gone_is_not_tried_again_by_itself() -> None:
    assert after(1, 410).at is None


def test_a_secret_belongs_to_one_webhook_and_one_generation() -> None:
    secrets = {
        signing.secret_of(key, id, generation)
        for key in (b"one", b"two")
        for id in ("webhook_1", "webhook_2")
        for generation in (1, 2)
    }
    assert len(secrets) == 8 and all(secret.startswith("whsec_") for secret in secrets)
    assert schedule.has_failed_too_long(AT, AT + timedelta(days=3))
    assert not schedule.has_failed_too_long(None, AT)

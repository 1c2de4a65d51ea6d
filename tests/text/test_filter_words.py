"""What a person types into a filter: which words are a filter, and which remain words."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memoryhub.pure.text.filter_words import Term, Verbs, is_understood, quoted, understood, words_in
from memoryhub.pure.text.periods import period

KEYS = frozenset(("agent", "person", "path", "is", "when", "from", "to", "outcome"))
NOW = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)  # a Wednesday


def names(words: Sequence[str]) -> tuple[str, str, int] | None:
    for count in range(min(2, len(words)), 0, -1):
        if " ".join(words[:count]).lower() in ("support bot", "bot"):
            return "agent", " ".join(words[:count]), count
    return None


AUTHORS: Verbs = {"written": None}


def read(typed: str, keys: frozenset[str] = KEYS, verbs: Verbs = AUTHORS) -> tuple[list[str], dict[str, str]]:
    """Return the plain words, and the filters by key."""
    parts = understood(list(words_in(typed)), keys, names, verbs)
    plain = [part.written for part in parts if not isinstance(part, Term)]
    return plain, {part.key: part.value for part in parts if isinstance(part, Term)}


@pytest.mark.parametrize(
    ("typed", "plain", "filters"),
    [
        ("refund by Support bot last week", ["refund"], {"agent": "Support bot", "when": "last-week"}),
        ('written by "Support bot" today', [], {"agent": "Support bot", "when": "today"}),
        ("not by bot", [], {"-agent": "bot"}),
        ("not reviewed", [], {"is": "unreviewed"}),
        ("not pinned", [], {"-is": "pinned"}),
        ("by bot without findings", [], {"agent": "bot", "-is": "finding"}),
        ("Without open findings last week", [], {"-is": "finding", "when": "last-week"}),
        ("not with open findings", [], {"-is": "finding"}),
        ("not without findings", [], {"is": "finding"}),
        ("awaiting review", [], {"is": "unreviewed"}),
        ("assigned to me", [], {"is": "mine"}),
        ("in /tickets refund", ["refund"], {"path": "/tickets"}),
        ("not in /tickets", [], {"-path": "/tickets"}),
        ("LAST 7 Days", [], {"when": "7d"}),
        ("refund older than a week", ["refund"], {"-when": "1w"}),
        ("older than 30 days in /tickets", [], {"-when": "30d", "path": "/tickets"}),
        ("not older than 2 weeks", [], {"when": "2w"}),
        ("refused by bot", [], {"outcome": "refused", "agent": "bot"}),
        ("refusals by bot this week", [], {"outcome": "refused", "agent": "bot", "when": "this-week"}),
        ("refused calls by bot", [], {"outcome": "refused", "agent": "bot"}),
        ("denied today", [], {"outcome": "refused", "when": "today"}),
        ("rejections of mistakes", ["of", "mistakes"], {"outcome": "refused"}),
        ("refund since yesterday", ["refund"], {"when": "since-yesterday"}),
        ("Since last week by bot", [], {"when": "since-last-week", "agent": "bot"}),
        ("before yesterday", [], {"-when": "since-yesterday"}),
        ("since 2026-01-31 before 2026-02-02", [], {"from": "2026-01-31", "to": "2026-02-01"}),
        ("by bot, in /notes/n1.md", [], {"agent": "bot", "path": "/notes/n1.md"}),
        (
            "refund by Support bot last week, in /customers, pinned,",
            ["refund"],
            {"agent": "Support bot", "when": "last-week", "path": "/customers", "is": "pinned"},
        ),
        ('by "Support bot", in /notes, refund', ["refund"], {"agent": "Support bot", "path": "/notes"}),
        ('"a phrase", pinned', ['"a phrase"'], {"is": "pinned"}),
        ("refund, yesterday, 3", ["refund,", "3"], {"when": "yesterday"}),
        (
            "since 2026-01-31, not by bot, older than a week,",
            [],
            {"from": "2026-01-31", "-agent": "bot", "-when": "1w"},
        ),
    ],
)
def test_phrases_that_are_filters(typed: str, plain: list[str], filters: dict[str, str]) -> None:
    assert read(typed) == (plain, filters)


@pytest.mark.parametrize(
    "typed",
    [
        "by nobody", "by", "in France", "in", "since Tuesday", "since 2026-02-31", "before 0001-01-01",
        "before lunch", "last", "last seven days", "last 0 days",
        "older", "older than", "older than that", "older than a car", 'older than "7" days', "older 7 days",
        "without doubt", "assigned to Bob", "not", "not found",
        '"pinned"', '"last week"', 'last "week"', "week last", "written by hand", "in /",
    ],
)  # fmt: skip
def test_words_that_remain_words(typed: str) -> None:
    assert read(typed)[1] == {}
    assert " ".join(read(typed)[0]) == typed


def test_a_phrase_whose_key_a_page_does_not_have_remains_words() -> None:
    assert read("last week pinned", frozenset(("is",))) == (["last", "week"], {"is": "pinned"})


@pytest.mark.parametrize(
    ("typed", "plain", "filters"),
    [
        ("deleted by bot today", [], {"command": "delete", "agent": "bot", "when": "today"}),
        ("written by bot", [], {"agent": "bot"}),
        ("changed by bot", ["changed"], {"agent": "bot"}),
        ("not written by bot", [], {"-agent": "bot"}),
        ("not deleted by bot", ["not"], {"command": "delete", "agent": "bot"}),
        ("not changed by bot", ["not", "changed"], {"agent": "bot"}),
        ("deleted by nobody", ["deleted", "by", "nobody"], {}),
    ],
)
def test_a_verb_before_an_author_is_a_filter_or_remains_a_word(
    typed: str, plain: list[str], filters: dict[str, str]
) -> None:
    assert read(typed, verbs={"written": None, "deleted": ("command", "delete")}) == (plain, filters)


def test_a_quoted_text_is_one_plain_word_again() -> None:
    for text in ("pinned", 'a "b" \\ c', "in /x"):
        assert is_understood(text) == (text != 'a "b" \\ c')
        (word,) = words_in(quoted(text))
        assert (word.text, word.key, word.is_quoted) == (text, None, True)
        assert not is_understood(quoted(text))


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        ("today", "2026-03-04", "2026-03-05"), ("yesterday", "2026-03-03", "2026-03-04"),
        ("since-yesterday", "2026-03-03", "2026-03-05"), ("since-last-week", "2026-02-23", "2026-03-05"),
        ("since-last-month", "2026-02-01", "2026-03-05"),
        ("this-week", "2026-03-02", "2026-03-09"), ("last-week", "2026-02-23", "2026-03-02"),
        ("this-month", "2026-03-01", "2026-04-01"), ("last-month", "2026-02-01", "2026-03-01"),
        ("2026-01-31", "2026-01-31", "2026-02-01"),
    ],
)  # fmt: skip
def test_a_period_has_whole_days(value: str, start: str, end: str) -> None:
    found = period(value, NOW, UTC)
    assert found and [str(moment)[:10] for moment in found] == [start, end]


def test_a_length_ends_now_and_other_values_are_no_period() -> None:
    assert period("36h", NOW, UTC) == (datetime(2026, 3, 3, 3, 30, tzinfo=UTC), None)
    assert period("soon", NOW, UTC) is None
    with pytest.raises(ValueError):
        period("2026-02-31", NOW, UTC)


def test_each_word_is_understood_by_a_few_words_after_it() -> None:
    looked_at = []

    def name(words: Sequence[str]) -> None:
        looked_at.append(len(words))

    understood(list(words_in("by a b c d e f " * 3_000)), KEYS, name, {})
    assert max(looked_at) == 4
    assert read("not written by Ada Byron King Lovelace x")[1] == read("not written by Ada")[1]


def test_a_comma_after_a_value_in_quotes_is_no_word() -> None:
    words = [(word.key, word.text) for word in words_in('agent:"Support bot", path:/notes, "a,b",c')]
    assert words == [("agent", "Support bot"), ("path", "/notes"), (None, "a,b"), (None, ",c")]

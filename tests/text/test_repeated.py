"""Lines that other texts have too are found: with the same words, or with nearly the same ones."""

import random

import pytest

from memoryhub.pure.text.repeated import Lines, Repeated

LINE = "- Refunds are paid within 14 days after the goods came back."


@pytest.mark.parametrize(("other", "is_same"), [
    (LINE, True),
    ("* refunds are paid within 14 days, after the goods came back", True),
    ("Ｒefunds are paid within 14 days after the goods came back", True),
    ("Refunds are paid within 30 days after the goods came back.", False),
    ("We say: refunds are paid within 14 days after the goods came back!", False),
    ("Refunds are paid within 14 days.", None),
    ("Parcels are sent within 14 days after the order came in.", None),
    ("", None),
])  # fmt: skip
def test_a_line_is_found_whatever_its_case_and_marks_are(other: str, is_same: bool | None) -> None:
    found = list(Lines({7: LINE}).found_in(f"# Head\n{other}\nlast\n"))
    assert found == ([] if is_same is None else [Repeated(7, 2, is_same)])


def test_short_lines_and_headings_are_alike_by_chance() -> None:
    assert not Lines({1: "yes", 2: "", 3: "# Everything about refunds", 4: "| --- | --- |"})
    assert Lines({1: "退款会在收到退货后十四天内支付"}) and not Lines({1: "退款"})


def test_each_line_that_shares_four_fifths_of_its_words_is_found() -> None:
    chance = random.Random(3)
    seen = set()
    for _ in range(2_000):
        words = [f"word{chance.randrange(1_000)}" for _ in range(chance.randint(5, 12))]
        other = [word if chance.random() < 0.8 else f"other{n}" for n, word in enumerate(words)]
        other += [f"more{n}" for n in range(chance.randint(0, 2))]
        shared = sum(min(words.count(word), other.count(word)) for word in set(words))
        is_near = 10 * shared >= 4 * (len(words) + len(other))
        found = list(Lines({1: " ".join(words)}).found_in(" ".join(other)))
        assert bool(found) == is_near, (words, other)
        seen.add(is_near)
    assert seen == {True, False}

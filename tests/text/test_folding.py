"""Folding: spellings that are one, and the way back from the folded form to what stands in the original."""

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from memoryhub.pure.text.folding import PIECE, begins, fold, joined, pieces, spans

# Letters whose folded form has another length, marks, parts of Hangul, full and half width, and a line feed.
ALPHABET = (
    "aAßẞİıſﬁﬃǰΐς\u0301\u0323\u0345eé\u0131"
    "か\u3099がｶﾞﾊﾟ각\u1100\u1161\u11a8ＡＢｃ①㍿½ \u3000\u00a0\n/日本\U0001f600\u200b"
)
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=40)


def naive(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def naive_bounds(line: str, start: int, end: int) -> tuple[int, int]:
    """The smallest part of the line, between places where folding can be cut, that covers a part of its folded form."""
    cuts = [at for at in range(len(line) + 1) if naive(line[:at]) + naive(line[at:]) == naive(line)]
    first = max(at for at in cuts if len(naive(line[:at])) <= start)
    return first, min(at for at in cuts if len(naive(line[:at])) >= end)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("か\u3099", "が"),
        ("Straße", "STRASSE"),
        ("ﬁne", "FINE"),
        ("e\u0301", "É"),
        ("㍿", "株式会社"),
        ("ΣΑΣ", "σας"),
        ("\u1112\u1161\u11ab", "한"),
        ("a\u3000b", "a b"),
        ("İ", "i\u0307"),
    ],
)
def test_two_spellings_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_japanese_letters_that_differ_stay_different() -> None:
    assert fold("か") != fold("が")
    assert fold("は") != fold("ハ")


@given(TEXTS)
def test_a_text_is_folded_as_one_would_do_it_at_once(text: str) -> None:
    assert fold(text) == naive(text)
    assert fold(text).count("\n") == text.count("\n")
    assert fold(text) == "\n".join(map(fold, text.split("\n")))


@given(st.text(st.sampled_from(ALPHABET.replace("\n", "")), max_size=30), st.data())
@example("", None)
def test_what_is_found_covers_the_word_in_the_original_and_no_more(line: str, data: st.DataObject | None) -> None:
    folded = naive(line)
    if not folded or data is None:
        assert spans(line, ["a"]) == []
        return
    start = data.draw(st.integers(0, len(folded) - 1))
    word = folded[start : data.draw(st.integers(start + 1, len(folded)))]
    found = spans(line, [word])
    covered = []
    at = folded.find(word)
    while at >= 0:
        covered.append(naive_bounds(line, at, at + len(word)))
        at = folded.find(word, at + len(word))
    for start, end in covered:
        assert any(first <= start and end <= last for first, last in found)
    for first, last in found:
        assert word in naive(line[first:last])
        inside = [pair for pair in covered if first <= pair[0] and pair[1] <= last]
        # No more than the characters that the word touches, each with its marks.
        assert not any(begins(character) for character in line[first + 1 : inside[0][0] + 1][:-1] or "")
        assert not any(begins(character) for character in line[inside[-1][1] : last])


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), max_size=8))
def test_joined_spans_cover_the_same_columns_apart(given_: list[tuple[int, int]]) -> None:
    found = [(start, start + length) for start, length in given_]
    whole = joined(found)
    assert {at for a, b in whole for at in range(a, b)} == {at for a, b in found for at in range(a, b)}
    assert all(one[1] < other[0] for one, other in pairwise(whole))


@given(st.text(st.sampled_from("a\u0301\u0323か\u3099ｶﾞé "), max_size=30).map(lambda text: text * 60))
def test_a_long_line_is_cut_where_its_pieces_do_not_join(line: str) -> None:
    parts = list(pieces(line))
    assert "".join(parts) == line
    assert all(len(part) <= PIECE for part in parts)
    if all(begins(part[0]) for part in parts[1:]):
        assert fold(line) == naive(line)


@pytest.mark.parametrize("letters", ["か\u3099ｱ", "Ａ", "ß", "\u1112\u1161\u11ab", "ﬃ"])
def test_places_in_a_long_line_are_found_again(letters: str) -> None:
    line = "".join(f"{letters}{number} " for number in range(3000))
    for number in (0, 77, 1234, 2999):
        word = f" {letters}{number} " if number else f"{letters}{number} "
        (found,) = spans(line, [fold(word)])
        assert line[slice(*found)] == word


def test_what_no_character_joins_begins_something() -> None:
    assert all(begins(character) for character in "aéか日ガ\n/ 각ß\U0001f600")
    assert not any(begins(character) for character in "\u0301\u3099ﾞ\u1161\u11a8\u0345")


def test_no_text_takes_long() -> None:
    """Marks in the wrong order cost the square of their number where they are normalised at once."""
    start = time.process_time()
    for text in ("a" + "\u0301\u0323" * 25_000, "\u0345\u0301" * 25_000, "\n" * 100_000, "ﷺ" * 30_000):
        folded = fold(text)
        spans(text, [folded[-3:]])
    assert time.process_time() - start < 3


def test_all_that_joins_the_letter_before_it_is_known() -> None:
    """Compared with every character that Unicode composes of two."""
    joining = set()
    for code in range(0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            second = chr(int(parts[1], 16))
            if unicodedata.normalize("NFC", chr(int(parts[0], 16)) + second) == chr(code):
                joining.add(second)
    assert not [character for character in joining if begins(character)]

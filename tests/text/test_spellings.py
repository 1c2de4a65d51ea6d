"""Spellings of a text: what differs in nothing that is heard is the same, other spaces are close, the rest is other."""

import pytest

from memoryhub.pure.text.name_forms import NameForms
from memoryhub.pure.text.spellings import NearSpellings, Spellings, loose


@pytest.mark.parametrize(
    "spelling",
    [
        "straße 5",
        "STRASSE 5",
        "Strasse 5",
        "ｓｔｒａｓｓｅ 5",
        "Stra\u00adße 5",
        "Str\u0301aße 5",
        "S\u200bt\u200dr\u2060asse 5",
        "ſtraße 5",
    ],
)
def test_it_is_found_whatever_its_case_width_accents_form_and_unseen_characters(spelling: str) -> None:
    one = Spellings(["Straße 5"])
    assert one.within(f"at {spelling}, north\nand nothing") == {spelling} and one.is_same(spelling)


def test_a_mark_on_the_last_letter_belongs_to_the_spelling() -> None:
    assert Spellings(["Rene"]).within("dear Rene\u0301, dear René") == {"Rene\u0301", "René"}


def test_other_spaces_are_close_and_not_the_same() -> None:
    one = Spellings(["Ada Lovelace"])
    found = one.within("ada.lovelace@acme.org, Ada  Lovelace, adalovelace, Ada Lovelace")
    assert found == {"ada.lovelace", "Ada  Lovelace", "adalovelace", "Ada Lovelace"}
    assert [one.is_same(text) for text in sorted(found)] == [text == "Ada Lovelace" for text in sorted(found)]


def test_what_is_spelt_otherwise_is_not_found() -> None:
    assert Spellings(["Jane"]).within("John and Jan e and J4ne") == {"Jan e"} - {"Jan e"}
    assert Spellings([" -. "]).within("a - . b") == set()


def test_lines_stay_lines() -> None:
    text = "ß\u2028é\u0085\n\u0301x\nİ"
    assert loose(text).count("\n") == text.count("\n") == 2
    assert Spellings(["x\ny"]).within("a\u0301 X\nY") == {"X\nY"}


@pytest.mark.parametrize(
    "near",
    ["Lindqvost", "LINDQIST", "Lindqvists", "Lidnqvist", "Linqdvist", "Sindqvist", "ｌｉｎｄｑｖｉｓｋ", "Líndqvisk"],
)
def test_one_other_letter_is_a_near_spelling(near: str) -> None:
    is_same = bool(Spellings(["lindqvist"]).within(near))
    assert NearSpellings(["lindqvist"]).within(f"dear {near}, hello\nand nothing") == (set() if is_same else {near})


def test_near_spellings_are_whole_words_with_one_other_letter_and_all_other_words() -> None:
    near = NearSpellings(["Mara Lindqvist"])
    assert near.within("mara lindkvist; Mara  Lindqvost, mara lindqvistson, mora lindqvist, Lindqvost") == {
        "mara lindkvist",
        "Mara  Lindqvost",
    }


@pytest.mark.parametrize("text", ["Linda", "482913", "a1b2c3d4", "Lindqvist"])
def test_short_words_numbers_and_the_text_itself_have_no_near_spellings(text: str) -> None:
    assert NearSpellings([text]).within("Lynda linda Lindqvist 482914 a1b2c3d5") == set()


def test_a_long_line_with_many_spellings_is_read_once() -> None:
    repeated = 30_000
    assert Spellings(["Mara"]).within("Mára" * repeated) == {"Mára"}
    assert NearSpellings(["Lindqvist"]).within("lindqvost " * repeated) == {"lindqvost"}
    assert NameForms(["Jörg Müller"]).within("Mueller, Joerg; " * repeated) == {"Mueller, Joerg"}

"""Other forms of a name: its words in another order, and ü written as ue. They are near, not the same."""

import pytest

from memoryhub.pure.text.name_forms import NameForms


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Anna Berg", "Berg, Anna"),
        ("Berg, Anna", "Anna Berg"),
        ("Anna Berg", "berg_anna"),
        ("Jürgen Müller", "JUERGEN MUELLER"),
        ("Jürgen Müller", "Müller, Jürgen"),
        ("Jürgen Müller", "mueller-juergen"),
        ("Juergen Mueller", "Jürgen Müller"),
        ("Jurgen Muller", "Juergen Mueller"),
        ("Søren Ærø", "Soeren Aeroe"),
        ("Soeren Aeroe", "Søren Ærø"),
        ("Håkan Weiß", "Haakan Weiss"),
        ("Haakan Weiss", "Weiß, Håkan"),
        ("Ada Byron Lovelace", "Lovelace, Ada Byron"),
        ("Ada Byron Lovelace", "Byron Lovelace, Ada"),
        ("Mueller", "Müller"),
    ],
)
def test_a_form_is_found_at_the_end_of_a_word_or_before_its_s(name: str, form: str) -> None:
    assert NameForms([name]).within(f"dear {form}, hello\nand nothing") == {form}
    assert NameForms([name]).within(f"the house of {form}s") == {form}
    assert NameForms([name]).within(f"/people/{form}.md") == {form}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Anna Berg", "Anna Berg, ANNA BERG, Anna-Berg"),
        ("Anna Berg", "Hannaberg, Bergmann Anna; Berg and Anna"),
        ("4111 1111", "1111 4111"),
        ("Jürgen Müller", "Jurgen Muller"),
        ("one two three four", "four three two one"),
        (" -. ", "a - . b"),
    ],
)
def test_the_spellings_themselves_numbers_and_words_far_apart_are_no_forms(name: str, text: str) -> None:
    assert NameForms([name]).within(text) == set()


def test_a_word_of_many_vowels_is_searched_in_linear_time() -> None:
    for vowels in ("a", "ae", "o", "oe", "u", "ue", "aeoeue"):
        for words in (1, 3):
            name = " ".join([vowels * 200] * words)
            assert NameForms([name]).within(f"{vowels * 500}b {'aeou' * 2000}x") == set()

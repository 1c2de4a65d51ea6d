"""Word endings: a searched word finds its other forms, and little else."""

import pytest
from hypothesis import given, strategies as st

from memoryhub.pure.text.word_endings import forms, missing, texts_of

SAME = [
    ("refund", "refunds", "refunded", "refunding"),
    ("policy", "policies"),
    ("reply", "replies", "replied"),
    ("box", "boxes"),
    ("batch", "batches"),
    ("class", "classes"),
    ("price", "prices", "priced", "pricing"),
    ("delete", "deletes", "deleted", "deleting"),
    ("control", "controls", "controlled", "controlling"),
    ("key", "keys"),
    ("merge", "merges", "merged", "merging"),
    ("issue", "issues", "issued", "issuing"),
    ("cache", "caches", "cached", "caching"),
    ("note", "notes", "noted", "noting"),
    ("use", "uses", "used", "using"),
    ("call", "calls", "called", "calling"),
    ("bill", "bills", "billed", "billing"),
    ("add", "adds", "added", "adding"),
    ("test", "tests", "tested", "testing"),
    ("edit", "edits", "edited", "editing"),
    ("push", "pushes", "pushed", "pushing"),
    ("miss", "misses", "missed", "missing"),
    ("pass", "passes", "passed", "passing"),
    ("log", "logs", "logged", "logging"),
    ("set", "sets", "setting", "settings"),
    ("stop", "stops", "stopped", "stopping"),
    ("run", "runs", "running"),
    ("go", "goes", "going"),
    ("echo", "echoes", "echoed", "echoing"),
    ("try", "tries", "tried", "trying"),
    ("copy", "copies", "copied", "copying"),
    ("query", "queries", "queried", "querying"),
    ("tie", "ties", "tied"),
    ("buy", "buys", "buying"),
    ("agree", "agrees", "agreed", "agreeing"),
    ("/notes/log", "/notes/logging"),
    ("support-bot", "support-bots"),
    ("/policies/refund", "/policies/refunds"),
]


@pytest.mark.parametrize("words", SAME)
def test_each_form_of_a_word_finds_the_others(words: tuple[str, ...]) -> None:
    for searched in words:
        assert [text for text in words if missing(text, [forms(searched)])] == [], searched


@pytest.mark.parametrize(("searched", "other"), [
    ("reply", "replace"), ("testing", "latest"), ("status", "statute"), ("pending", "depends"), ("string", "strong"),
    ("this", "thing"), ("the", "thing"), ("used", "us"), ("logged", "login"), ("billing", "possibility"),
    ("settings", "offsets"), ("added", "address"), ("try", "entries"), ("feed", "fee"),
])  # fmt: skip
def test_words_that_only_look_alike_are_not_found(searched: str, other: str) -> None:
    assert missing(other, [forms(searched)])


@pytest.mark.parametrize("word", ["顧客", "ids", "404s", "v1.2", "日本s", "", "ß"])
def test_what_is_no_english_word_stays_as_it_is(word: str) -> None:
    assert forms(word) == (word,)


@given(st.from_regex(r"[a-z]{1,5}(s|es|ies|ied|y|ed|ing|e|ings)?", fullmatch=True))
def test_a_word_always_finds_itself(word: str) -> None:
    assert not missing(word, [forms(word)])


def test_the_texts_to_mark_are_all_forms() -> None:
    assert texts_of([forms("policies"), forms("refunds")]) == ("policy", "policie", "refund")

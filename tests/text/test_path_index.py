"""The index of paths: the same answers as looking at every path, in the same order."""

import random

import pytest
from hypothesis import given, settings, strategies as st

from memoryhub.pure.text import path_index
from memoryhub.pure.text.path_index import Entry, PathIndex, found, in_order, words_of

NAMES = st.text(st.sampled_from("abAB.-_1２ｶﾞガ顧客 ß"), min_size=1, max_size=6)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
QUERIES = st.text(st.sampled_from("abAB.-_1２ｶﾞガ顧客 /ß"), max_size=8)


def entries_of(paths: list[str]) -> list[Entry]:
    return [Entry.of(f"mem_{number}", path) for number, path in enumerate(paths)]


def naive(entries: list[Entry], query: str, limit: int) -> list[tuple[int, int, str]]:
    """Every path looked at; the id does not matter where two paths fold to the same."""
    words = words_of(query)
    return sorted(fits[:3] for entry in entries if (fits := found(entry, words)))[:limit]


@given(st.lists(PATHS, max_size=30, unique=True), QUERIES, st.integers(1, 10))
@settings(max_examples=300)
def test_the_index_finds_what_looking_at_every_path_finds(paths: list[str], query: str, limit: int) -> None:
    entries = entries_of(paths)
    words = words_of(query)
    if words:
        assert [fits[:3] for fits in PathIndex(entries).find(words, limit)] == naive(entries, query, limit)


def test_paths_that_differ_in_case_alone_are_both_found() -> None:
    index = PathIndex(entries_of(["/Notes.md", "/notes.md", "/NOTES.md"]))
    assert [fits[3].path for fits in index.find(["notes"], 3)] == ["/Notes.md", "/notes.md", "/NOTES.md"]


def test_thousands_of_paths_are_found_as_by_looking_at_each() -> None:
    chance = random.Random(7)
    words = ["acme", "globex", "顧客", "メモ", "refund", "x1", "README.md", "Ａ", "order"]
    paths = {
        "/" + "/".join(chance.choices(words, k=chance.randint(1, 3))) + f"/{chance.choice(words)}-{number}.md"
        for number in range(2 * path_index.BLOCK + 100)
    }
    entries = entries_of(sorted(paths))
    index = PathIndex(entries)
    asked = [
        "a",
        "acm",
        "acme refund",
        "メモ",
        "-77",
        "readme.md 1",
        "order/acme",
        "/acme",
        "9.md",
        "nothing",
        "顧客 x1 8",
    ]
    for query in asked:
        assert [fits[:3] for fits in index.find(words_of(query), 30)] == naive(entries, query, 30), query


@pytest.mark.parametrize(
    ("path", "query", "fit"),
    [
        ("/a/Notes.md", "notes.md", path_index.NAME_IS),
        ("/a/notes.md", "Note", path_index.NAME_BEGINS),
        ("/a/my-notes.md", "notes", path_index.WORD_BEGINS),
        ("/a/mynotes.md", "notes", path_index.IN_NAME),
        ("/notes/a.md", "notes", path_index.IN_PATH),
        ("/notes/a.md", "notes/a", path_index.NAME_BEGINS),
        ("/x/notes/a.md", "notes/a.md", path_index.NAME_IS),
        ("/顧客/田中.md", "田中", path_index.NAME_BEGINS),
        ("/ＡＣＭＥ.md", "acme", path_index.NAME_BEGINS),
        ("/a/b.md", "c", None),
    ],
)
def test_how_well_a_path_fits(path: str, query: str, fit: int | None) -> None:
    fits = found(Entry.of("mem_1", path), words_of(query))
    assert (fits and fits[0]) == fit


def test_the_best_comes_first_and_the_shorter_of_equals() -> None:
    paths = ["/plan/x.md", "/a/xplan.md", "/a/my plan.md", "/a/plans.md", "/plan.md", "/a/plan", "/longer/plan"]
    found_paths = [entry.path for *_, entry in PathIndex(entries_of(paths)).find(["plan"], 10)]
    assert found_paths == [
        "/a/plan",
        "/longer/plan",
        "/plan.md",
        "/a/plans.md",
        "/a/my plan.md",
        "/a/xplan.md",
        "/plan/x.md",
    ]


def test_letters_in_order_are_found_where_words_are_not() -> None:
    index = PathIndex(entries_of(["/customers/acme.md", "/b.md"]))
    assert [entry.path for entry in index.find_letters("cacm", 10)] == ["/customers/acme.md"]
    assert index.find_letters("mca", 10) == []
    assert in_order("/abc", "ac")
    assert not in_order("/abc", "ca")


def test_the_work_is_bounded_and_what_was_looked_at_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_index, "MOST_CHECKED", 10)
    index = PathIndex(entries_of([f"/{number}/note.md" for number in range(100)]))
    assert len(index.find(["note"], 30)) == 10


def test_what_is_gone_is_not_found() -> None:
    index = PathIndex(entries_of(["/a.md", "/b.md"]))
    assert [entry.path for *_, entry in index.find(["md"], 5, gone={"mem_0"})] == ["/b.md"]
    assert index.find_letters("m", 5, gone={"mem_0", "mem_1"}) == []


def test_a_slash_alone_finds_the_shortest() -> None:
    index = PathIndex(entries_of(["/long/er.md", "/b.md", "/a.md"]))
    assert words_of("/ //") == []
    assert [entry.path for *_, entry in index.find([], 2)] == ["/a.md", "/b.md"]


def test_a_query_is_at_most_eight_words_each_once() -> None:
    assert words_of("A a Ａ b") == ["a", "b"]
    assert len(words_of(" ".join(map(str, range(20))))) == 8
    assert words_of("  ") == []

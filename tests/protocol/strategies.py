"""Calls of the memory tool as Hypothesis draws them: few names and short texts, so that calls meet each other."""

from typing import Any

from hypothesis import strategies as st

names = st.sampled_from(["a", "b", "A", "a.md", "a-", "é", ".h", "node_modules", "100%", "*"])
good_paths = st.lists(names, max_size=4).map(lambda parts: "/".join(["/memories", *parts]))
odd_paths = st.sampled_from(
    [
        "/memories/", "/memories//a", "/memories/a/", "/memories/e\u0301", "/memories/..", "/memories/a/../b", "/etc/a",
        "/memories/a\nb", "/memories/%2e%2e/a", "/memories/ a", "", None, 5, ["/memories"], "/memories" + "/d" * 21,
    ]
)  # fmt: skip
paths = st.one_of(good_paths, good_paths, good_paths, odd_paths)

texts = st.lists(st.sampled_from(["a", "b", "\n", "\n", "\r", "é", "\u2028", "word "]), max_size=12).map("".join)
odd_texts = st.sampled_from([None, 5, "\0", "\ud800", ["a"]])
parameters = st.one_of(texts, texts, texts, texts, odd_texts)
needles = st.one_of(st.sampled_from(["a", "b", "\n", "word", "aa", "é"]), parameters)

lines: st.SearchStrategy[Any] = st.one_of(
    st.integers(0, 4), st.integers(-2, 12), st.sampled_from(["1", "+1", "x", 1.0, 1.5, True, None, [], 10**30])
)
ranges = st.one_of(st.none(), st.lists(lines, max_size=3), st.sampled_from([{}, "12", 1]))


def _input(command: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An input in which now and then a parameter is missing."""
    whole = st.fixed_dictionaries({"command": st.just(command), **parts})
    missing = st.one_of(st.none(), st.none(), st.none(), st.sampled_from(sorted(parts)))
    return st.builds(lambda input, name: {key: input[key] for key in input if key != name}, whole, missing)


inputs: st.SearchStrategy[dict[str, Any]] = st.one_of(
    _input("view", path=paths),
    _input("view", path=paths, view_range=ranges),
    _input("create", path=paths, file_text=parameters),
    _input("create", path=good_paths, file_text=texts),
    _input("str_replace", path=paths, old_str=needles, new_str=parameters),
    _input("insert", path=paths, insert_line=lines, insert_text=parameters),
    _input("insert", path=paths, insert_line=lines, new_str=parameters),
    _input("delete", path=paths),
    _input("rename", old_path=paths, new_path=paths),
    _input("rename", path=good_paths, new_path=good_paths),
    st.sampled_from([{}, {"command": "VIEW"}, {"command": None}, {"command": "a\u202eb"}, {"command": ["view"]}]),
)

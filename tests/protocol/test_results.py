"""The sentences that no vector shows."""

import pytest

from memoryhub.pure.protocol import results
from memoryhub.pure.protocol.errors import ToolError


@pytest.mark.parametrize(
    ("sentence", "exact"),
    [
        (results.key_may_not_write(), "Error: this key may not write to this memory store"),
        (results.store_archived(), "Error: this memory store is archived and cannot be changed"),
        (
            results.memory_too_large("/a.md", 102_401, 102_400),
            (
                "Error: /memories/a.md would be 102401 bytes; the limit of this memory store is 102400. "
                "Split it or shorten it."
            ),
        ),
        (
            results.too_many_memories(10_000),
            "Error: this memory store holds 10000 memories, which is its limit. Delete or merge some.",
        ),
        (
            results.store_too_large(104_857_601, 104_857_600),
            (
                "Error: this memory store would hold 104857601 bytes; its limit is 104857600. "
                "Delete or shorten some memories."
            ),
        ),
        (results.path_not_found("/a"), "Error: The path /memories/a does not exist. Please provide a valid path."),
        (results.view_not_found("/a"), "The path /memories/a does not exist. Please provide a valid path."),
        (results.does_not_exist("/a"), "Error: The path /memories/a does not exist"),
        (results.destination_exists(""), "Error: The destination /memories already exists"),
        (results.destination_exists("/b"), "Error: The destination /memories/b already exists"),
        (
            results.cannot_rename("/a", "/f/x/y", "/f"),
            "Error: Cannot rename /memories/a to /memories/f/x/y: /memories/f is a file, not a directory",
        ),
        (
            results.cannot_create("/f/x/y", "/f"),
            "Error: Cannot create /memories/f/x/y: /memories/f is a file, not a directory",
        ),
        (results.too_many_lines("/a"), "File /memories/a exceeds maximum line limit of 999,999 lines."),
        (results.more_items(7), "[7 more items not shown. View a directory beneath to see them.]"),
        (results.edited("/a"), "The file /memories/a has been edited."),
        (results.renamed("/a", "/b"), "Successfully renamed /memories/a to /memories/b"),
    ],
)
def test_a_sentence_is_exact(sentence: str, exact: str) -> None:
    assert sentence == exact


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain *%_<'\"\\", "plain *%_<'\"\\"), ("\t\r\n\x7f", "\\t\\r\\n\\x7f"), ("\x85\xad", "\\x85\\xad"),
        ("\u200b\u202e\u2028\ufeff", "\\u200b\\u202e\\u2028\\ufeff"), ("\U000e0001", "\\U000e0001"),
        ("é😀\u3000\ue000", "é😀\u3000\ue000"), ("é" * 200, "é" * 200), ("é" * 201, "é" * 200 + "..."),
        ("\n" * 101, "\\n" * 100 + "..."), ("x" * 1000 + "\n", "x" * 200 + "..."), (None, "None"), (1.5, "1.5"),
        (True, "True"), ([1, "a\n"], "[1, 'a\\n']"),
    ],
)  # fmt: skip
def test_an_echo_shows_what_is_not_seen_and_ends_after_200_characters(value: object, shown: str) -> None:
    assert results.echo(value) == shown


def test_a_tool_error_is_its_sentence() -> None:
    error = ToolError("Error: no", command="view", path="/a")
    assert (str(error), error.message, error.command, error.path, error.new_path) == (
        "Error: no",
        "Error: no",
        "view",
        "/a",
        None,
    )

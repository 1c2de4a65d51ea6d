"""The tool's sentences in the words of the API and of people, and paths as the API takes them."""

import pytest

from memoryhub.pure.protocol import paths, results
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.protocol.plain import for_api, without_root


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (results.already_exists("/a b.md"), "There is a memory or a directory at /a b.md already"),
        (results.already_exists("/memories/a\n.md"), "There is a memory or a directory at /memories/a\n.md already"),
        (results.cannot_create("/a/b", "/a"), "Cannot create /a/b: /a is a memory, not a directory"),
        (results.cannot_rename("/x", "/a/b", "/a"), "Cannot rename /x to /a/b: /a is a memory, not a directory"),
        (results.path_escapes("/memories/../x"), "Path /../x would lead out of the memory store"),
        (results.store_archived(), "This memory store is archived and cannot be changed"),
        (results.held("/a"), "A legal hold is on /a, which cannot be deleted"),
        (results.precondition_failed("/a"), "The precondition failed: /a has another text than the request expects"),
        (results.path_relative("a\0"), "Path must start with /, got: a\\x00"),
    ],
)  # fmt: skip
def test_the_api_says_its_own_paths_and_words(message: str, shown: str) -> None:
    assert for_api(message) == shown


def test_people_are_told_of_paths_without_the_tools_root() -> None:
    assert without_root("Error: the path /memories/a is odd") == "The path /a is odd"
    assert without_root("no /memoriesX, no x/memories/y") == "No /memoriesX, no x/memories/y"


def test_a_path_of_the_api_is_taken_as_it_is_stored_or_not_at_all() -> None:
    for path in ("/a", "/é/b c.md", "/memories", "/memories/x", "/..x.md", "/a/.anthropic-memory-store", "/100%25.md"):
        assert paths.from_api(path) == path == paths.from_tool("/memories" + path, creates=True)
    for path in ("", "/", "a", " /a", "//a", "/a/", "/a//b", "/./a", "/../a", "/a/..", "/e\u0301", "/a\u200b", "/a\\b",
                 "/%2e%2e/a", "/a%2fb", "/ a", "/a ", "/" + "n" * 256, "/n" * 21, ("/" + "n" * 255) * 4 + "/n",
                 "/.anthropic-memory-store", "/.anthropic-memory-store/x", "/memories/"):  # fmt: skip
        with pytest.raises(ToolError):
            paths.from_api(path)

"""The names that memories have outside the hub."""

import pytest

from memoryhub.transfer import git_names
from memoryhub.transfer.names import Names, safe_name


class TestOnDisks:
    @pytest.mark.parametrize(
        ("name", "safe"),
        [
            ("plain name.md", "plain name.md"), ("nul", "%6Eul"), ("COM1.txt", "%43OM1.txt"), ("a<b", "a%3Cb"),
            ("a%3Cb", "a%253Cb"), ("dot.", "dot%2E"), ("\u202ex", "%E2%80%AEx"), ("console", "console"),
            ("日本.md", "日本.md"), (".hidden", ".hidden"), ("aux.d.ts", "%61ux.d.ts"),
        ],
    )  # fmt: skip
    def test_a_name_is_escaped_where_it_must_be(self, name: str, safe: str) -> None:
        assert safe_name(name) == safe

    def test_long_names_are_cut_and_stay_different(self) -> None:
        names = {safe_name("日" * 80 + f"{number}.md") for number in range(20)}
        assert len(names) == 20 and all(len(name.encode()) <= 200 and name.endswith(".md") for name in names)

    def test_no_two_paths_meet_on_a_file_system_that_folds(self) -> None:
        names = Names()
        paths = ["/a", "/A/b", "/A/B", "/b/c", "/B", "/e\u0301", "/\u00e9", "/ﬁ", "/fi", "/FI/x", "/ß", "/ss"]
        given = [names.of(path) for path in paths]
        folded = {name.casefold() for name in given}
        assert len(folded) == len(paths)
        assert not any(other.startswith(name + "/") for name in folded for other in folded)


class TestInGit:
    def test_what_git_refuses_is_escaped_and_all_names_stay_different(self) -> None:
        names = (
            ".git", ".GIT", ".git.", "git~1", "GIT~12", "\u200c.git", ".g\u200cit", ".git::$INDEX", ".gitattributes",
            ".gitmodules", "..", ".", "...", "%2Egit", "%252Egit", "%2egit", "%67it~1",
        )  # fmt: skip
        safe = [git_names.safe_name(name) for name in names]
        assert all(name.startswith("%") and name not in names[:-4] for name in safe) and len(set(safe)) == len(names)
        assert [git_names.safe_name(name) for name in (".github", "git", "a%2Egit.md", ".gitx", "%41")] == [
            ".github", "git", "a%2Egit.md", ".gitx", "%41",
        ]  # fmt: skip

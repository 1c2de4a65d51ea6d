"""The names that memories have outside the hub."""

from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from memoryhub.pure.transfer import obeyed_names
from memoryhub.pure.transfer.git import names as git_names
from memoryhub.pure.transfer.names import Names, safe_name

HOSTILE = (
    ".git", ".GIT", ".Git ", ".git.", ".git . .", ".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git", "git~1",
    "GIT~2",
    "\uff0egit", ".g\u0131t", ".g\u0130t", ".gitmodules", "GITMOD~1", ".gitattributes", "gitatt~4", "gi7eba~1", "HEAD",
    "head",
    ".hg", ".envrc", ".ENV", ".vscode", ".idea", ".husky", "desktop.ini", "Desktop.ini", "autorun.inf", "AUTORUN.INF. ",
    "notes.lnk", "a.URL", "a.\uff4cnk", "a.lnk.", "a.lnk ", "a.lnk:stream", "x.scf", "x.hta", ".bashrc", ".ssh",
    ".htaccess", ".mcp.json", ".npmrc", ".exrc", ".gdbinit", "progra~1.exe",
)  # fmt: skip
"""Names that some program obeys, as some file system may spell them."""
HARMLESS = (
    "todo.md", ".github", ".gitignore", "gitignore", "headline", "HEAD.md", "settings.json", "env", ".hidden", "a~b.md",
    "CLAUDE.md", ".claude", "memory", "Makefile", "run.sh", "a.py", "index.html", "日本.md", "url", "lnk", "x.links",
)  # fmt: skip
_SIGNS = st.sampled_from(list(".git~1 %2Eehad:\\\u200c\u0131\uff0eILNKlnkx"))
_NAMES = st.one_of(
    st.sampled_from(HOSTILE + HARMLESS),
    st.sampled_from(HOSTILE).map(lambda name: name.replace(".", "%2E").replace("g", "%67")),
    st.text(_SIGNS, min_size=1, max_size=9),
)


class TestObeyed:
    """A memory never comes to be where a program runs or obeys what it says."""

    @pytest.mark.parametrize("name", HOSTILE)
    def test_an_export_never_writes_a_name_that_a_program_obeys(self, name: str) -> None:
        assert obeyed_names.to_escape(name)
        for write in (safe_name, git_names.safe_name):
            assert not obeyed_names.to_escape(write(name)) and unquote(write(name)) == name

    @pytest.mark.parametrize("name", HARMLESS)
    def test_an_ordinary_name_stays_as_it_is(self, name: str) -> None:
        assert safe_name(name) == git_names.safe_name(name) == name

    def test_what_a_coding_agent_obeys_in_its_own_directory_is_escaped_there_alone(self) -> None:
        names = Names()
        assert names.of("/.claude/settings.json") == ".claude/%73ettings.json"
        assert names.of("/.claude/rules/a.md") == ".claude/rules/a.md" and names.of("/settings.json") == "settings.json"
        assert git_names.safe_path("/.CLAUDE/Settings.json") == ".CLAUDE/%53ettings.json"
        assert git_names.safe_path("/x\\.git\\config") == "x%5C%2Egit%5Cconfig", "Windows reads three names"

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(_NAMES, min_size=1, max_size=12, unique=True))
    @example([":~1"])
    def test_no_name_comes_out_obeyed_and_no_two_become_one(self, names: list[str]) -> None:
        for write in (safe_name, git_names.safe_name):
            safe = [write(name) for name in names]
            assert not any(obeyed_names.to_escape(name) for name in safe)
            assert len(set(safe)) == len(names)

    def test_the_documentation_lists_every_name_with_its_reason(self) -> None:
        page = " ".join((Path(__file__).parents[2] / "docs" / "export.md").read_text().split())
        for reason in obeyed_names.NAMES:
            assert reason.why in page
            assert not [name for name in reason.names if f"`{name}`" not in page and f"`{name.upper()}`" not in page]
        beneath = {f"{above}/{name}" for above, names in obeyed_names.BENEATH.items() for name in names}
        assert not [name for name in beneath if f"`{name}`" not in page]
        assert not [ending for ending in obeyed_names.ENDINGS if f"`.{ending}`" not in page]


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
        assert all("%" in name and name not in names[:-4] for name in safe) and len(set(safe)) == len(names)
        assert [git_names.safe_name(name) for name in (".github", "git", "a%2Egit.md", ".gitx", "%41")] == [
            ".github", "git", "a%2Egit.md", ".gitx", "%41",
        ]  # fmt: skip

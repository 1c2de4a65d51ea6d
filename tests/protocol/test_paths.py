"""Which paths are accepted, what they become, and which sentence refuses the others."""

import re
import sys
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given, settings, strategies as st

from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from tests.support.long import some

DOTS = "'.' segments are not allowed"
BACKSLASHES = "backslashes are not allowed"
UNSEEN = "control, invisible and formatting characters are not allowed"
LOOK_ALIKES = "look-alike separators are not allowed"
ENCODED = "percent-encoded separators are not allowed"
LEVELS = "too many levels of percent-encoding"
SPACES = "names must not start or end with spaces"
LONG = "longer than 1024 bytes (or 255 per name)"
DEEP = "deeper than 20 levels"
FINAL = "a file path must not end with /"
ESCAPE = "escape"

CHARACTERS = list(map(chr, range(sys.maxunicode + 1)))


def refusal(path: object, *, creates: bool = False) -> str:
    """Why a path is refused; empty where it is accepted."""
    try:
        paths.from_tool(path, creates=creates)
    except ToolError as error:
        if error.message.startswith("Error: Path must start with /memories, got: "):
            return "prefix"
        if error.message.endswith(" would escape /memories directory"):
            return ESCAPE
        return error.message.rpartition(" is not allowed: ")[2]
    return ""


def encoded(text: str, rounds: int) -> str:
    """Every character percent-encoded, and each `%` of that again."""
    text = "".join(f"%{byte:02x}" for byte in text.encode())
    for _ in range(rounds - 1):
        text = text.replace("%", "%25")
    return text


# ------------------------------------------------------------------------------------------------ accepted


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("/memories", ""),
        ("/memories/", ""),
        ("/memories///", ""),
        ("/memories/notes/todo.md", "/notes/todo.md"),
        ("/memories//notes///todo.md", "/notes/todo.md"),
        ("/memories/notes/", "/notes"),
        ("/memories/two words.md", "/two words.md"),
        ("/memories/cafe\u0301.md", "/café.md"),
        ("/memories/\u212b", "/\u00c5"),
        ("/memories/..x.md", "/..x.md"),
        ("/memories/x..", "/x.."),
        ("/memories/x.", "/x."),
        ("/memories/.hidden", "/.hidden"),
        ("/memories/100%25.md", "/100%25.md"),
        ("/memories/%", "/%"),
        ("/memories/%zz%4", "/%zz%4"),
        ("/memories/%ff", "/%ff"),
        ("/memories/memories/memories", "/memories/memories"),
        ("/memories/a\u00a0b", "/a\u00a0b"),
        ("/memories/\u0430dmin", "/\u0430dmin"),
        ("/memories/a…b", "/a…b"),
        ("/memories/𝒶", "/𝒶"),
        ("/memories/\ue000\U0010ffff", "/\ue000\U0010ffff"),
    ],
)
def test_a_path_is_kept_in_its_canonical_form(sent: str, kept: str) -> None:
    assert paths.from_tool(sent) == kept


@pytest.mark.parametrize("character", "*%_'\"<>$;|?#:&=+@!(){}[]^`~,")
def test_characters_that_mean_something_elsewhere_are_ordinary(character: str) -> None:
    assert paths.from_tool(f"/memories/{character}/a{character}b") == f"/{character}/a{character}b"


@pytest.mark.parametrize("root", ["/memories", "/memories/", "/memories//"])
def test_the_root_may_be_named_by_a_create(root: str) -> None:
    assert paths.from_tool(root, creates=True) == ""


def test_only_a_create_refuses_a_final_slash() -> None:
    assert refusal("/memories/foo/", creates=True) == refusal("/memories/foo//", creates=True) == FINAL
    assert refusal("/memories/foo/") == ""


# ------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "memories/x", " /memories/x", "/Memories", "/MEMORIES/x", "/memoriesX", "/memories_backup/x",
        "/memories.txt", "//memories", "/memories\\x", "\\memories", "file:///memories", "/memories\n", "/memories ",
        "\ufeff/memories", "/memories\u2215x", "%2fmemories", 5, 1.5, True, {}, ["/memories"], b"/memories",
    ],
)  # fmt: skip
def test_a_path_has_to_start_with_memories(path: object) -> None:
    assert refusal(path) == "prefix"


@pytest.mark.parametrize(
    "path",
    [
        "/memories/..", "/memories/../x", "/memories/a/../x", "/memories/a/..", "/memories/a../x", "/memories/.../x",
        "/memories/..\\x", "/memories/a..\\x", "/memories/%2e%2e/x", "/memories/%2e%2e%2fx", "/memories/..%2fx",
        "/memories/..%5cx", "/memories/%252e%252e%252fx", "/memories/\uff0e\uff0e/x", "/memories/\u2025/x",
        "/memories/\u2025", "/memories/a\u2026/x", "/memories/%ef%bc%8e%ef%bc%8e/x", "/memories/..\uff0fx",
        "/memories/\u2024\u2024/x", "/memories/..\uff3cx", "/memories/..\u0301x/../y",
        "/memories/%c0%ae%c0%ae/x", "/memories/%C0%AEx", "/memories/a%c0%afb", "/memories/a%C0%Afb",
        "/memories/%25c0%25ae", "/memories/%2525C0%2525af",
    ],
)  # fmt: skip
def test_a_path_that_could_lead_out_would_escape(path: str) -> None:
    assert refusal(path) == ESCAPE


@pytest.mark.parametrize(
    "path",
    ["/memories/.", "/memories/./x", "/memories/a/.", "/memories/%2e/x", "/memories/\uff0e/x", "/memories/\u2024"],
)
def test_a_dot_is_no_name(path: str) -> None:
    assert refusal(path) == DOTS


@pytest.mark.parametrize(
    "path", ["/memories/a\\b", "/memories/C:\\x", "/memories/a%5cb", "/memories/a\uff3cb", "/memories/a\ufe68b"]
)
def test_a_backslash_is_refused_however_it_is_written(path: str) -> None:
    assert refusal(path) == BACKSLASHES


def test_every_character_that_is_not_seen_is_refused_plain_and_encoded() -> None:
    unseen = [c for c in CHARACTERS if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert len(unseen) > 2048 + 65 + 150
    assert [c for c in unseen if refusal(f"/memories/a{c}b") != UNSEEN] == []
    assert [c for c in unseen if unicodedata.category(c) != "Cs" and refusal(f"/memories/{quote(c)}") != UNSEEN] == []


def test_every_other_character_is_ordinary_between_letters_unless_it_looks_like_a_separator() -> None:
    separators = {c for c in CHARACTERS if not {"/", "\\"}.isdisjoint(unicodedata.normalize("NFKC", c))} - {"/"}
    separators |= set("\u2044\u2215\u29f8\u2571\u29f6")
    assert [c for c in separators if refusal(f"/memories/a{c}b") not in {LOOK_ALIKES, BACKSLASHES}] == []
    unseen = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ordinary = [c for c in CHARACTERS if c not in separators and c != "/" and unicodedata.category(c) not in unseen]
    together = ["".join(ordinary[start : start + 20]) for start in range(0, len(ordinary), 20)]
    assert [names for names in some(together, 8) if refusal(f"/memories/a{names}b")] == []


@pytest.mark.parametrize("character", "\u2044\u2215\u29f8\u2571\u29f6\uff0f\u2100\u2101\u2105\u2106")
def test_what_looks_like_a_separator_is_refused(character: str) -> None:
    assert refusal(f"/memories/a{character}b") == refusal(f"/memories/a{quote(character)}b") == LOOK_ALIKES


@pytest.mark.parametrize("rounds", range(1, 6))
def test_up_to_five_rounds_of_percent_encoding_are_seen_through(rounds: int) -> None:
    assert paths.from_tool(f"/memories/{encoded('aé', rounds)}") == f"/{encoded('aé', rounds)}"
    assert refusal(f"/memories/a{encoded('/', rounds)}b") == ENCODED
    assert refusal(f"/memories/{encoded('../', rounds)}b") == ESCAPE
    assert refusal(f"/memories/a{encoded(chr(92), rounds)}b") == BACKSLASHES
    assert refusal(f"/memories/{encoded('.', rounds)}") == DOTS
    assert refusal(f"/memories/{encoded(chr(0), rounds)}") == UNSEEN
    assert refusal(f"/memories/{encoded(chr(0x2215), rounds)}") == LOOK_ALIKES


@pytest.mark.parametrize("text", ["a", "/", "../", "\0"])
def test_a_sixth_round_is_too_many_whatever_it_hides(text: str) -> None:
    assert refusal(f"/memories/{encoded(text, 6)}") == refusal(f"/memories/{encoded(text, 60)}") == LEVELS


@pytest.mark.parametrize(
    "path",
    [
        "/memories/ a", "/memories/a ", "/memories/a /b", "/memories/a/ ", "/memories/ /", "/memories/\u3000a",
        "/memories/a\u00a0", "/memories/\u2000",
    ],
)  # fmt: skip
def test_a_name_neither_starts_nor_ends_with_white_space(path: str) -> None:
    assert refusal(path) == SPACES


def test_a_name_has_at_most_255_bytes() -> None:
    assert refusal("/memories/" + "a" * 255) == refusal("/memories/" + "é" * 127) == ""
    assert refusal("/memories/" + "a" * 256) == refusal("/memories/x/" + "é" * 128 + "/y") == LONG


def test_a_path_has_at_most_1024_bytes_not_counting_memories() -> None:
    names = ["a" * 255, "b" * 255, "c" * 255, "d" * 255]
    assert len("/" + "/".join(names)) == 1024
    assert refusal("/memories/" + "/".join(names)) == ""
    assert refusal("/memories/" + "/".join([*names[:3], "d" * 254, "e"])) == LONG


def test_lengths_are_of_the_composed_form_with_single_slashes() -> None:
    assert paths.from_tool("/memories/" + "e\u0301" * 127) == "/" + "é" * 127
    assert refusal("/memories/" + "e\u0301" * 128) == LONG
    assert paths.from_tool("/memories" + "/" * 5000 + "a") == "/a"
    assert len(paths.from_tool("/memories/" + "/".join(["\u212a" * 255] * 4)).encode()) == 1024


def test_a_path_has_at_most_20_names() -> None:
    assert refusal("/memories" + "/d" * 20) == refusal("/memories" + "/é" * 20) == ""
    assert refusal("/memories" + "/d" * 21) == refusal("/memories" + "/é" * 21) == DEEP


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/memoriesX/../a", "prefix"),
        ("/memories/../" + encoded("a", 6), LEVELS),
        ("/memories/.././a", ESCAPE),
        ("/memories/./a\\b", DOTS),
        ("/memories/a\\b\0", BACKSLASHES),
        ("/memories/\uff0e\uff0e/\0", ESCAPE),
        ("/memories/\0%2e%2e%2f", UNSEEN),
        ("/memories/a%2fb\u2215", ENCODED),
        ("/memories/a\u2215b%c0%ae", LOOK_ALIKES),
        ("/memories/a%c0%ae/", ESCAPE),
        ("/memories/ a/", FINAL),
        ("/memories/ " + "a" * 2000, SPACES),
        ("/memories/ " + "a" * 9000, SPACES),
        ("/memories" + "/d" * 1500, LONG),
        ("/memories" + "/d" * 9000, LONG),
    ],
)
def test_the_first_rule_that_is_broken_answers(path: str, first: str) -> None:
    assert refusal(path, creates=True) == first


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/memories/a\nb", f"Error: Path /memories/a\\nb is not allowed: {UNSEEN}"),
        ("/memories/a\u202eb", f"Error: Path /memories/a\\u202eb is not allowed: {UNSEEN}"),
        ("/memories/a\ud800b", f"Error: Path /memories/a\\ud800b is not allowed: {UNSEEN}"),
        ("/memories/a\U000e0041b", f"Error: Path /memories/a\\U000e0041b is not allowed: {UNSEEN}"),
        ("x\0" + "é" * 300, "Error: Path must start with /memories, got: x\\x00" + "é" * 195 + "..."),
        ("x" * 200, "Error: Path must start with /memories, got: " + "x" * 200),
        ("x" * 201, "Error: Path must start with /memories, got: " + "x" * 200 + "..."),
        (None, "Error: Path must start with /memories, got: None"),
        (["a\n", "\ud800"], "Error: Path must start with /memories, got: ['a\\n', '\\ud800']"),
    ],
)
def test_a_refused_path_is_shown_harmless_and_short(path: object, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        paths.from_tool(path)
    assert caught.value.message == str(caught.value) == message
    message.encode()


# ------------------------------------------------------------------------------------------------ properties

tricky = st.text(st.sampled_from("ab./\\ %25efEF-_0é\u0301\u0316\u212a\uff0e\u2215\0\u3000"), max_size=30)


@settings(deadline=None)
@given(tricky)
def test_an_accepted_path_is_accepted_again_as_it_is_shown(tail: str) -> None:
    try:
        path = paths.from_tool("/memories/" + tail)
    except ToolError:
        return
    assert paths.from_tool(paths.to_tool(path)) == path
    assert path == unicodedata.normalize("NFC", path)
    assert "//" not in path
    assert not path.endswith("/")


@settings(deadline=None)
@given(st.text(st.sampled_from("aZ9._- //"), max_size=40).map(lambda tail: "/memories" + tail), st.booleans())
def test_the_quick_way_decides_as_the_rules_do(path: str, creates: bool) -> None:
    quick = refusal(path, creates=creates) or paths.from_tool(path, creates=creates)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "_PLAIN", re.compile("(?!)"))
        assert (refusal(path, creates=creates) or paths.from_tool(path, creates=creates)) == quick


@settings(deadline=None)
@given(tricky)
def test_looking_at_each_character_alone_finds_what_nfkc_of_the_whole_shows(tail: str) -> None:
    whole, alone = unicodedata.normalize("NFKC", tail), paths._compatible(tail)
    for sought in ("../", "..\\", "/./", "\\"):
        assert (sought in whole) == (sought in alone)
    assert whole.count("/") == alone.count("/")
    assert [whole.endswith(end) for end in ("/.", "/..")] == [alone.endswith(end) for end in ("/.", "/..")]


def test_no_composition_makes_or_takes_a_dot_a_separator_or_a_space_nor_shrinks_below_a_third() -> None:
    """What the linear check of paths rests on, for the Unicode of this Python."""
    for character in CHARACTERS:
        composed, parts = unicodedata.normalize("NFC", character), unicodedata.normalize("NFD", character)
        if character == composed == parts or unicodedata.category(character) == "Cs":
            continue
        assert not set("./\\") & set(parts)
        assert composed.isspace() == character.isspace()
        assert max(len(character.encode()), len(parts.encode())) <= 3 * len(composed.encode())


# ------------------------------------------------------------------------------------------------ questions


def test_the_ancestors_of_a_path_start_with_the_root() -> None:
    assert paths.ancestors("/a/b/c.md") == ("", "/a", "/a/b")
    assert paths.ancestors("/a") == ("",)
    assert paths.ancestors("") == ()


def test_a_path_has_a_parent_and_a_name() -> None:
    assert (paths.parent("/a/b.md"), paths.name("/a/b.md")) == ("/a", "b.md")
    assert (paths.parent("/a"), paths.name("/a")) == ("", "a")


def test_a_subtree_holds_what_lies_beneath_and_nothing_else() -> None:
    low, high = paths.subtree("/Foo")
    beneath = ["/Foo/a", "/Foo/", "/Foo/\U0010ffff", "/Foo/z/z"]
    beside = ["/Foo", "/foo/a", "/Foo-/a", "/Foo.md", "/Foo0", "/Fooa/b", "/Fo", "/Foo!/a"]
    assert all(low <= path < high for path in beneath)
    assert not any(low <= path < high for path in beside)


@settings(deadline=None)
@given(tricky.filter(bool), tricky)
def test_a_subtree_is_what_starts_with_the_directory_and_a_slash(directory: str, other: str) -> None:
    low, high = paths.subtree("/" + directory)
    for path in ("/" + other, f"/{directory}{other}", f"/{directory}/{other}"):
        assert (low <= path < high) == path.startswith(f"/{directory}/")


def test_hidden_names_start_with_a_dot_or_are_node_modules() -> None:
    assert all(map(paths.is_hidden, [".git", "..x", ".", "node_modules"]))
    assert not any(map(paths.is_hidden, ["a.b", "node_modules2", "Node_Modules", "my_node_modules", "x."]))


def test_a_path_is_hidden_with_any_of_its_names() -> None:
    assert all(map(paths.has_hidden, ["/a/.b", "/.a/b", "/node_modules/b", "/a/node_modules"]))
    assert not any(map(paths.has_hidden, ["", "/a/b.c", "/node_modules2/b", "/a_node_modules/b"]))

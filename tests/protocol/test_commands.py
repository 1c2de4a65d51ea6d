"""From the input of a tool_use block to a command, or to the first rule that it breaks."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from memoryhub.pure.protocol.commands import WRITES, Create, Delete, Insert, Rename, StrReplace, View, parse
from memoryhub.pure.protocol.errors import ToolError

ALLOWED = "The allowed commands for the memory tool are: view, create, str_replace, insert, delete, rename"


def refusal(**input: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        parse(input)
    return caught.value


@pytest.mark.parametrize(
    ("input", "command"),
    [
        ({"command": "view", "path": "/memories"}, View("", None)),
        ({"command": "view", "path": "/memories/a", "view_range": ["any", {}]}, View("/a", ["any", {}])),
        ({"command": "create", "path": "/memories/a", "file_text": ""}, Create("/a", "")),
        ({"command": "create", "path": "/memories/a", "file_text": "é\r\n😀"}, Create("/a", "é\r\n😀")),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "x", "new_str": "y"}, StrReplace("/a", "x", "y")),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "x"}, StrReplace("/a", "x", "")),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "x", "new_str": None}, StrReplace("/a", "x", "")),
        ({"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x"}, Insert("/a", 0, "x")),
        ({"command": "insert", "path": "/memories/a", "insert_line": [], "insert_text": ""}, Insert("/a", [], "")),
        ({"command": "insert", "path": "/memories/a", "insert_line": 0, "new_str": "x"}, Insert("/a", 0, "x")),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "", "new_str": "x"},
            Insert("/a", 0, ""),
        ),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": None, "new_str": "x"},
            Insert("/a", 0, "x"),
        ),
        ({"command": "delete", "path": "/memories/a/"}, Delete("/a")),
        ({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b/"}, Rename("/a", "/b")),
        ({"command": "rename", "path": "/memories/a", "new_path": "/memories/b"}, Rename("/a", "/b")),
        (
            {"command": "rename", "old_path": "/memories/a", "path": "/etc", "new_path": "/memories/b"},
            Rename("/a", "/b"),
        ),
        (
            {"command": "rename", "old_path": None, "path": "/memories/a", "new_path": "/memories/b"},
            Rename("/a", "/b"),
        ),
        ({"command": "delete", "path": "/memories/a", "recursive": True, "old_str": 5, "x": "\0"}, Delete("/a")),
    ],
)
def test_an_input_becomes_a_command(input: dict[str, object], command: object) -> None:
    assert parse(input) == command


def test_commands_carry_their_names_and_do_not_change() -> None:
    assert [form.name for form in (View, Create, StrReplace, Insert, Delete, Rename)] == [
        "view", "create", "str_replace", "insert", "delete", "rename",
    ]  # fmt: skip
    assert set(WRITES) == {"create", "str_replace", "insert", "delete", "rename"}
    with pytest.raises(FrozenInstanceError):
        Delete("/a").path = "/b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("frobnicate", "frobnicate"), ("VIEW", "VIEW"), ("view ", "view "), ("", ""), (None, "None"), (5, "5"),
        (True, "True"), (["view"], "['view']"), ({"view": 1}, "{'view': 1}"), ("a\nb\u202e", "a\\nb\\u202e"),
        ("\ud800", "\\ud800"), ("x" * 201, "x" * 200 + "..."),
    ],
)  # fmt: skip
def test_an_unknown_command_is_answered_with_the_allowed_ones(command: object, shown: str) -> None:
    error = refusal(command=command, path="/etc")
    assert error.message == f"Error: Unrecognized command {shown}. {ALLOWED}"
    assert (error.command, error.path, error.new_path) == (None, None, None)


def test_an_empty_input_has_no_command() -> None:
    assert refusal().message == f"Error: Unrecognized command None. {ALLOWED}"


@pytest.mark.parametrize(
    ("input", "name"),
    [
        ({"command": "view"}, "path"),
        ({"command": "view", "path": None}, "path"),
        ({"command": "create", "path": "/memories/a"}, "file_text"),
        ({"command": "create", "path": "/memories/a", "file_text": None}, "file_text"),
        ({"command": "str_replace", "path": "/memories/a", "new_str": "x"}, "old_str"),
        ({"command": "insert", "path": "/memories/a"}, "insert_text"),
        ({"command": "insert", "path": "/memories/a", "insert_text": "x"}, "insert_line"),
        ({"command": "insert", "path": "/memories/a", "new_str": "x", "insert_line": None}, "insert_line"),
        ({"command": "delete", "old_path": "/memories/a"}, "path"),
        ({"command": "rename"}, "old_path"),
        ({"command": "rename", "path": None, "new_path": "/memories/b"}, "old_path"),
        ({"command": "rename", "old_path": "/memories/a"}, "new_path"),
        ({"command": "rename", "path": "/memories/a", "new_path": None}, "new_path"),
    ],
)
def test_a_missing_or_null_parameter_is_required(input: dict[str, Any], name: str) -> None:
    assert refusal(**input).message == f"Error: Parameter `{name}` is required for command: {input['command']}"


TEXTS = [
    ({"command": "create", "path": "/memories/a"}, "file_text"),
    ({"command": "str_replace", "path": "/memories/a", "new_str": "x"}, "old_str"),
    ({"command": "str_replace", "path": "/memories/a", "old_str": "x"}, "new_str"),
    ({"command": "insert", "path": "/memories/a", "insert_line": 0}, "insert_text"),
    ({"command": "insert", "path": "/memories/a", "insert_line": 0}, "new_str"),
]


@pytest.mark.parametrize(("input", "name"), TEXTS)
@pytest.mark.parametrize("value", [0, 5, 1.5, True, False, [], ["x"], {}])
def test_a_text_has_to_be_a_string(input: dict[str, Any], name: str, value: object) -> None:
    assert refusal(**input, **{name: value}).message == f"Error: Parameter `{name}` must be a string"


@pytest.mark.parametrize(("input", "name"), TEXTS)
@pytest.mark.parametrize("value", ["\0", "a\0b", "\0\ud800", "é\0"])
def test_a_text_holds_no_nul(input: dict[str, Any], name: str, value: str) -> None:
    message = refusal(**input, **{name: value}).message
    assert message == f"Error: `{name}` contains a NUL character, which cannot be stored"


@pytest.mark.parametrize(("input", "name"), TEXTS)
@pytest.mark.parametrize("value", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_a_text_holds_no_unpaired_surrogate(input: dict[str, Any], name: str, value: str) -> None:
    message = refusal(**input, **{name: value}).message
    assert message == f"Error: `{name}` is not valid Unicode text (unpaired surrogate)"


def test_old_str_must_not_be_empty() -> None:
    error = refusal(command="str_replace", path="/memories/a", old_str="", new_str="x")
    assert error.message == "Error: Parameter `old_str` must not be empty for command: str_replace"


@pytest.mark.parametrize(
    ("input", "start"),
    [
        ({"command": "x", "path": "/etc"}, "Unrecognized command"),
        ({"command": "create", "path": "/etc", "file_text": 5}, "Path must start"),
        (
            {"command": "rename", "old_path": "/etc/a", "new_path": "/etc/b"},
            "Path must start with /memories, got: /etc/a",
        ),
        ({"command": "rename", "old_path": "/etc/a"}, "Path must start with /memories, got: /etc/a"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": 5, "new_str": 6}, "Parameter `old_str` must"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "", "new_str": 6}, "Parameter `new_str` must"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "", "new_str": "\0"}, "`new_str` contains"),
        ({"command": "insert", "path": "/memories/a", "insert_text": 5}, "Parameter `insert_text` must be"),
    ],
)
def test_the_first_parameter_that_is_wrong_answers(input: dict[str, Any], start: str) -> None:
    assert refusal(**input).message.startswith(f"Error: {start}")


@pytest.mark.parametrize(
    ("input", "accepted"),
    [
        ({"command": "view", "path": "/etc"}, ("view", None, None)),
        ({"command": "create", "path": "/memories//a", "file_text": 5}, ("create", "/a", None)),
        ({"command": "rename", "old_path": "/memories/a", "new_path": "/etc"}, ("rename", "/a", None)),
        ({"command": "rename", "path": "/memories/a"}, ("rename", "/a", None)),
        ({"command": "rename", "old_path": "/etc", "new_path": "/memories/b"}, ("rename", None, None)),
    ],
)
def test_a_refusal_carries_what_was_accepted_before_it(
    input: dict[str, Any], accepted: tuple[str, str | None, str | None]
) -> None:
    error = refusal(**input)
    assert (error.command, error.path, error.new_path) == accepted

"""An input is stored without a text that a version has, and is put together again to the byte."""

import json
import random

import pytest

from memoryhub.pure.text import kept_once

_PIECES = (
    "line\n", "“”", "\U0001f600", '"', "\\", "\\u0041", "@12:", "file_text", '"file_text":"', "\u2028", "\t", "</a>",
)  # fmt: skip


def to_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def read(stored: str, text: str | None) -> str:
    """What a query selects for it."""
    return stored if not stored.startswith("@") or text is None else f"{stored}\n{text}"


@pytest.mark.parametrize("seed", range(60))
def test_a_text_is_left_out_and_put_back(seed: int) -> None:
    choose = random.Random(seed)
    text = "".join(choose.choice(_PIECES) for _ in range(choose.randint(70, 200)))
    names = ["command", "path", "file_text", "more"]
    choose.shuffle(names)
    values = {"command": "create", "path": '/memories/"file_text":', "file_text": text, "more": {"a": [text[:9]]}}
    input = to_json({name: values[name] for name in names})
    stored = kept_once.lean(input, text)
    assert len(stored) < len(input) - len(text) + 8 and text not in stored
    assert kept_once.whole(read(stored, text)) == input
    assert kept_once.whole(read(stored, text + " ")) != input


@pytest.mark.parametrize(
    "input",
    [
        {"command": "create", "file_text": "short"},
        {"command": "create", "file_text": "another text " * 9},
        {"command": "insert", "insert_text": "the text " * 9},
        {"command": "create", "nested": {"file_text": 1}, "file_text": "the text " * 9},
        {"command": "create", "file_text": "a NUL \0" + "the text " * 9},
        {"command": "create"},
        [{"file_text": "cut"}, {"kept_in_part": True, "bytes": 9}],
    ],
)
def test_any_other_input_stays_whole(input: object) -> None:
    text = input["file_text"] if isinstance(input, dict) and "\0" in str(input) else "the text " * 9
    assert kept_once.lean(to_json(input), text) == to_json(input)
    assert kept_once.whole(to_json(input)) == to_json(input)
    assert kept_once.lean(to_json({"file_text": "short"}), "short") == to_json({"file_text": "short"})


def test_what_no_hub_has_written_is_returned_as_it_is() -> None:
    for wrong in ("@", "@:", "@x:{}\na", "@-1:{}\na", "@01:{}\na", "@5{}\na", "@ 5:{}\na", "@5:{}", "@٣:{}\na"):
        assert kept_once.whole(wrong) == wrong

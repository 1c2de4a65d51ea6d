"""What is stored of a long call ends where a line, a sentence or a word ends, so that no half of a name is left."""

import json

import pytest

from memoryhub.pure.text import keeping

NAME = "Finkenstein"


@pytest.mark.parametrize("before", ["a line\n", "A sentence. ", "word ", "ü ", "字。", "/", "a@"])
def test_a_string_is_not_cut_within_a_name(before: str) -> None:
    text = before * 900 + NAME + " and so on" * 900
    at = len(json.dumps(before * 900)) - 2
    for room in range(at - 3, at + len(NAME) + 6):
        kept = keeping.cut(text, room)
        assert text.startswith(kept) and room - 600 * 6 < len(json.dumps(kept)) <= room + 2
        assert NAME in kept or NAME[:2] not in kept


def test_a_string_of_one_word_is_cut_and_a_short_one_is_whole() -> None:
    assert keeping.cut("x" * 9_000, 100) == "x" * 98
    assert keeping.cut("a name", 8) == "a name"


def test_no_digest_of_an_input_is_stored() -> None:
    text = json.dumps({"command": "create", "path": "/a.md", "file_text": "many words " * 1_000})
    kept = json.loads(keeping.in_part(text))
    assert kept[1] == {"kept_in_part": True, "bytes": len(text)} and keeping.parts(kept) == (kept[0], len(text))

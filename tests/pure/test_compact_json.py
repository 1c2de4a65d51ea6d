"""Compact JSON: byte for byte what the standard library's encoder writes."""

import json
from random import Random
from typing import Any

import pytest

from memoryhub.models import Access
from memoryhub.pure import compact_json

plain = compact_json.writer()
in_order = compact_json.writer(sort_keys=True)

CHARACTERS = (*'az09 "\\/', "\0", "\n", "\x1f", "\x7f", "é", "\u2028", "\ud800", "\udfff", "😀")
NUMBERS = (0, -1, 2**70, 0.1, -0.0, 1e300, float("inf"), float("nan"))


def made_up(chance: Random, depth: int = 0) -> Any:
    """Return a random value."""
    kind = chance.randrange(9 if depth < 4 else 5)
    if kind < 3:
        return "".join(chance.choices(CHARACTERS, k=chance.randrange(8)))
    if kind < 5:
        return chance.choice((None, True, False, *NUMBERS))
    parts = [made_up(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind < 7:
        return chance.choice((list, tuple))(parts)
    return {made_up(chance, 9) if kind == 7 else str(number): part for number, part in enumerate(parts)}


def test_it_is_what_the_standard_library_writes() -> None:
    chance = Random(3)
    for _ in range(2_000):
        value = made_up(chance)
        assert plain(value) == json.dumps(value, separators=(",", ":"))
        try:
            expected = json.dumps(value, separators=(",", ":"), sort_keys=True)
        except TypeError:  # names of several types have no order
            with pytest.raises(TypeError):
                in_order(value)
        else:
            assert in_order(value) == expected


def test_enums_are_written_as_their_values_and_other_objects_are_refused() -> None:
    assert plain([Access.READ, {"b": 1, "a": "é"}]) == '["read",{"b":1,"a":"\\u00e9"}]'
    with pytest.raises(TypeError, match="object is not JSON serializable"):
        plain([object()])

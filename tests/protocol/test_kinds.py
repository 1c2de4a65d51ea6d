"""Kinds of errors: every sentence with which the tool refuses has one, whatever path or text it names."""

import inspect
import json
from collections.abc import Callable

import pytest

from memoryhub.pure.protocol import kinds, results
from memoryhub.pure.protocol.kinds import Kind, kind_of

NO_ERRORS = {
    "echo", "created", "edited", "edited_with_snippet", "deleted", "renamed", "content_header", "cut_lines",
    "listing_header", "more_items", "redacted", "masked", "note", "waiting",
}  # fmt: skip
FOR_PEOPLE = {"choice_missing", "cannot_redact_newest", "cannot_erase"}
"""A person is told so at once; no entry holds them."""

EXPECTED = {
    Kind.NOT_FOUND: {"path_not_found", "view_not_found", "does_not_exist", "nothing_to_restore"},
    Kind.EXISTS: {"already_exists", "destination_exists"},
    Kind.NO_MATCH: {"not_verbatim"},
    Kind.SEVERAL: {"many_occurrences"},
    Kind.PATH: {
        "path_outside", "path_relative", "path_escapes", "path_not_allowed", "cannot_create", "cannot_rename",
        "inside_itself", "cannot_delete_root", "cannot_rename_root", "lives_elsewhere",
    },
    Kind.MALFORMED: {
        "unrecognized_command", "missing_parameter", "empty_old_str", "not_a_string", "has_nul", "not_unicode",
        "invalid_insert_line", "invalid_range", "range_starts_past_end", "range_ends_before_start",
    },
    Kind.LIMIT: {
        "too_many_lines", "memory_too_large", "too_many_memories", "store_too_large", "too_many_versions",
        "too_many_pairs", "too_many_for_rules", "too_many_to_see", "too_many_proposals", "too_many_proposals_of_agent",
        "too_much_proposed",
    },
    Kind.SENSITIVE: {"blocked", "path_blocked", "too_much_like"},
    Kind.READ_ONLY: {"key_may_not_write"},
    Kind.ARCHIVED: {"store_archived"},
    Kind.RULE: {"refused_by_rule", "proposed_too_often"},
    Kind.PROPOSED: {"proposed"},
    Kind.HELD: {"held", "held_in", "frozen"},
    Kind.PRECONDITION: {"precondition_failed"},
}  # fmt: skip
HOSTILE = ("/a", "/ does not exist", "/x already exists", "", "/記", "No replacement was performed, old_str `")


def sentences() -> dict[str, Callable[..., str]]:
    """Every public function that makes a sentence."""
    found = inspect.getmembers(results, inspect.isfunction)
    return {name: make for name, make in found if not name.startswith("_") and make.__module__ == results.__name__}


def example(make: Callable[..., str], text: str) -> str:
    """A sentence with this text in every place where one stands."""
    values: dict[str, object] = {"int": 1, "bool": True, "Sequence[int]": [1, 2]}
    named = inspect.signature(make).parameters.values()
    return make(
        *(values.get(inspect.formatannotation(parameter.annotation).split(".")[-1], text) for parameter in named)
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_every_sentence_that_refuses_has_a_kind(text: str) -> None:
    errors = sentences().keys() - NO_ERRORS - FOR_PEOPLE
    told = {name: kind_of(example(sentences()[name], text)) for name in errors}
    assert told == {name: kind for kind, names in EXPECTED.items() for name in names}


def test_the_beginning_of_a_sentence_as_it_is_stored_is_enough() -> None:
    for name in sentences().keys() - NO_ERRORS - FOR_PEOPLE:
        sentence = example(sentences()[name], "/記" * 50)
        assert kind_of(json.dumps(sentence)[1 : kinds.LONGEST]) == kind_of(sentence), name


def test_what_is_no_sentence_of_the_tool_is_something_else() -> None:
    assert [kind_of(message) for message in (None, "", "Error", "error: the path")] == [Kind.OTHER] * 4

"""What keys do with memory stores, in words."""

import json
from typing import Any

import pytest

from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.models import AuditEntry, Door
from memoryhub.web.audit.sentences import words_of


def words(command: str, told: dict[str, Any], *, ok: bool = True) -> str:
    entry = AuditEntry(command=command, ok=ok, door=Door.API, actor_kind="key", input=json.dumps(told))
    return words_of(entry, told, {})


@pytest.mark.parametrize(
    ("command", "told", "ok", "expected"),
    [
        ("create_store", {"name": "N", "metadata": {"a": "1"}}, True, "created the store “N”"),
        ("archive_store", {}, True, "archived the store"),
        ("delete_store", {"name": "N"}, True, "deleted the store “N”"),
        ("delete_store", {}, False, "could not delete the store"),
        ("edit_store", {"name": "x"}, False, "could not change the store’s settings"),
    ],
)
def test_acts_on_stores_have_words(command: str, told: dict[str, Any], ok: bool, expected: str) -> None:
    assert words(command, told, ok=ok) == expected


def test_each_pair_of_metadata_is_told_on_its_own() -> None:
    told = {"metadata": [{"a": "1", "b": "2"}, {"b": "3", "c": ""}], "description": ["", "d"]}
    said = words("edit_store", told)
    assert "metadata “a”: 1 → –" in said and "metadata “b”: 2 → 3" in said and "{" not in said


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"refused", "refused_more"}))
def test_the_words_of_an_entry_that_is_an_error_never_say_that_it_was_done(command: str) -> None:
    done, refused = words(command, {}), words(command, {}, ok=False)
    assert refused != done
    assert refused.startswith(("tried to ", "could not ", "failed to ", "tried this, but the hub refused it: "))


def test_a_refused_replacement_is_told_as_tried() -> None:
    entry = AuditEntry(command="str_replace", ok=False, door=Door.TOOL, actor_kind="key", path="/a.md", input="{}")
    assert words_of(entry, {}, {}) == "tried to replace text in /a.md"

"""No door around the rules: whatever text becomes a memory's has been screened."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryhub.actions.core import tree
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.findings import Screened
from tests.actions.core.trees import ACT
from tests.actions.findings.test_findings import BACK, edit, prepared

ROOT = Path(tree.__file__).parents[2]
WAYS_IN = {"add_text", "add_memory", "write_text", "restore_text", "restore_memory", "put", "move_with_text"}
"""The functions of the tree that give a memory a text."""

SCREENED = {
    "actions/memories/commands.py": {"create", "write"},
    "actions/memories/api/__init__.py": {"_create", "_write"},
    "actions/transfer/importing/writes.py": {"_new"},
    "actions/findings/findings.py": {"add_screened"},
    "actions/memories/curation.py": {"_restore_live", "_restore_deleted"},
    "actions/history/apply_plan.py": {"_rewrite", "_place", "_create"},
    "actions/memories/selection/restore.py": {"put_back"},
}
"""Who calls them, and screens first: the tests of the doors try each."""

BRINGS_NOTHING = {"actions/erasure/masking.py", "actions/stores/copies.py", "background/claude_runs/evaluating.py"}
"""Write texts from which something was taken, copy those that the memories have, or plant those of the suite in a copy
that is thrown away, and nothing else."""


def callers() -> Iterator[tuple[str, str, str]]:
    """(module, function, the tree's function that it calls) outside the tree itself."""
    for path in sorted(ROOT.rglob("*.py")):
        module = str(path.relative_to(ROOT))
        if module.startswith(("migrations", "web", "templatetags")) or module == "actions/core/tree.py":
            continue
        text = path.read_text()
        if "tree." not in text:
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and _name(node) in WAYS_IN:
                        yield module, function.name, _name(node)


def _name(node: ast.Call) -> str:
    """`tree.add_text` of a call of it; other objects have a `put` too."""
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "tree":
        return function.attr
    return ""


def test_only_functions_that_screen_give_a_memory_a_text() -> None:
    found: dict[str, set[str]] = {}
    for module, function, _ in callers():
        found.setdefault(module, set()).add(function)
    assert {module: names for module, names in found.items() if module not in BRINGS_NOTHING} == SCREENED


def test_only_the_tree_and_an_import_with_its_history_write_the_rows_of_texts() -> None:
    """An import writes many at once; its own tests show that each is screened."""
    writing = [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.rglob("*.py"))
        if re.search(r"ADD_TEXT|MemoryText\.objects\.(bulk_)?create", path.read_text())
    ]
    assert writing == ["actions/core/sql/__init__.py", "actions/core/tree.py", "actions/transfer/importing/writes.py"]


@pytest.mark.django_db
def test_every_text_that_a_door_stores_is_one_that_was_screened(monkeypatch: pytest.MonkeyPatch) -> None:
    screened: set[str] = set()
    unscreened: list[str] = []
    screen, add_text = findings.screen, tree.add_text

    def noting(store: Tree, path: str, old: str | None, new: str, **more: Any) -> Screened:
        result = screen(store, path, old, new, **more)
        screened.add(result.text)
        return result

    def checking(store: Tree, memory: str, content: str, path: str | None = None) -> str:
        unscreened.extend(() if content in screened else (content,))
        return add_text(store, memory, content, path)

    monkeypatch.setattr(findings, "screen", noting)
    monkeypatch.setattr(tree, "add_text", checking)
    for door in BACK:
        hub, memory = prepared(card="mask")
        hub.call(command="insert", path="/memories/a.md", insert_line=0, insert_text="zero")
        edit(hub, memory, ACT, "one\ntwo\nthree\nfour\n")
        door(hub, memory)
    assert len(screened) > len(BACK)
    assert unscreened == []

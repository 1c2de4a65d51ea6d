"""The registry of audited commands: it has every command that the code writes, and none that nothing writes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryhub.actions.core import audit
from memoryhub.actions.core.audit import Act, Actor, Record, commands
from memoryhub.actions.core.audit.command import Scope
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.actions.core.transactions import writing
from memoryhub.models import AuditEntry, Door, MemoryStore
from memoryhub.pure.webhook_rules.events import EVENTS
from memoryhub.web.audit.sentences import FUNCTIONS, words_of
from tests.support.fixtures import AT
from tests.support.write_guard import UnknownCommand

PACKAGE = Path(__file__).resolve().parent.parent.parent / "memoryhub"
WRITERS = [
    *(PACKAGE / "actions").rglob("*.py"),
    PACKAGE / "pure/protocol/commands.py",
    *PACKAGE.glob("migrations/*.py"),
]
SOURCES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in WRITERS if path.name != "commands.py"
           or path.parent.name != "core"}  # fmt: skip


def takers(tree: ast.AST) -> dict[str, int]:
    """The functions that are given a command, each with its place among the arguments."""
    found = {"Record": 0}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if "command" in names:
                found[node.name] = names.index("command")
    return found


def given(tree: ast.AST) -> Iterator[str]:
    """The commands that stand where a function is given one."""
    known = takers(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func).rpartition(".")[2]) in known:
            place = known[name]
            values = [word.value for word in node.keywords if word.arg == "command"] + node.args[place : place + 1]
            for value in values:
                chosen = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
                yield from (one.value for one in chosen if isinstance(one, ast.Constant) and isinstance(one.value, str))


def test_every_command_that_stands_in_the_code_is_in_the_registry() -> None:
    written = {command for tree in SOURCES.values() for command in given(tree)}
    assert len(written) > 40
    assert written <= COMMANDS.keys()


def test_no_command_of_the_registry_is_dead() -> None:
    texts = {
        node.value
        for tree in SOURCES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert COMMANDS.keys() <= texts


@pytest.mark.django_db
def test_an_entry_with_another_command_fails_the_test_that_writes_it(store: MemoryStore) -> None:
    act = Act(Actor.system("tests"), Door.COMMAND, AT)
    with pytest.raises(UnknownCommand, match="not in"), writing():
        audit.on_hub(act, Record("no_such_command"))
    with pytest.raises(UnknownCommand, match="not of its scope"), writing():
        audit.on_hub(act, Record("approve"))


def test_each_command_has_words_or_a_function_for_them() -> None:
    for command in COMMANDS.values():
        assert bool(command.words or command.several) or command.name in FUNCTIONS, command.name
        assert bool(command.several) == bool(command.counts), command.name
    assert FUNCTIONS.keys() <= COMMANDS.keys()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_an_entry_that_tells_nothing_has_whole_sentences(command: str) -> None:
    entry = AuditEntry(command=command, ok=True, door=Door.WEB, actor_kind="user", path="/a.md", new_path="/b.md")
    said = words_of(entry, {}, {})
    assert said != command and not re.search(r"%\(|None|\{", said)


def test_what_webhooks_are_sent_is_an_event() -> None:
    assert set(commands.EVENTS.values()) <= set(EVENTS)


def test_each_command_is_offered_where_it_can_stand() -> None:
    of_store, of_both = commands.of(Scope.STORE), commands.of(Scope.BOTH)
    assert "sign_in" not in of_store and {"sign_in", "approve", "edit_rules"} <= set(of_both)
    assert len(of_both) == len(set(of_both)) == len(COMMANDS)

"""The house: imports point down, doors do not know each other, and SQL is run in one place."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support import layers
from tests.support.layers import Module

PACKAGE = Path(__file__).resolve().parent.parent.parent / "memoryhub"
MODULES = layers.read(PACKAGE)

SQL = {"memoryhub.actions.core.sql", "memoryhub.actions.core.sql.statements"}
SQL_BESIDE = {
    "memoryhub.database.connections": "PRAGMAs of a connection, and the checkpoints of the write-ahead log",
    "memoryhub.database.copies": "copies of SQLite's file for backups, their check, and the name of a snapshot",
    "memoryhub.database.facts": "what a server says of itself, for diagnoses",
    "memoryhub.management.commands.migrate": "statements of a migration that Django runs last",
    "memoryhub.database.planner": "what SQLite's planner is told of the tables",
    "memoryhub.database.pooled": "what a connection of PostgreSQL's pool does with a statement that it is given",
}
SQL_CALLS = frozenset({"execute", "executemany", "executescript", "copy", "raw", "extra", "RawSQL"})
NAMES_SQL = re.compile(rf"\b(?:{'|'.join(SQL_CALLS)})\b")


def is_sql(method: str, owner: str) -> bool:
    """Whether a method with this name, called on this expression, runs SQL; `tool.execute` runs a tool call,
    `super().execute` a command."""
    return method in SQL_CALLS and owner not in ("tool", "super()") and (method != "copy" or "cursor" in owner)


def sql_calls(module: Module) -> Iterator[int]:
    """The lines on which a module hands SQL to the database."""
    if not NAMES_SQL.search(module.source):
        return
    for node in ast.walk(ast.parse(module.source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "RawSQL":
            yield node.lineno
        if isinstance(called, ast.Attribute) and is_sql(called.attr, ast.unparse(called.value)):
            yield node.lineno


def cycle(modules: dict[str, Module]) -> list[str]:
    """The names of modules that import each other in a ring; empty where none do."""
    graph = {
        module.name: {
            found.module for found in module.imports() if found.module in modules and not found.for_types
        } - {module.name}
        for module in modules.values()
    }  # fmt: skip
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_imports_of_a_module_point_down_and_stand_at_the_top() -> None:
    assert [problem for name in sorted(MODULES) for problem in layers.problems(MODULES[name])] == []


def test_no_modules_import_each_other_in_a_ring() -> None:
    assert cycle(MODULES) == []


@pytest.mark.parametrize("layer", layers.ROOMS)
def test_every_module_of_a_layer_is_in_a_room_of_the_list(layer: str) -> None:
    """Beside the rooms stands only the list of the addresses."""
    here = {name for name in MODULES if name.startswith(f"memoryhub.{layer}.")}
    outside = {name for name in here if layers.room_of(name) is None}
    assert outside <= {"memoryhub.web.urls"}
    assert {layers.room_of(name) for name in here - outside} == {(layer, room) for room in layers.ROOMS[layer]}


@pytest.mark.parametrize("layer", layers.ROOMS)
def test_the_rooms_of_a_layer_import_each_other_in_one_direction_and_as_the_list_says(layer: str) -> None:
    rooms = {room: set(others.split()) for room, others in layers.ROOMS[layer].items()}
    TopologicalSorter(rooms).prepare()
    base, imported = next(iter(rooms)), {room: set[str]() for room in rooms}
    for module in MODULES.values():
        own = layers.room_of(module.name)
        for found in module.imports():
            other = layers.room_of(found.module)
            if own and other and own[0] == other[0] == layer and other[1] not in (own[1], base):
                imported[own[1]].add(other[1])
    assert imported == rooms, "a room that is not imported is not in the list"


def test_no_room_imports_what_another_keeps_to_itself() -> None:
    assert [name for module in MODULES.values() for name in layers.private_imports(module)] == []


def test_sql_is_run_in_two_modules_of_the_actions() -> None:
    found = {name for name, module in MODULES.items() if any(sql_calls(module))}
    assert found - SQL_BESIDE.keys() == SQL


def test_the_exceptions_are_still_needed() -> None:
    late = {name for name in layers.LATE_IMPORTS if any(not found.at_top for found in MODULES[name].imports())}
    assert late == layers.LATE_IMPORTS.keys()
    assert all(any(sql_calls(MODULES[name])) for name in SQL_BESIDE)


# ---------------------------------------------------------------------------------- the checker finds what is wrong

WRONG = {
    "a room that the list does not allow": ("memoryhub.web.agents.agents", "from memoryhub.web.review import inbox"),
    "a room below that knows one above": (
        "memoryhub.actions.core.tree",
        "from memoryhub.actions.review import decisions",
    ),
    "pure code that knows Django": ("memoryhub.pure.protocol.text", "from django.db import models"),
    "pure code that knows a library": ("memoryhub.pure.text.diffs", "import nh3"),
    "pure code that knows the models": ("memoryhub.pure.chain", "from memoryhub.models import Memory"),
    "models that know the actions": ("memoryhub.models.stores", "from memoryhub.actions import stores"),
    "models that know the actions, for types": (
        "memoryhub.models.stores",
        "if TYPE_CHECKING:\n    from memoryhub.actions.stores.stores import StoreSettings",
    ),
    "actions that know the tool": ("memoryhub.actions.memories.commands", "from memoryhub import tool"),
    "the tool that knows a door": ("memoryhub.tool", "import memoryhub.api.door"),
    "a door that knows another": ("memoryhub.web.stores.stores", "from memoryhub.api.door import answer"),
    "a door that knows the background work": ("memoryhub.api.urls", "from memoryhub.background import tasks"),
    "a door that knows the shell": ("memoryhub.web.common.guards.access", "from memoryhub import middleware"),
    "an import in a function": ("memoryhub.actions.core.audit", "def f() -> None:\n    import json"),
    "an import in a method": (
        "memoryhub.web.common.guards.access",
        "class A:\n    def f(self):\n        from json import loads",
    ),
    "an import in a try": (
        "memoryhub.web.common.guards.access",
        "try:\n    import json\nexcept ImportError:\n    pass",
    ),
    "a relative import": ("memoryhub.web.common.guards.access", "from . import errors"),
    "a relative import from above": ("memoryhub.web.common.guards.access", "from ..models import Memory"),
    "a client that knows Django": ("memoryhub.client.sync", "from django.conf import settings"),
    "a client that knows the actions": ("memoryhub.client.sync", "from memoryhub.actions import calls"),
    "a server that knows the client": ("memoryhub.tool", "from memoryhub.client import sync"),
    "a module in no layer": ("memoryhub.utils", ""),
}

RIGHT = {
    "the standard library": ("memoryhub.pure.protocol.text", "import re\nfrom collections.abc import Iterable"),
    "a neighbour": ("memoryhub.actions.memories.commands", "from memoryhub.actions import audit"),
    "everything beneath": (
        "memoryhub.web.stores.stores",
        "from memoryhub.pure import chain\nfrom memoryhub.models import Memory\nfrom memoryhub.actions import stores",
    ),
    "types of a neighbour": (
        "memoryhub.models.stores",
        "if TYPE_CHECKING:\n    from memoryhub.models.access import User",
    ),
    "what is dear to import": ("memoryhub.web.stores.stores", "def f() -> None:\n    import anthropic"),
    "tags of the people's door": ("memoryhub.templatetags.look", "from memoryhub.web import markdown"),
    "a client with pure code": ("memoryhub.client.sync", "import anthropic\nfrom memoryhub.pure.protocol import paths"),
    "an operator": ("memoryhub.management.commands.serve", "from memoryhub.background import tasks"),
}


@pytest.mark.parametrize(("name", "source"), WRONG.values(), ids=WRONG)
def test_the_checker_finds(name: str, source: str) -> None:
    module = layers.made_up({name: source, "memoryhub.models": "", "memoryhub.actions": ""})[name]
    assert len(list(layers.problems(module))) == 1


@pytest.mark.parametrize(("name", "source"), RIGHT.values(), ids=RIGHT)
def test_the_checker_allows(name: str, source: str) -> None:
    module = layers.made_up({name: source})[name]
    assert list(layers.problems(module)) == []


def test_the_checker_finds_a_ring() -> None:
    ring = {"memoryhub.a": "from memoryhub import b", "memoryhub.b": "from memoryhub.a import x", "memoryhub.c": ""}
    assert set(cycle(layers.made_up(ring))) == {"memoryhub.a", "memoryhub.b"}
    for_types = "if TYPE_CHECKING:\n    from memoryhub.a import x"
    assert cycle(layers.made_up(ring | {"memoryhub.b": for_types})) == []


@pytest.mark.parametrize(
    "source",
    [
        "with connection.cursor() as cursor:\n    cursor.execute('select 1')",
        "cursor.executemany('insert', rows)",
        "connection.connection.execute('select 1')",
        "Memory.objects.raw('select 1')",
        "Memory.objects.extra(where=['1'])",
        "Memory.objects.annotate(x=RawSQL('1', ()))",
        "cursor.copy('copy x to stdout')",
    ],
)
def test_the_checker_finds_sql(source: str) -> None:
    assert list(sql_calls(Module("memoryhub.web.stores.stores", source, frozenset())))


@pytest.mark.parametrize("source", ["tool.execute(store, use)", "values = settings.copy()", "'cursor.execute(x)'"])
def test_the_checker_allows_what_only_looks_like_sql(source: str) -> None:
    assert not list(sql_calls(Module("memoryhub.web.stores.stores", source, frozenset())))

"""Every endpoint of the memory_stores API against its specification, case by case."""

from collections import Counter
from types import ModuleType

import pytest
from pytest_django import DjangoDbBlocker

from tests.doors import (
    cases_lists,
    cases_memories,
    cases_paths,
    cases_requests,
    cases_sessions,
    cases_stores,
    cases_versions,
)
from tests.doors.table import Case, run
from tests.doors.world import make

TABLES = (cases_stores, cases_memories, cases_paths, cases_lists, cases_versions, cases_requests, cases_sessions)
CASES: list[Case] = [each for table in TABLES for each in table.CASES]
ENDPOINTS = {
    "POST stores": 20, "GET stores": 20, "GET store": 8, "POST store": 20, "DELETE store": 8, "POST store archive": 8,
    "POST memories": 30, "GET memories": 30, "GET memory": 12, "POST memory": 30, "DELETE memory": 12,
    "GET versions": 20, "GET version": 10, "POST version redact": 10,
    "GET sessions": 18, "GET session": 5,
}  # fmt: skip
"""How many steps of the table ask each endpoint, at least."""


@pytest.fixture(scope="module")
def world(rows_of_module: None, django_db_blocker: DjangoDbBlocker) -> dict[str, str]:
    """The names of what the cases ask for; whatever a case does is undone."""
    with django_db_blocker.unblock():
        return make()


@pytest.mark.push
@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition("_")[2])
@pytest.mark.django_db
def test_the_api_answers_as_it_is_specified(table: ModuleType, world: dict[str, str]) -> None:
    wrong = [mistake for each in table.CASES for mistake in run(each, world)]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(table.CASES)} cases:", *wrong])


def test_the_table_has_enough_cases_and_no_two_of_one_name() -> None:
    names = Counter(each.name for each in CASES)
    assert len(CASES) >= 250
    assert not [name for name, times in names.items() if times > 1]


def test_each_endpoint_has_its_cases() -> None:
    asked = Counter(endpoint(step.method, step.path) for each in CASES for step in each.steps)
    assert {name: asked[name] for name, least in ENDPOINTS.items() if asked[name] < least} == {}


def endpoint(method: str, path: str) -> str:
    """Which of ENDPOINTS a step asks, by the form of its address."""
    parts = path.partition("?")[0].removeprefix("/v1/").split("/")
    if parts[0] == "sessions":
        return f"{method} session{'s' if len(parts) == 1 else ''}"
    kinds = {"memories": "memory", "memory_versions": "version"}
    if len(parts) == 1:
        return f"{method} stores"
    if len(parts) == 2 or parts[2] == "archive":
        return f"{method} store" + (" archive" if len(parts) == 3 else "")
    if len(parts) == 3:
        return f"{method} {parts[2].removeprefix('memory_')}"
    return " ".join([method, kinds.get(parts[2], parts[2]), *parts[4:]])

"""What PostgreSQL leaves out: the modules are there, and no kind of statement is lost unnoticed."""

from collections.abc import Iterator

import pytest

from memoryhub.actions.stores import stores
from memoryhub.models import MemoryStore
from tests.support import both, store_guard
from tests.support.fixtures import BY


@pytest.fixture
def sent() -> Iterator[both.Sent]:
    """What is sent from the start of the test."""
    sent = both.Sent()
    stop = store_guard.install(sent.hear)
    yield sent
    stop()


def test_each_module_that_is_named_exists() -> None:
    rooms = {room.name for room in both.TESTS.iterdir() if room.is_dir()}
    assert {module for module in both.WHOLE - rooms if not (both.TESTS / f"{module}.py").exists()} == set()
    modules = {module.stem for module in both.TESTS.rglob("test_*.py")}
    assert modules >= both.LOOKS | both.TRANSPORT | both.FILES


def test_statements_that_only_a_replaced_test_has_sent_are_missing(sent: both.Sent, store: MemoryStore) -> None:
    sent.begin("the first", "replaced")
    stores.set_archived(store, True, **BY)
    assert set(sent.missing().values()) == {"the first"}
    sent.begin("the second", "elsewhere")
    stores.set_archived(store, False, **BY)
    assert set(sent.missing().values()) == {"the first"}
    sent.begin("the third", "on both")
    stores.set_archived(store, True, **BY)
    assert sent.missing() == {}


def test_what_another_process_has_sent_counts(sent: both.Sent, store: MemoryStore) -> None:
    sent.begin("the first", "replaced")
    stores.set_archived(store, True, **BY)
    assert sent.missing()
    sent.add(sent.missing(), {"select 1": "the second"})
    assert sent.missing() == {"select 1": "the second"}


def test_a_statement_of_the_test_itself_is_not_the_hubs(sent: both.Sent, db: None) -> None:
    sent.begin("the first", "replaced")
    assert not MemoryStore.objects.exists()
    assert sent.missing() == {}


@pytest.mark.parametrize(
    ("statement", "part", "first"),
    [
        ("SELECT a FROM m WHERE id IN (%s)", ", %s", "%s"),
        ('SELECT a FROM m WHERE ("m"."a" = %s)', ' OR "m"."a" = %s', '"m"."a" = %s'),
        ("UPDATE m SET a = CASE WHEN (id = %s) THEN %s ELSE a END", " WHEN (id = %s) THEN %s", "THEN %s"),
    ],
)
def test_statements_that_differ_in_the_number_of_values_are_of_one_kind(statement: str, part: str, first: str) -> None:
    """The part is repeated after its first occurrence."""
    longer = statement.replace(first, first + 3 * part)
    assert both.kind_of(statement) == both.kind_of(longer) is not None


def test_statements_with_other_conditions_are_of_other_kinds() -> None:
    assert both.kind_of('SELECT a FROM m WHERE ("a" = %s OR "b" = %s)') != both.kind_of("SELECT a FROM m")
    assert both.kind_of("SAVEPOINT a") is None


def test_only_a_module_of_which_nothing_runs_on_postgresql_is_not_loaded_there() -> None:
    unasked = {path.stem for path in both.TESTS.rglob("test_*.py") if both.is_unasked(path)}
    assert {"test_markdown", "test_look", "test_slow_clients"} <= unasked
    assert not unasked & {"test_store_guard", "test_gaps", "test_dashboards", "test_concurrency", "test_faults"}

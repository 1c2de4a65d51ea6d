"""What every test shares: the run's directory and database, the write guard, the people and the browser."""

import gc
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.core.management.commands import flush
from django.db import connection, connections
from django.urls import get_resolver

from tests.api import server
from tests.support import both, cluster, store_guard, write_guard
from tests.support.both import sent
from tests.support.directory import remove_run_directory, run_directory
from tests.support.long import LONG, PUSH

pytest_plugins = ["tests.support.fixtures", "tests.support.browser"]


def pytest_configure(config: pytest.Config) -> None:
    """The process that starts the run makes the PostgreSQL cluster for all its workers."""
    if _is_worker(config) or os.environ.get("MEMORYHUB_TEST_DATABASE") != "postgres":
        return
    try:
        cluster.start(run_directory() / "cluster")
    except cluster.NoPostgreSQL as error:
        if os.environ.get("MEMORYHUB_REQUIRE_POSTGRES"):
            raise pytest.UsageError(str(error)) from None
        pytest.exit(f"No test was run on PostgreSQL: {error}", returncode=0)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _is_worker(config):
        cluster.stop(run_directory() / "cluster")
        remove_run_directory()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Nothing that is loaded while tests are collected goes away again: the collector would look in vain."""
    gc.disable()
    try:
        if _is_worker(session.config) and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            _import_own_part_first(session.config)
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """On PostgreSQL, modules of which no test would run there are not loaded."""
    is_test = collection_path.name.startswith("test_") and os.environ.get("MEMORYHUB_TEST_DATABASE") == "postgres"
    return True if is_test and not _names_tests(config) and both.is_unasked(collection_path) else None


def _names_tests(config: pytest.Config) -> bool:
    """Whether the run is one of single tests, which run on any database."""
    return any("::" in name for name in config.args)


def _import_own_part_first(config: pytest.Config) -> None:
    """In a fresh clone, each process compiles another part of the modules of tests, and loads what others compiled."""
    worker: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
    modules = sorted(path for path in both.TESTS.rglob("test_*.py") if not pytest_ignore_collect(path, config))
    begin = len(modules) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for module in modules[begin:] + modules[:begin]:
        with suppress(Exception):  # pytest reports it when it collects the module
            import_module(".".join(module.relative_to(both.TESTS.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look at it at all, nor after each few hundred objects."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs in the long form alone, in a run of all tests the slow ones that only a push runs and, on
    PostgreSQL, the tests that show nothing more there."""
    if not LONG:
        _leave_out(config, items, {item for item in items if item.get_closest_marker("long")})
    if not PUSH and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        _leave_out(config, items, {item for item in items if item.get_closest_marker("push")})
    if os.environ.get("MEMORYHUB_TEST_DATABASE") == "postgres" and not _names_tests(config):
        _leave_out(config, items, set(items) - both.on_both(items))
    if _is_worker(config):
        items[:] = _longest_first(items, config.workerinput["workercount"])  # type: ignore[attr-defined]


def _leave_out(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _longest_first(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Each process of the run begins with some of the longest tests: one that came last would leave the others idle."""
    long, short = [], []
    for item in items:
        (long if item.get_closest_marker("longest") else short).append(item)
    size = len(short) // processes + 1
    parts = [long[part::processes] + short[part * size : (part + 1) * size] for part in range(processes)]
    return [item for part in parts for item in part]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    sent.begin(item.nodeid, both.place_of(item))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of the run has ended, and says what it has noted."""
    sent.add(*node.workeroutput.get("sent", ((), {})))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _is_worker(session.config):
        session.config.workeroutput["sent"] = (list(sent.on_both), sent.replaced)  # type: ignore[attr-defined]
    elif _is_whole(session.config) and session.config.pluginmanager.hasplugin("cacheprovider"):
        names = session.config.cache.mkdir("sent") / "on_sqlite_only"
        names.write_text("".join(f"{test}\n" for test in sorted(set(sent.missing().values()))))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    missing = sent.missing() if _is_whole(config) else {}
    if missing:
        title = f"statements that are sent on SQLite only: the mark {both.MARK} is missing (.ci/run runs these there)"
        terminalreporter.section(title)
        for kind, test in missing.items():
            terminalreporter.write_line(f"{test}\n    {kind}")


def _is_whole(config: pytest.Config) -> bool:
    """Whether all tests are run that a push runs, on SQLite."""
    own = config.option
    chosen = own.keyword or own.markexpr or own.deselect or own.maxfail or getattr(own, "lf", False)
    is_all = PUSH and config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen
    return is_all and connection.vendor == "sqlite"


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """The file that is copied for a process of the run is there when the tests begin, and goes with the directory."""
    return _is_worker(request.config) and connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """The processes of a run copy a database that one of them has migrated."""
    if not _is_worker(request.config):
        return
    own = connections.settings["default"]["TEST"]
    if connection.vendor == "sqlite":
        shutil.copy(server.migrated_sqlite() / "memoryhub.sqlite3", own["NAME"])
    elif os.environ["MEMORYHUB_TEST_DATABASE"] == "postgres":
        own["TEMPLATE"] = server.migrated_postgres().name


@pytest.fixture(scope="session", autouse=True)
def _write_guard() -> Iterator[None]:
    _ = get_resolver().url_patterns  # as in a server, every view is loaded before anybody signs in
    take_off = write_guard.install()
    yield
    take_off()


@pytest.fixture(scope="session", autouse=True)
def _store_guard() -> Iterator[None]:
    take_off = store_guard.install(sent.hear)
    yield
    take_off()


@pytest.fixture(autouse=True)
def _stores_are_named() -> Iterator[None]:
    """A statement of the hub on a large table without its store fails the test in which it was sent, or warns."""
    yield
    found = store_guard.seen_since()
    if found and os.environ.get("MEMORYHUB_REQUIRE_STORE"):
        pytest.fail("\n".join(found), pytrace=False)
    if found:
        warnings.warn("\n".join(found), stacklevel=1)


@pytest.fixture(scope="session", autouse=True)
def _nothing_after_a_flush() -> Iterator[None]:
    """A test whose transactions end empties all tables: the hub needs no rows of Django's permissions there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush, "emit_post_migrate_signal", lambda *_: None)
        if connection.vendor == "postgresql":
            patch.setattr(flush, "sql_flush", _emptied)
        yield


def _emptied(*_: Any, **__: Any) -> list[str]:
    """PostgreSQL makes new files for each table and index that it truncates: to delete few rows is far cheaper."""
    tables = [connection.ops.quote_name(table) for table in connection.introspection.django_table_names()]
    waits = f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE"  # until no other transaction writes
    return ["; ".join([waits, *(f"DELETE FROM {table}" for table in tables)])]


@pytest.fixture(scope="session", autouse=True)
def _hubs_own_settings() -> None:
    """The processes that tests start are the hub as it is shipped."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryhub.settings"

"""What every test shares: the run's directory and database, the write guard, the people and the browser."""

import gc
import os
import shutil
import warnings
from collections.abc import Iterator

import pytest
from django.db import connection, connections
from django.urls import get_resolver

from tests import cluster, store_guard, write_guard
from tests.api import server
from tests.directory import remove_run_directory, run_directory

pytest_plugins = ["tests.fixtures", "tests.browser"]


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


PLACES = {"actions", "api", "doors", "faults", "mcp", "redaction", "serving", "web"}
DATABASE = {"db", "transactional_db", "live_server"}
LOOKS = {
    "test_compare", "test_conflict", "test_drafts", "test_edit", "test_look", "test_markdown", "test_masking",
    "test_overrides", "test_page_bounds", "test_right_to_left", "test_sentences_retention", "test_sentences_stores",
    "test_snippets", "test_tables", "test_wrong_methods", "test_browser_hostile",
}  # fmt: skip
"""Modules about how pages show what they have read; `test_gaps` and `test_charlie` open all pages on both databases."""
TRANSPORT = {
    "test_answers_on_disk", "test_bodies_in_memory", "test_connections", "test_declared", "test_heavy_work",
    "test_openapi", "test_outgoing", "test_own_answers", "test_pages_served", "test_real_connections", "test_requests",
    "test_scripts_joined", "test_slow_clients", "test_turns", "test_turns_of_threads", "test_waiting",
}  # fmt: skip
"""Modules about HTTP and threads; `test_vectors` and `test_concurrency` send requests on both databases."""
FILES = {
    "test_hostile_archives", "test_import_bounds", "test_import_hostile", "test_import_memory", "test_names",
    "test_obeyed_exports",
}  # fmt: skip
"""Modules about the files of an import or export; `test_round_trip` and `test_import` run on both databases."""
BROWSED_ON_BOTH = {"test_browser_day"}
"""A browser speaks HTTP to the hub: on PostgreSQL one module of what people do with it is enough."""


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look at it again after each few hundred objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL, leave out what does not depend on the database: text, looks, transport, files, and the browser."""
    if os.environ.get("MEMORYHUB_TEST_DATABASE") != "postgres":
        return
    elsewhere = LOOKS | TRANSPORT | FILES
    modules = {item.path for item in items if item.path.stem not in elsewhere and _may_ask_a_database(item)}
    asking = [item for item in items if item.path in modules and not _is_about_the_browser(item)]
    kept = set(asking)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = asking


def _may_ask_a_database(item: pytest.Item) -> bool:
    place = item.path.relative_to(item.config.rootpath).parts
    fixtures = set(getattr(item, "fixturenames", ()))
    return place[1] in PLACES or bool(DATABASE & fixtures) or item.get_closest_marker("django_db") is not None


def _is_about_the_browser(item: pytest.Item) -> bool:
    driven = "browser" in getattr(item, "fixturenames", ())
    folders = item.path.relative_to(item.config.rootpath).parts
    return driven and folders[:2] == ("tests", "web") and item.path.stem not in BROWSED_ON_BOTH


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
    take_off = store_guard.install()
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
def _hubs_own_settings() -> None:
    """The processes that tests start are the hub as it is shipped."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryhub.settings"

"""What every test shares: the run's directory and database, the write guard, the people and the browser."""

import os
from collections.abc import Iterator

import pytest
from django.urls import get_resolver

from tests import cluster, write_guard
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


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.fixture(scope="session", autouse=True)
def _write_guard() -> Iterator[None]:
    _ = get_resolver().url_patterns  # as in a server, every view is loaded before anybody signs in
    take_off = write_guard.install()
    yield
    take_off()


@pytest.fixture(scope="session", autouse=True)
def _hubs_own_settings() -> None:
    """The processes that tests start are the hub as it is shipped."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryhub.settings"

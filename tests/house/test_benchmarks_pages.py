"""The benchmark of the pages, on tiny stores: every route has its line, every page answers, every row is true."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest
from django.db import connection

from benchmarks.large_store import STORE
from benchmarks.page_line import TRIVIAL
from benchmarks.page_list import LINES
from benchmarks.pages import Hub, made, without_a_line
from memoryhub.database.planner import STATISTICS
from tests.api.server import put_migrated
from tests.support import starts
from tests.support.long import LONG

pytestmark = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="its hubs are on SQLite, whatever the tests are on"
)

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = (240, 1_500, 3_000)
COPIES = 2
SIZES = ("small", "large") if LONG else ("small",)
OWN = {"DATABASE_URL": "", "DJANGO_SETTINGS_MODULE": "memoryhub.settings"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `--keep` names, with both hubs, in the short form with the small one; the store of the large one consists of
    two copies."""
    kept = tmp_path_factory.mktemp("pages")
    for size in SIZES:
        put_migrated(kept / size)
    made(kept / "small", TINY, OWN)
    if "large" in SIZES:
        made(kept / "large", tuple(COPIES * amount for amount in TINY), OWN, COPIES)
    return kept


@pytest.fixture(scope="module")
def hub(directory: Path) -> Iterator[Hub]:
    hub = Hub(directory / "small", OWN, "cpu")
    yield hub
    hub.close()


def test_every_route_has_a_line_or_a_reason_why_not() -> None:
    assert without_a_line() == []


def test_lines_are_told_apart_and_compared_with_others() -> None:
    labels = {line.label for line in LINES}
    assert len(labels) == len(LINES)
    assert {line.against for line in LINES} <= labels | {""}


@pytest.mark.push
def test_every_page_answers(hub: Hub) -> None:
    """In the short form, one line of each twelfth route: that all pages open is tested elsewhere."""
    lines = LINES if LONG else list({line.route: line for line in LINES}.values())[::12]
    assert all(hub.cost(line)[0] > 0 for line in lines)


@pytest.mark.long
def test_the_run_prints_each_line_with_its_ratio(directory: Path) -> None:
    size = [str(amount) for amount in TINY]
    options = ["--keep", str(directory), "--large", *size, "--rounds", "1", "--json", "--only", "directory: wide"]
    command = [sys.executable, "-m", "benchmarks.pages", *options]
    printed = subprocess.run(command, cwd=ROOT, env={**os.environ, **OWN}, capture_output=True, text=True, check=True)
    found = json.loads(printed.stdout[printed.stdout.index("[") :])
    assert {row["label"] for row in found} > {TRIVIAL, "directory: wide"}
    assert all(row["ratio"] == row["large"] / row["small"] for row in found)


def test_the_chain_is_true_and_so_is_all_that_is_derived_but_review_states(directory: Path) -> None:
    environment = {**os.environ, **OWN, "MEMORYHUB_DATA_DIR": str(directory / "small")}
    command = [sys.executable, "manage.py", "verify_audit"]
    printed = starts.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False).stdout
    told = [line for line in printed.splitlines() if "checkpoints: there are none" not in line]  # nobody served it
    complaints = [line for line in told if not line.endswith(" entries")]
    assert all("review state" in line for line in complaints), complaints


UNTRUE = (
    "memory m where version_count <> (select count(*) from memoryhub_memoryversion v where v.memory_id = m.id)",
    "memory m where (select superseded_seq from memoryhub_memoryversion v where v.id = head_id) is not null",
    "memory m join memoryhub_directory d on d.id = directory_id where d.path || '/' || m.name <> m.path",
    "memoryversion v where text_id not in (select id from memoryhub_memorytext t where t.memory_id = v.memory_id)",
    "memoryversion v join memoryhub_auditentry e on e.chain = store_id and e.seq = v.seq where e.version <> v.id",
    ("memoryversion v join memoryhub_memoryversion w using (memory_id)"
    " where w.number = v.number + 1 and v.superseded_seq <> w.seq"),
    ("directory d where path = '' and memory_count <>"
    " (select count(*) from memoryhub_memory m where m.store_id = d.store_id and deleted_at is null)"),
)  # fmt: skip
"""What no row of a table may be."""


def test_the_counters_of_a_store_are_true_and_one_of_copies_is_as_large(directory: Path) -> None:
    def asked(size: str, query: str) -> object:
        with closing(sqlite3.connect(directory / size / "memoryhub.sqlite3")) as connection:
            return connection.execute(query).fetchall()

    for untrue, size in product(UNTRUE, SIZES):
        assert asked(size, f"select count(*) from memoryhub_{untrue}") == [(0,)], (size, untrue)
    of_chain = f"memoryhub_auditentry where chain = (select id from memoryhub_memorystore where name = '{STORE}')"
    entries = f"select count(*) > {COPIES} * {TINY[2]} * 0.8, count(*) = max(seq), min(seq) from {of_chain}"
    assert "large" not in SIZES or asked("large", entries) == [(True, True, 1)]


@pytest.mark.push
def test_the_planner_knows_the_statistics_of_every_index_that_is_made_again(directory: Path) -> None:
    for size in SIZES:
        with closing(sqlite3.connect(directory / size / "memoryhub.sqlite3")) as connection:
            known = set(connection.execute("select tbl, idx from sqlite_stat1"))
        assert known == {(table, index) for table, indexes in STATISTICS.items() for index in indexes}

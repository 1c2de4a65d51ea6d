"""The benchmark of the pages, on tiny stores: every route has its line, every page answers, every row is true."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from benchmarks.page_line import TRIVIAL
from benchmarks.page_list import LINES
from benchmarks.pages import Hub, made, without_a_line

pytestmark = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="its hubs are on SQLite, whatever the tests are on"
)

ROOT = Path(__file__).resolve().parent.parent
TINY = (400, 2_500, 5_000)
OWN = {"DATABASE_URL": "", "DJANGO_SETTINGS_MODULE": "memoryhub.settings"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `--keep` names, with both hubs; one is a copy of the other."""
    kept = tmp_path_factory.mktemp("pages")
    made(kept / "small", TINY, OWN)
    shutil.copytree(kept / "small", kept / "large")
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


def test_every_page_answers(hub: Hub) -> None:
    assert all(hub.cost(line)[0] > 0 for line in LINES)


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
    command = [sys.executable, str(ROOT / "manage.py"), "verify_audit"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    told = [line for line in printed.splitlines() if "checkpoints: there are none" not in line]  # nobody served it
    complaints = [line for line in told if not line.endswith(" entries")]
    assert all("review state" in line for line in complaints), complaints

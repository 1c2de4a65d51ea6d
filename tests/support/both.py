"""Which tests run on both databases, and the kinds of statements that only the others send.

PostgreSQL runs the tests of the rooms and modules in `WHOLE` that use a database, and elsewhere those with the mark
`both_databases`: the others send the same kinds of statements. Of a test with parameters, it runs every third case: the
cases differ in values, rarely in statements. A case that has the mark itself, those of a test with the mark
`both_databases(each_case=True)`, and those of `tests/faults` run on both.
A run of all tests on SQLite names the tests that are left out and in which alone the hub has sent a kind of statement:
`.ci/run` runs them on PostgreSQL afterwards. Give such a test the mark, so that it runs beside the others.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pytest

from tests.support.statements import asks_for_rows, shape_of
from tests.support.store_guard import sender_of

TESTS = Path(__file__).resolve().parent.parent
PLACES = {"actions", "api", "doors", "faults", "mcp", "redaction", "serving", "web"}
DATABASE = {"db", "transactional_db", "live_server"}
LOOKS = {
    "test_compare", "test_conflict", "test_drafts", "test_edit", "test_look", "test_markdown", "test_masking",
    "test_overrides", "test_page_bounds", "test_right_to_left", "test_sentences_retention", "test_sentences_stores",
    "test_snippets", "test_tables", "test_wrong_methods", "test_browser_fixtures", "test_browser_hostile",
}  # fmt: skip
"""Modules about how pages show what they have read; `test_gaps` opens all pages on both databases."""
TRANSPORT = {
    "test_answers_on_disk", "test_bodies_in_memory", "test_connections", "test_declared", "test_heavy_work",
    "test_openapi", "test_outgoing", "test_own_answers", "test_pages_served", "test_real_connections", "test_requests",
    "test_scripts_joined", "test_slow_clients", "test_turns", "test_turns_of_threads", "test_waiting",
}  # fmt: skip
"""Modules about HTTP and threads; `test_concurrency` and `test_sdk` send requests on both databases."""
FILES = {
    "test_hostile_archives", "test_import_bounds", "test_import_hostile", "test_import_memory", "test_names",
    "test_obeyed_exports",
}  # fmt: skip
"""Modules about the files of an import or export; `test_round_trip` and `test_import` run on both databases."""
WHOLE = {
    "actions/backups/test_files", "actions/backups/test_rotation", "actions/backups/test_s3",
    "actions/core/test_disk_space", "actions/core/test_pace", "actions/core/test_snapshot",
    "actions/core/test_transactions", "actions/core/test_tree", "actions/findings/test_ahead",
    "actions/findings/test_scans", "actions/history/test_undo", "actions/mail/test_clock",
    "actions/memories/test_call_windows", "actions/memories/test_selection_at_once", "actions/retention/test_policies",
    "actions/retention/test_removals", "actions/retention/test_retention_runs", "actions/retention/test_run_guards",
    "actions/retention/test_runs", "actions/retention/test_runs_killed", "actions/stores/test_delete",
    "actions/test_two_at_once",
    "api/limits/test_at_once", "api/test_concurrency", "api/test_database_errors", "api/test_fuzz",
    "api/test_memories_at_once", "api/test_revoked_meanwhile", "api/test_stores", "api/tool_calls/test_round_trips",
    "api/tool_calls/test_state_machine", "doors/test_all_doors", "doors/test_sdk", "faults", "operating/test_failover",
    "operating/test_migrate", "operating/test_planner", "operating/test_schemas", "redaction/test_byte_search",
    "redaction/test_four_acts", "redaction/test_random_walks", "redaction/test_scrub", "serving/test_calls_together",
    "serving/test_committers_requests", "serving/test_programs_without_django", "serving/test_remembered",
    "serving/test_steps", "serving/test_stopped_requests", "transfer/test_import_work",
    "transfer/test_importing_kills", "transfer/test_round_trip", "web/audit/test_filters",
    "web/review/test_inbox_filters", "web/search/test_completions", "web/search/test_finder",
    "web/search/test_scan", "web/search/test_search", "webhooks/test_at_once", "webhooks/test_delivery",
    "webhooks/test_pace", "webhooks/test_trouble",
}  # fmt: skip
"""Rooms and modules that PostgreSQL runs whole: two at once, locks, transactions, faults, migrations, planning, work in
the background, retention, searches, filters and further pages of lists."""
MARK = "both_databases"

Place = Literal["on both", "replaced", "elsewhere"]

_REPEATED = re.compile(r"(\([^()]*\)|\"(?=[^()]* OR \")[^()]*?)(?: OR \1)+|(WHEN (?:(?!WHEN ).)*? THEN \S+)(?: \2)+")


def on_both(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that run on PostgreSQL, too: not those of text, looks, transport, files, the browser and most pages."""
    asking = [item for item in items if item.path.stem not in LOOKS | TRANSPORT | FILES]
    modules = {item.path for item in asking if _may_ask_a_database(item)}
    return {item for item in asking if item.path in modules and not (_is_about_the_browser(item) or is_replaced(item))}


def is_unasked(path: Path) -> bool:
    """Whether nothing of a module of tests runs on PostgreSQL, so that it need not be loaded there."""
    return path.stem in LOOKS | TRANSPORT | FILES or (_has_marked_alone(path) and MARK not in path.read_text())


def place_of(item: pytest.Item) -> Place:
    """Where a test runs, as far as its statements count: those of LOOKS, TRANSPORT, FILES and the browser do not."""
    if item.path.stem in LOOKS | TRANSPORT | FILES or _is_about_the_browser(item):
        return "elsewhere"
    return "replaced" if is_replaced(item) else "on both"


def is_replaced(item: pytest.Item) -> bool:
    """Whether a test is left out because others send the same kinds of statements."""
    unmarked = _has_marked_alone(item.path) and item.get_closest_marker(MARK) is None
    return unmarked or (item.path.parent.name != "faults" and _is_between(item))


def _has_marked_alone(path: Path) -> bool:
    """Whether of a module only the tests with the mark run on both databases."""
    module = path.relative_to(TESTS).with_suffix("").as_posix()
    return module not in WHOLE and module.partition("/")[0] not in WHOLE


def _is_between(item: pytest.Item) -> bool:
    """Whether a test has parameters, and this is a case between those of which each third runs on both databases."""
    case, mark = getattr(item, "callspec", None), item.get_closest_marker(MARK)
    if case is None or (mark and mark.kwargs.get("each_case")) or any(mark.name == MARK for mark in case.marks):
        return False
    return bool(sum(case.indices.values()) % 3)


def _may_ask_a_database(item: pytest.Item) -> bool:
    place, fixtures = item.path.relative_to(TESTS).parts[0], set(getattr(item, "fixturenames", ()))
    marked = any(item.get_closest_marker(mark) is not None for mark in ("django_db", MARK))
    return place in PLACES or bool(DATABASE & fixtures) or marked


def _is_about_the_browser(item: pytest.Item) -> bool:
    """A browser speaks HTTP to the hub: on PostgreSQL one module of it is enough, which has the mark."""
    driven = "browser" in getattr(item, "fixturenames", ())
    return driven and item.path.is_relative_to(TESTS / "web") and item.get_closest_marker(MARK) is None


@dataclass
class Sent:
    """The kinds of statements that tests have sent: those of both databases, and what the hub sent in replaced ones."""

    on_both: set[str] = field(default_factory=set)
    replaced: dict[str, str] = field(default_factory=dict)
    """The first test that sent each."""
    test: str = ""
    where: Place = "elsewhere"

    def begin(self, test: str, where: Place) -> None:
        """What is sent from now on is sent by this test."""
        self.test, self.where = test, where

    def hear(self, statement: str) -> None:
        """Note a statement that is being sent."""
        kind = kind_of(statement) if self.where != "elsewhere" else None
        if kind is None or kind in self.on_both:
            return
        if self.where == "on both":
            self.on_both.add(kind)
        elif kind not in self.replaced and sender_of(sys._getframe(1)) is not None:
            self.replaced[kind] = self.test

    def add(self, on_both: Iterable[str], replaced: Mapping[str, str]) -> None:
        """Add what another process of the run has noted."""
        self.on_both.update(on_both)
        self.replaced = {**replaced, **self.replaced}

    def missing(self) -> dict[str, str]:
        """The kinds that no test of both databases has sent, and a test that sends each."""
        return {kind: test for kind, test in self.replaced.items() if kind not in self.on_both}


sent = Sent()
"""What the tests of this process have sent; in the end, of all processes of the run."""


@lru_cache(maxsize=50_000)
def kind_of(statement: str) -> str | None:
    """The statement without values and repetitions; nothing for one that neither reads nor changes rows."""
    if not asks_for_rows(statement):
        return None
    shape = shape_of(statement)
    return _REPEATED.sub(r"\1\2", shape) if " OR " in shape or "WHEN" in shape else shape

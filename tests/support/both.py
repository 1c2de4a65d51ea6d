"""Which tests run on both databases, and the kinds of statements that only the others send.

A test of `tests/web` runs on PostgreSQL only if it has the mark `both_databases` or its module is in `ASKING`, a test
of a room or module in `OTHERS` only if it has the mark. Of a test with parameters, PostgreSQL runs every third case:
the cases differ in values, rarely in statements. A case that has the mark itself, those of a test with the mark
`both_databases(each_case=True)`, and those of `tests/faults` run on both.
A run of all tests on SQLite fails if the hub has sent a kind of statement only in the tests that are left out: give the
test that is then named the mark, or test what sends the statement in a module that runs on both databases.
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
ASKING = {
    "audit/test_filters", "audit/test_gaps", "audit/test_paging", "review/test_inbox_filters",
    "search/test_completions", "search/test_finder", "search/test_scan", "search/test_search",
}  # fmt: skip
"""Modules of `tests/web` about how rows are found: filters, searches, further pages of lists."""
OTHERS = {
    "actions/comments/test_comments", "actions/core/test_background", "actions/findings/test_findings",
    "actions/findings/test_settling", "actions/mail/test_outbox", "actions/mail/test_server",
    "actions/review/test_decisions", "actions/verification/test_audit_chain",
    "actions/verification/test_checkpoint_segments", "actions/verification/test_checkpoints",
    "api/limits/test_audit_bounds", "api/limits/test_limits", "api/path_rules/test_conditions",
    "api/path_rules/test_hidden_paths", "api/path_rules/test_path_rules", "api/path_rules/test_protected_lines",
    "api/proposals/test_own", "api/proposals/test_proposals", "api/proposals/test_shown", "api/proposals/test_texts",
    "api/test_further_routes", "api/test_keys_at_every_operation", "api/test_memories", "api/test_redact",
    "api/tool_calls/test_agent_loop", "api/tool_calls/test_idempotency", "api/tool_calls/test_rules",
    "api/tool_calls/test_vectors", "claude_runs", "doors/test_audited", "doors/test_parity", "doors/test_table", "mcp",
    "redaction/test_false_alarms", "redaction/test_governing_rows", "redaction/test_outside",
    "redaction/test_redacted_paths", "redaction/test_tampering", "redaction/test_whole_memory", "serving/test_serve",
    "serving/test_watch", "test_charlie", "operating/test_doctor", "operating/test_environment",
    "operating/test_metrics", "test_private_answers", "transfer/test_export", "transfer/test_export_doors",
    "transfer/test_git_tree", "transfer/test_import", "transfer/test_import_places", "transfer/test_proposals",
}  # fmt: skip
"""Rooms and modules outside `tests/web` of which PostgreSQL runs the tests with the mark alone, too."""
MARK = "both_databases"

Place = Literal["on both", "replaced", "elsewhere"]

_REPEATED = re.compile(r"(\([^()]*\)|\"[^()]*?)(?: OR \1)+|(WHEN (?:(?!WHEN ).)*? THEN \S+)(?: \2)+")


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
    is_page = module.startswith("web/") and module.removeprefix("web/") not in ASKING
    return is_page or module in OTHERS or module.partition("/")[0] in OTHERS


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

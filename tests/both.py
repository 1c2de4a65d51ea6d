"""Which tests run on both databases, and the kinds of statements that only the others send.

A test of a module of `PAGES` runs on PostgreSQL only if it has the mark `both_databases`. A run of all tests on SQLite
fails if the hub has sent a kind of statement only in the others: give the test that is then named the mark, or test
what sends the statement in a module that runs on both databases.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pytest

from tests.statements import asks_for_rows, shape_of
from tests.store_guard import sender_of

TESTS = Path(__file__).resolve().parent
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
PAGES = {
    "accounts/test_leaving", "accounts/test_people", "accounts/test_profile", "accounts/test_sign_in",
    "accounts/test_sign_in_next", "agents/test_agents", "agents/test_clients", "audit/test_entries",
    "audit/test_export", "audit/test_tail", "background/test_background", "history/test_restore",
    "history/test_versions", "memories/test_life_line", "memories/test_memories", "memories/test_selection",
    "memories/test_trash", "memories/test_tree", "retention/test_frozen_at_doors", "retention/test_holds",
    "retention/test_policies", "retention/test_retention", "retention/test_runs", "review/test_bulk",
    "review/test_decide", "review/test_decided", "review/test_inbox", "review/test_waiting_memory",
    "search/test_saved_views", "sessions/test_readers", "sessions/test_sessions",
    "stores/test_delete", "stores/test_limits", "today/test_first_steps", "today/test_today",
    "transfer/test_imports", "undo/test_restore", "undo/test_undo",
}  # fmt: skip
"""Modules of `tests/web` whose statements other tests send, too, or those with the mark."""
BROWSED_ON_BOTH = {"test_browser_day"}
"""A browser speaks HTTP to the hub: on PostgreSQL one module of what people do with it is enough."""
MARK = "both_databases"

Place = Literal["on both", "replaced", "elsewhere"]

_REPEATED = re.compile(r"(\([^()]*\)|\"[^()]*?)(?: OR \1)+|(WHEN (?:(?!WHEN ).)*? THEN \S+)(?: \2)+")


def on_both(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that run on PostgreSQL, too: not those of text, looks, transport, files, the browser and most pages."""
    asking = [item for item in items if item.path.stem not in LOOKS | TRANSPORT | FILES]
    modules = {item.path for item in asking if _may_ask_a_database(item)}
    return {item for item in asking if item.path in modules and not (_is_about_the_browser(item) or is_replaced(item))}


def place_of(item: pytest.Item) -> Place:
    """Where a test runs, as far as its statements count: those of LOOKS, TRANSPORT, FILES and the browser do not."""
    if item.path.stem in LOOKS | TRANSPORT | FILES or _is_about_the_browser(item):
        return "elsewhere"
    return "replaced" if is_replaced(item) else "on both"


def is_replaced(item: pytest.Item) -> bool:
    """Whether a test of a page is left out because others send the same kinds of statements."""
    page = item.path.relative_to(TESTS).with_suffix("").as_posix().removeprefix("web/")
    return page in PAGES and item.get_closest_marker(MARK) is None


def _may_ask_a_database(item: pytest.Item) -> bool:
    place, fixtures = item.path.relative_to(TESTS).parts[0], set(getattr(item, "fixturenames", ()))
    return place in PLACES or bool(DATABASE & fixtures) or item.get_closest_marker("django_db") is not None


def _is_about_the_browser(item: pytest.Item) -> bool:
    driven = "browser" in getattr(item, "fixturenames", ())
    return driven and item.path.is_relative_to(TESTS / "web") and item.path.stem not in BROWSED_ON_BOTH


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


@lru_cache(maxsize=50_000)
def kind_of(statement: str) -> str | None:
    """The statement without values and repetitions; nothing for one that neither reads nor changes rows."""
    if not asks_for_rows(statement):
        return None
    shape = shape_of(statement)
    return _REPEATED.sub(r"\1\2", shape) if " OR " in shape or "WHEN" in shape else shape

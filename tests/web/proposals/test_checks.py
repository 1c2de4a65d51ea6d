"""Beside a proposal: the rule that held it back, the limits that stop its merge, other proposals about its memories."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.rules import holds
from memoryhub.actions.findings import rules
from memoryhub.actions.stores import path_rules, stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import HoldKind, MemoryStore, User
from memoryhub.pure.path_rules import Effect, PathRule
from tests.support.fixtures import BY, signed_in
from tests.web.history.versions import Caller
from tests.web.proposals.proposing import begun, proposes, replaces, send, url_of

pytestmark = pytest.mark.django_db

RULE = "Agents may only propose to create, change, delete or rename any memory under /policies/: a person decides."


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


def limit(store: MemoryStore, **limits: int) -> None:
    stores.edit_store(MemoryStore.objects.get(pk=store.pk), StoreSettings(store.name, limits=limits), **BY)


def shown(client: Client, store: MemoryStore, number: int = 1) -> str:
    return str(client.get(url_of(store, number)).content.decode())


def test_the_rule_that_held_it_back_is_named_as_it_was_then(store: MemoryStore, key: str, curator: Client) -> None:
    caller = begun(store, key, "/policies/a.md")
    replaces(caller, "/policies/a.md", "two", "2")
    assert f"When the agent proposed this, rule 1 held it back: {RULE}" in shown(curator, store)
    now = MemoryStore.objects.get(pk=store.pk)
    rules = (PathRule(Effect.ALLOW, "/notes/"), PathRule(Effect.PROPOSE, ""), *path_rules.of_store(now))
    path_rules.save(store.pk, rules, path_rules.digest(path_rules.of_store(now)), Act(**BY))
    proposes(caller, "create", "/b.md", file_text="x")
    html = shown(curator, store)
    assert f"When the agent proposed this, rule 1 held it back: {RULE} (1 memory)" in html
    assert "When the agent proposed this, rule 2 held it back: Agents may only propose to" in html
    send(curator, store)
    assert "rule 1 held it back" in shown(curator, store), "after the decision, too"


@pytest.mark.both_databases
def test_other_open_proposals_about_a_memory_are_named(store: MemoryStore, key: str, curator: Client) -> None:
    caller = begun(store, key, "/policies/a.md")
    for number in range(1, 4):
        replaces(Caller(store, key, session=f"run-{number}"), "/policies/a.md", "two", f"{number}")
    proposes(caller, "create", "/policies/new.md", file_text="x")
    html = shown(curator, store)
    assert "Other proposals are about this memory, too:" in html
    assert url_of(store, 2) in html and url_of(store, 3) in html
    send(curator, store, 3)
    assert url_of(store, 3) not in shown(curator, store)
    assert "Other proposals" not in shown(curator, store, 4)


def test_what_the_agent_had_read_before_is_named(store: MemoryStore, key: str, curator: Client) -> None:
    caller = begun(store, key, "/policies/a.md", "/notes/b.md")
    proposes(caller, "create", "/policies/new.md", file_text="x")
    assert "Just before it proposed this, the agent had read" not in shown(curator, store)
    caller.call("view", path="/memories/notes/b.md", view_range=[2, 3])
    Caller(store, key, session="run-8").call("view", path="/memories/policies/a.md")
    proposes(caller, "create", "/policies/another.md", file_text="x")
    html = shown(curator, store)
    assert "Just before it proposed this, the agent had read" in html and "lines 2–3" in html
    assert html.count('<span class="mono">/notes/b.md') == 1 and '<span class="mono">/policies/a.md' not in html


def test_a_limit_that_stops_the_merge_is_named_before_it(store: MemoryStore, key: str, curator: Client) -> None:
    caller = begun(store, key, "/policies/a.md")
    proposes(caller, "create", "/policies/new.md", file_text="x" * 50)
    proposes(caller, "create", "/policies/b.md", file_text="x")
    assert "This change cannot be merged as it is" not in shown(curator, store)
    limit(store, limit_memory_bytes=40)
    html = shown(curator, store)
    assert html.count("This change cannot be merged as it is:") == 1
    assert "50" in html and "40" in html
    limit(store, limit_memories=2)
    assert shown(curator, store).count("This change cannot be merged as it is:") == 1, "the second new memory"


def test_the_checks_take_a_fixed_number_of_queries(store: MemoryStore, key: str, curator: Client) -> None:
    def asked(number: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            shown(curator, store, number)
        return len(queries)

    paths = [f"/policies/{number}.md" for number in range(8)]
    caller = begun(store, key, *paths)
    replaces(caller, paths[0], "two", "2")
    for path in paths[1:]:
        replaces(Caller(store, key, session="run-8"), path, "two", "2")
    assert asked(2) <= asked(1) + 1


@pytest.mark.parametrize(
    ("freezes", "why"),
    [
        (False, "/policies/a.md is under a legal hold and cannot be deleted until the hold is released."),
        (True, "/policies/a.md is under a legal hold and cannot be changed, moved or deleted"),
    ],
)
def test_a_legal_hold_that_stops_a_merge_is_named_before_it(
    store: MemoryStore, key: str, curator: Client, freezes: bool, why: str
) -> None:
    caller = begun(store, key, "/policies/a.md")
    proposes(caller, "delete", path="/policies/a.md")
    holds.place(
        store.pk, Act(**BY), kind=HoldKind.HOLD, path="/policies/a.md", reason="a dispute", freezes=freezes
    )  # fmt: skip
    html = shown(curator, store)
    assert "This change cannot be merged as it is:" in html and why in html


def test_a_rule_for_sensitive_text_that_stops_a_merge_is_named_before_it(
    store: MemoryStore, key: str, curator: Client
) -> None:
    caller = begun(store, key, "/policies/a.md")
    proposes(caller, "create", "/policies/b.md", file_text="4111 1111 1111 1111\n")
    rules.save_rules(store.pk, {"card": "block"}, Act(**BY))
    html = shown(curator, store)
    assert "This change cannot be merged as it is:" in html
    assert "Line 1 of /policies/b.md contains a payment card number, which this memory store does not keep." in html

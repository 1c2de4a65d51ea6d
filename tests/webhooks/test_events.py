"""Audit entries as events: which there are, what they say, and what they never say."""

import json
from datetime import UTC, datetime
from typing import Any

from memoryhub.actions.core.audit import commands
from memoryhub.pure.webhook_rules import events as webhook_events
from memoryhub.pure.webhook_rules.events import EVENTS, GROUPS, LISTED, OFFICIAL, Entry, Found, Made

AT = datetime(2025, 11, 3, 9, 0, 0, 123456, tzinfo=UTC)
KEY = b"key"


def entry(command: str, **more: Any) -> Entry:
    given = {"actor_kind": "user", "actor_id": "user_1", "session": None} | more
    return Entry("memstore_1", 7, AT, event=commands.EVENTS.get(command), **given)


def events(of: Entry) -> list[tuple[str, dict[str, Any]]]:
    found = [json.loads(event.payload) for event in webhook_events.of_entry(of, KEY)]
    return [(event["data"].pop("type"), event["data"]) for event in found]


def names(of: Entry) -> list[str]:
    return [name for name, _ in events(of)]


def test_each_event_stands_in_one_group() -> None:
    assert len(EVENTS) == len(set(EVENTS)) and set(OFFICIAL) < set(EVENTS)
    assert all(name.split(".")[0] == group for group, names in GROUPS.items() for name in names)


def test_official_events_have_the_fields_of_the_api_and_no_other() -> None:
    for command, name in (("create_store", "created"), ("archive_store", "archived"), ("delete_store", "deleted")):
        ((told, data),) = events(entry(command))
        assert told == f"memory_store.{name}"
        assert data.keys() == {"id", "organization_id", "workspace_id"} and data["id"] == "memstore_1"
        assert data["organization_id"].startswith("org_") and data["workspace_id"].startswith("wrkspc_")


def test_ids_are_the_same_whenever_they_are_made_again_and_other_than_anybody_elses() -> None:
    one, again = ([*webhook_events.of_entry(entry("create_store"), KEY)] for _ in range(2))
    assert one == again and one[0].id.startswith("whevt_")
    (other,) = webhook_events.of_entry(entry("create_store"), b"another")
    assert other.id != one[0].id and "org_" in other.payload and other.payload != one[0].payload
    assert json.loads(one[0].payload)["created_at"] == "2025-11-03T09:00:00.123Z"


def test_a_version_is_told_by_what_it_did() -> None:
    cases: list[tuple[Made, list[str]]] = [
        (Made("v", "m", 1, "created"), ["memory.created"]),
        (Made("v", "m", 1, "created", needs_review=True), ["memory.created", "review.needed"]),
        (Made("v", "m", 4, "created"), ["memory.restored"]),
        (Made("v", "m", 2, "modified"), ["memory.modified"]),
        (Made("v", "m", 2, "modified", moved=True, rewritten=False), ["memory.renamed"]),
        (Made("v", "m", 2, "modified", moved=True), ["memory.modified", "memory.renamed"]),
        (Made("v", "m", 2, "modified", rewritten=False), ["memory.modified"]),
        (Made("v", "m", 3, "deleted", needs_review=True), ["memory.deleted", "review.needed"]),
        (Made("v", "m", 3, "modified", brought=True), ["memory.created"]),
        (Made("v", "m", 3, "deleted", brought=True), ["memory.created", "memory.deleted"]),
    ]
    for made, expected in cases:
        assert names(entry("rename", made=[made])) == expected, made
    ((_, data),) = events(entry("create", made=[cases[0][0]]))
    assert data["memories"] == [{"id": "m", "memory_version_id": "v"}] and data["memory_store_id"] == "memstore_1"
    assert data["audit_entry"] == 7 and "parts" not in data


def test_a_memory_that_retention_removed_is_named_by_its_id() -> None:
    ((name, data),) = events(entry("purge", memory="mem_1"))
    assert (name, data["memories"]) == ("memory.purged", [{"id": "mem_1"}])


def test_an_act_on_many_memories_is_one_event_and_a_longer_list_goes_on_in_the_next() -> None:
    made = [Made(f"v{number}", f"m{number}", 2, "deleted") for number in range(2 * LISTED + 1)]
    (_, all_in_one), *_ = events(entry("delete", made=made[:LISTED]))
    assert len(all_in_one["memories"]) == LISTED and "part" not in all_in_one
    parts = [data for _, data in events(entry("delete", made=made))]
    assert [(data["part"], data["parts"], len(data["memories"])) for data in parts] == [
        (1, 3, LISTED), (2, 3, LISTED), (3, 3, 1)
    ]  # fmt: skip
    assert len({event.id for event in webhook_events.of_entry(entry("delete", made=made), KEY)}) == 3


def test_actors_are_named_as_the_api_names_them() -> None:
    made = [Made("v", "m", 1, "created")]

    def actor(**more: Any) -> Any:
        return events(entry("create", made=made, **more))[0][1]["actor"]

    assert actor() == {"type": "user_actor", "user_id": "user_1"}
    assert actor(actor_kind="key", actor_id="apikey_1") == {"type": "api_actor", "api_key_id": "apikey_1"}
    of_session = actor(actor_kind="key", actor_id="apikey_1", session="sesn_1")
    assert of_session == {"type": "session_actor", "session_id": "sesn_1"}
    assert actor(actor_kind="policy", actor_id="policy_1")["service_account_id"] == "policy_1"
    assert actor(actor_kind="system", actor_id=None) is None


def test_reviews_findings_and_redactions_name_what_they_are_about() -> None:
    ((name, data),) = events(entry("approve", named=[("m1", "v1"), ("m2", "v2")]))
    assert name == "review.approved" and [one["id"] for one in data["memories"]] == ["m1", "m2"]
    ((name, data),) = events(entry("redact", memory="m1", version="v1"))
    assert name == "memory_version.redacted" and data["memories"] == [{"id": "m1", "memory_version_id": "v1"}]
    told = {"before": {"open": ["find_1"], "resolved": {"count": 900}}, "after": "dismissed"}
    ((name, data),) = events(entry("dismiss_finding", told=told))
    assert name == "finding.dismissed" and data["findings"] == [{"id": "find_1"}]
    found = [Found("find_1", "m", "v", "iban")]
    assert names(entry("create", made=[Made("v", "m", 1, "created")], found=found)) == [
        "memory.created", "finding.opened"
    ]  # fmt: skip
    for command in ("approve", "revert", "flag", "resolve_finding", "dismiss_finding", "redact", "erase"):
        assert len(names(entry(command, told={"before": "?", "versions": 3}))) == 1  # whatever the entry says


def test_what_is_no_event_is_none() -> None:
    for command in ("view", "set_role", "export", "sign_in", "reveal", "create_webhook", "anything", ""):
        assert names(entry(command)) == []


def test_runs_and_imports_are_told_by_how_far_they_are() -> None:
    def run(before: str, state: str) -> list[str]:
        return [event.type for event in webhook_events.of_run("memstore_1", "run_1", before, state, AT, KEY)]

    assert run("", "running") == ["retention_run.started"]
    assert run("", "waiting") == ["retention_run.blocked"]
    assert run("waiting", "running") == ["retention_run.started"]
    assert run("running", "done") == ["retention_run.finished"]
    assert run("", "done") == ["retention_run.started", "retention_run.finished"]
    (event,) = webhook_events.of_import("memstore_1", "import_1", "done", 12, AT, KEY)
    assert json.loads(event.payload)["data"]["memory_count"] == 12
    assert not list(webhook_events.of_import("memstore_1", "import_1", "preview", 12, AT, KEY))

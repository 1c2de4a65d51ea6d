"""Audit entries in the API, for keys that may manage."""

from typing import Any

import pytest

from memoryhub.models import AuditEntry, Memory
from tests.api.further.managed import get, refusal
from tests.api.harness import Hub, new_secret, new_store, newest_entry

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_entries_are_listed_newest_first_by_their_filters(managed: Hub) -> None:
    managed.call(command="create", path="/memories/c.md", file_text="again")
    managed.send(managed.block(command="view", path="/memories/a/b.md"), memoryhub_session="run-1")
    memory = Memory.objects.get(store=managed.store, path="/a/b.md")
    session = AuditEntry.objects.of_chain(managed.store.id).exclude(session=None)[0].session
    entries = AuditEntry.objects.of_chain(managed.store.id)
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, entries),
        ({"command": "create"}, entries.filter(command="create")),
        ({"outcome": "error"}, entries.filter(ok=False)),
        ({"outcome": "ok", "command": "create"}, entries.filter(command="create", ok=True)),
        ({"door": "tool"}, entries.filter(door="tool")),
        ({"session_id": session}, entries.filter(session=session)),
        ({"memory_id": memory.pk}, entries.filter(memory=memory.pk)),
        ({"memory_id": memory.pk, "command": "view"}, entries.filter(memory=memory.pk, command="view")),
        ({"path": "/a/b.md"}, entries.filter(path="/a/b.md")),
        ({"path": "/a/"}, entries.filter(path="/a/b.md")),
        ({"actor_id": entries.newest()[0].author_id}, entries.filter(author_id=entries.newest()[0].author_id)),
        ({"created_at[lte]": "2025-11-03T09:00:00Z"}, entries.filter(seq=1)),
        ({"created_at[gte]": "2026-01-01T00:00:00+01:00"}, entries.exclude(seq=1)),
        ({"created_at[lte]": "9999-12-31T23:59:59.999999Z"}, entries),
        ({"session_id": "sesn_no"}, entries.none()),
    ]  # fmt: skip
    for query, expected in cases:
        seqs, page = [], None
        for _ in range(20):
            value = get(managed, "audit_entries", limit=2, **query, **({"page": page} if page else {})).value
            seqs += [entry["seq"] for entry in value["data"]]
            page = value["next_page"]
            if page is None:
                break
        assert seqs == list(expected.order_by("-seq").values_list("seq", flat=True)), query
    assert AuditEntry.objects.of_chain(managed.store.id).newest()[0].command == "view"  # looking is no act


@pytest.mark.both_databases
def test_one_entry_has_all_that_the_chain_holds(managed: Hub) -> None:
    listed = get(managed, "audit_entries", limit=1).value["data"][0]
    assert listed["input"] is None and listed["message"] is None
    value = get(managed, f"audit_entries/{listed['seq']}").value
    entry = newest_entry(managed.store.id)
    assert {name: value[name] for name in ("hash", "previous_hash", "digest", "command", "path", "version")} == {
        name: getattr(entry, name) for name in ("hash", "previous_hash", "digest", "command", "path", "version")
    }
    assert value["input"]["file_text"] == "tea and cake\n" and value["message"].startswith("File created")
    assert listed == value | {"input": None, "message": None}
    full = get(managed, "audit_entries", view="full").value["data"]
    assert full[0] == value and full[1]["previous_hash"] == full[2]["hash"]
    for seq in ("0", "999", "x", "-1", "1e3", "٣", "9" * 30):
        assert refusal(get(managed, f"audit_entries/{seq}")) == (404, "not_found_error"), seq


def test_the_audit_needs_manage_and_right_filters(managed: Hub) -> None:
    writer = Hub(managed.store, new_secret(managed.store))
    for path in ("audit_entries", "audit_entries/1"):
        assert refusal(get(writer, path)) == (403, "permission_error")
        assert refusal(get(managed, path, new_store().id)) == (404, "not_found_error")
        assert refusal(managed.send(b"", url=f"/v1/memory_stores/{managed.store.id}/{path}"))[0] == 405
    for wrong in ({"outcome": "good"}, {"door": "window"}, {"command": "DROP"}, {"path": "a"}, {"limit": 101},
                  {"view": "all"}, {"created_at[gte]": "yesterday"}, {"page": "page_AAAA"}):  # fmt: skip
        assert refusal(get(managed, "audit_entries", **wrong)) == (400, "invalid_request_error"), wrong

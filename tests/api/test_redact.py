"""Redacting a version at the machines' door: with a key that manages the store, without a session, for good."""

import pytest

from memoryhub.actions.core.rules.holds import place
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Access, AuditEntry, HoldKind, Memory, MemoryVersion
from memoryhub.pure.protocol.commands import WRITES
from tests.actions.core.trees import ACT
from tests.api.harness import BY, Answer, Hub, assert_audit_is_right, new_hub, new_secret, newest_entry, row_counts

pytestmark = pytest.mark.django_db

TEXT = "the card is 4111 1111 1111 1111\n"


@pytest.fixture
def managed(hub: Hub) -> Hub:
    """A memory of two versions, whose first has what must go, and a key that may manage the store."""
    session = {"memoryhub_session": "run-1"}
    hub.send(hub.block(command="create", path="/memories/a.md", file_text=TEXT), **session)
    hub.call(command="str_replace", path="/memories/a.md", old_str=TEXT, new_str="nothing\n")
    return Hub(hub.store, new_secret(hub.store, Access.MANAGE))


def version(hub: Hub, number: int = 1) -> MemoryVersion:
    return MemoryVersion.objects.get(store=hub.store, number=number)


def redact(hub: Hub, id: str | None = None, **options: str) -> Answer:
    id = version(hub).pk if id is None else id
    url = f"/v1/memory_stores/{hub.store.id}/memory_versions/{id}/redact"
    return hub.send(options.pop("body", "").encode() or b"", url=url, **options)


def refusal(answer: Answer) -> tuple[int, str]:
    assert set(answer.value) == {"type", "error", "request_id"} and answer.headers["request-id"]
    return answer.status, answer.value["error"]["type"]


@pytest.mark.both_databases
def test_a_redacted_version_says_who_wrote_it_and_nothing_that_it_held(managed: Hub) -> None:
    before = version(managed)
    answer = redact(managed)
    assert answer.status == 200
    told = answer.value
    assert {name: told[name] for name in ("path", "content", "content_sha256", "content_size_bytes")} == dict.fromkeys(
        ("path", "content", "content_sha256", "content_size_bytes")
    )
    assert (told["type"], told["id"], told["memory_id"]) == ("memory_version", before.pk, before.memory_id)
    assert (told["memory_store_id"], told["operation"]) == (managed.store.id, "created")
    assert told["created_by"]["type"] == "session_actor" and told["created_by"]["session_id"].startswith("sesn_")
    assert told["redacted_by"]["type"] == "api_actor" and told["redacted_by"]["api_key_id"].startswith("apikey_")
    assert told["created_at"].endswith("Z") and told["redacted_at"].endswith("Z")
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.door, entry.actor_id) == ("redact", "api", told["redacted_by"]["api_key_id"])
    assert not AuditEntry.objects.of_chain(managed.store.id).filter(input__contains="4111").exists()
    assert_audit_is_right(managed.store)


def test_twice_is_the_same_answer_and_one_entry(managed: Hub) -> None:
    first = redact(managed).value
    seq = newest_entry(managed.store.id).seq
    again = redact(managed)
    assert (again.status, again.value, newest_entry(managed.store.id).seq) == (200, first, seq)


def test_the_newest_version_of_a_live_memory_is_400_and_of_a_deleted_one_goes(managed: Hub) -> None:
    counts = row_counts()
    assert refusal(redact(managed, version(managed, 2).pk)) == (400, "invalid_request_error")
    assert row_counts() == counts | {"entries": counts["entries"] + 1}
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.ok, entry.version) == ("redact", False, version(managed, 2).pk)
    managed.call(command="delete", path="/memories/a.md")
    assert redact(managed, version(managed, 2).pk).value["content"] is None
    assert redact(managed, version(managed, 3).pk).value["operation"] == "deleted"
    assert_audit_is_right(managed.store)


def test_an_archived_store_still_redacts(managed: Hub) -> None:
    stores.set_archived(managed.store, True, **BY)
    assert redact(managed).status == 200


def test_a_legal_hold_keeps_it(managed: Hub) -> None:
    memory = Memory.objects.get(store=managed.store)
    place(managed.store.id, ACT, kind=HoldKind.HOLD, reason="a court", memory=memory.pk)
    answer = redact(managed)
    assert refusal(answer) == (400, "invalid_request_error")
    assert version(managed).content == TEXT


def test_a_key_that_only_reads_or_writes_is_403_and_the_hub_notes_it(managed: Hub) -> None:
    for level in (Access.READ, Access.WRITE):
        weak = Hub(managed.store, new_secret(managed.store, level))
        assert refusal(redact(weak)) == (403, "permission_error")
        entry = newest_entry(HUB)
        assert (entry.command, entry.ok, entry.door) == ("refused", False, "api")
        assert entry.input is not None and '"status":403' in entry.input
    assert version(managed).content == TEXT


def test_a_request_with_a_session_is_403_whatever_its_name(managed: Hub) -> None:
    for name in ("run-1", "", "x" * 500):
        assert refusal(redact(managed, memoryhub_session=name)) == (403, "permission_error")
    assert version(managed).content == TEXT


def test_unknown_versions_and_those_of_other_stores_are_404(managed: Hub) -> None:
    other = new_hub()
    other.call(command="create", path="/memories/b.md", file_text="b")
    theirs = MemoryVersion.objects.get(store=other.store)
    for id in ("memver_" + "0" * 26, theirs.pk, "x", "%00", "a%2Fb"):
        assert refusal(redact(managed, id)) == (404, "not_found_error"), id
    stranger = Hub(managed.store, new_secret(other.store, Access.MANAGE))
    assert refusal(redact(stranger)) == (404, "not_found_error")
    assert newest_entry(HUB).door == "api"
    assert theirs.content == "b" and version(managed).content == TEXT


def test_what_is_wrong_is_answered_in_the_order_of_every_endpoint(managed: Hub) -> None:
    assert refusal(redact(managed, body="x" * 2_000_000, method="GET")) == (413, "request_too_large")
    assert refusal(redact(managed, method="GET", authorization="Bearer no")) == (405, "invalid_request_error")
    assert redact(managed, method="DELETE").headers["allow"] == "POST"
    assert refusal(redact(managed, authorization="Bearer no", type="text/plain")) == (401, "authentication_error")
    assert refusal(redact(managed, "x", body="{}", type="text/plain")) == (415, "invalid_request_error")
    for body in ("[]", "{", '{"a": 1, "a": 2}', "nothing"):
        assert refusal(redact(managed, "x", body=body)) == (400, "invalid_request_error"), body
    assert version(managed).content == TEXT
    assert redact(managed, body='{"unknown": true}').status == 200


def test_no_tool_call_redacts(managed: Hub) -> None:
    """The commands are six, and there is no seventh."""
    for command in ("redact", "erase", "redact_version", "purge"):
        kind, text = managed.call(command=command, path="/memories/a.md", memory_version_id=version(managed).pk)
        assert kind == "err" and text.startswith(f"Error: Unrecognized command {command}.")
    assert {"view", *WRITES} == {"view", "create", "str_replace", "insert", "delete", "rename"}
    assert version(managed).content == TEXT

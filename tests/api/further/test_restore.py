"""Restoring memory versions in the API, and taking a store out of the archive."""

import pytest

from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Access, AuditEntry, Memory, MemoryStore
from tests.api.further.managed import post, refusal, version
from tests.api.harness import BY, Hub, assert_audit_is_right, contents, new_secret, newest_entry

pytestmark = pytest.mark.django_db


def test_an_earlier_version_becomes_the_newest_again(managed: Hub) -> None:
    one = version(managed, 1)
    value = post(managed, f"memory_versions/{one.pk}/restore").value
    assert (value["type"], value["id"], value["path"], value["content"]) == ("memory", one.memory_id, "/a/b.md", None)
    assert contents(managed.store)["/memories/a/b.md"] == "one\ntwo\nthree"
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.door, entry.version) == ("restore", "api", value["memory_version_id"])
    again = post(managed, f"memory_versions/{one.pk}/restore", {"path": "/a/b.md"}).value
    assert again["memory_version_id"] == value["memory_version_id"]  # it is so already
    assert newest_entry(managed.store.id).seq == entry.seq + 1
    elsewhere = post(managed, f"memory_versions/{one.pk}/restore", {"path": "/x.md"})
    assert refusal(elsewhere) == (400, "invalid_request_error") and newest_entry(managed.store.id).ok is False
    assert_audit_is_right(managed.store)


def test_a_deleted_memory_comes_back_under_its_id(managed: Hub) -> None:
    two = version(managed, 2)
    managed.call(command="delete", path="/memories/a")
    managed.call(command="create", path="/memories/a/b.md", file_text="another")
    taken = post(managed, f"memory_versions/{two.pk}/restore")
    assert refusal(taken) == (409, "memory_path_conflict_error") and taken.headers["x-should-retry"] == "false"
    assert taken.value["error"]["conflicting_path"] == "/a/b.md"
    assert taken.value["error"]["conflicting_memory_id"] == Memory.objects.get(store=managed.store, path="/a/b.md",
                                                                               deleted_at=None).pk  # fmt: skip
    beneath = post(managed, f"memory_versions/{two.pk}/restore", {"path": "/a/b.md/c"})
    assert refusal(beneath)[0] == 409 and beneath.value["error"]["conflicting_path"] == "/a/b.md"
    value = post(managed, f"memory_versions/{two.pk}/restore", {"path": "/back.md"}).value
    assert (value["id"], value["path"]) == (two.memory_id, "/back.md")
    assert contents(managed.store)["/memories/back.md"] == "one\nTEA\nthree"
    told = AuditEntry.objects.of_chain(managed.store.id).newest()[:3]
    assert [(entry.command, entry.ok) for entry in told] == [("restore", True), ("restore", False), ("restore", False)]
    assert_audit_is_right(managed.store)


def test_what_cannot_be_restored_is_refused(managed: Hub) -> None:
    one = version(managed, 1)
    for body in (b"{", b"[]", {"path": 7}, {"path": "x"}, {"path": "/a//b"}, {"path": "/"}, {"path": "/a/"}):
        assert refusal(post(managed, f"memory_versions/{one.pk}/restore", body))[0] == 400, body
    assert refusal(post(managed, "memory_versions/memver_no/restore")) == (404, "not_found_error")
    reader = Hub(managed.store, new_secret(managed.store, Access.READ))
    assert refusal(post(reader, f"memory_versions/{one.pk}/restore")) == (403, "permission_error")
    assert newest_entry(HUB).command == "refused"
    managed.call(command="delete", path="/memories/c.md")
    assert refusal(post(managed, f"memory_versions/{version(managed, 2, '/c.md').pk}/restore"))[0] == 400  # no text
    stores.set_archived(managed.store, True, **BY)
    assert refusal(post(managed, f"memory_versions/{one.pk}/restore")) == (400, "invalid_request_error")
    assert newest_entry(managed.store.id).ok is False


def test_a_store_comes_out_of_the_archive(managed: Hub) -> None:
    stores.set_archived(managed.store, True, **BY)
    writer = Hub(managed.store, new_secret(managed.store))
    assert refusal(post(writer, "unarchive")) == (403, "permission_error")
    before = MemoryStore.objects.get(pk=managed.store.pk)
    value = post(managed, "unarchive", {}).value
    assert (value["type"], value["id"], value["archived_at"]) == ("memory_store", managed.store.id, None)
    assert value["updated_at"] > before.updated_at.isoformat() and newest_entry(managed.store.id).door == "api"
    seq = newest_entry(managed.store.id).seq
    assert post(managed, "unarchive").value == value and newest_entry(managed.store.id).seq == seq
    assert managed.call(command="create", path="/memories/new.md", file_text="x")[0] == "ok"

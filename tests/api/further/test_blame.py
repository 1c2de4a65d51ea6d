"""Which version brought each line of a memory, in the API."""

import pytest

from memoryhub.actions.erasure import redaction
from tests.actions.core.trees import ACT
from tests.api.further.managed import get, refusal, version
from tests.api.harness import Hub, assert_audit_is_right, newest_entry, row_counts

pytestmark = pytest.mark.django_db


def test_each_line_is_told_with_the_version_that_brought_it(managed: Hub) -> None:
    one, two, three = (version(managed, number) for number in (1, 2, 3))
    value = get(managed, f"memories/{one.memory_id}/blame").value
    assert (value["memory_version_id"], value["content"]) == (three.pk, "zero\none\nTEA\nthree\n")
    lines = [(part["first_line"], part["last_line"], part["memory_version_id"]) for part in value["lines"]]
    assert lines == [(1, 1, three.pk), (2, 2, one.pk), (3, 3, two.pk), (4, 4, one.pk)]
    assert {part["created_by"]["type"] for part in value["lines"]} == {"api_actor"}
    entry = newest_entry(managed.store.id)
    assert (entry.command, entry.door, entry.version) == ("view", "api", three.pk)
    earlier = get(managed, f"memories/{one.memory_id}/blame", memory_version_id=two.pk).value
    assert [part["number"] for part in earlier["lines"]] == [1, 2, 1]
    other, before = version(managed, 1, "/c.md"), row_counts()
    for memory, query in (("mem_no", {}), (one.memory_id, {"memory_version_id": other.pk})):
        assert refusal(get(managed, f"memories/{memory}/blame", **query)) == (404, "not_found_error")
    assert row_counts() == before
    redaction.redact_version(managed.store.id, one.pk, ACT)
    assert refusal(get(managed, f"memories/{one.memory_id}/blame", memory_version_id=one.pk))[0] == 400
    after = get(managed, f"memories/{one.memory_id}/blame").value["lines"]
    assert [(part["number"], part["known"]) for part in after] == [(3, True), (2, False)]
    assert_audit_is_right(managed.store)

"""Comparing memory versions in the API."""

import difflib

import pytest

from memoryhub.actions.erasure import redaction
from memoryhub.models import AuditEntry, MemoryVersion
from tests.actions.core.trees import ACT
from tests.api.further.managed import get, refusal, version
from tests.api.harness import Hub, assert_audit_is_right, new_hub, row_counts

pytestmark = pytest.mark.django_db


def test_what_changed_is_told_in_hunks_and_as_diff_writes_it(managed: Hub) -> None:
    one, two, three = (version(managed, number) for number in (1, 2, 3))
    value = get(managed, f"memory_versions/{three.pk}/diff", against=one.pk).value
    assert {name: value[name] for name in ("type", "memory_version_id", "against", "old_path", "new_path")} == {
        "type": "memory_version_diff", "memory_version_id": three.pk, "against": one.pk, "old_path": "/a/b.md",
        "new_path": "/a/b.md",
    }  # fmt: skip
    assert (value["added_lines"], value["removed_lines"], value["identical"], value["bounded"]) == (3, 2, False, False)
    (hunk,) = value["hunks"]
    assert [(line["kind"], line["old_number"], line["new_number"], line["text"]) for line in hunk["lines"]] == [
        ("added", None, 1, "zero"), ("same", 1, 2, "one"), ("removed", 2, None, "two"), ("removed", 3, None, "three"),
        ("added", None, 3, "TEA"), ("added", None, 4, "three"),
    ]  # fmt: skip
    assert value["unified"] == (
        "--- /a/b.md\n+++ /a/b.md\n@@ -1,3 +1,4 @@\n+zero\n one\n-two\n-three\n\\ No newline at end of file\n"
        "+TEA\n+three\n"
    )
    reads = list(AuditEntry.objects.of_chain(managed.store.id).newest()[:2])
    assert [(entry.command, entry.version) for entry in reads] == [("view", three.pk), ("view", one.pk)]
    assert len({entry.group for entry in reads}) == 1 and reads[0].group is not None
    before = get(managed, f"memory_versions/{three.pk}/diff").value
    assert before["against"] == two.pk and (before["added_lines"], before["removed_lines"]) == (2, 1)
    first = get(managed, f"memory_versions/{one.pk}/diff").value
    assert first["against"] is None and first["unified"].startswith("--- /dev/null\n+++ /a/b.md\n@@ -0,0 +1,3 @@\n")
    assert get(managed, f"memory_versions/{one.pk}/diff", against=one.pk).value["identical"] is True
    assert_audit_is_right(managed.store)


@pytest.mark.both_databases
def test_hunks_stand_where_the_standard_library_puts_them(managed: Hub) -> None:
    texts = ["".join(f"{n}\n" for n in range(40)), "".join(f"{n}\n" for n in range(40) if n not in (7, 8, 20)) + "40\n"]
    managed.call(command="create", path="/memories/n.md", file_text=texts[0])
    managed.call(command="str_replace", path="/memories/n.md", old_str=texts[0], new_str=texts[1])
    for context in (0, 3, 100):
        value = get(managed, f"memory_versions/{version(managed, 2, '/n.md').pk}/diff", context=context).value
        old, new = (text.splitlines(keepends=True) for text in texts)
        assert value["unified"] == "".join(difflib.unified_diff(old, new, "/n.md", "/n.md", n=context)), context


def test_a_comparison_of_very_many_lines_is_answered_in_pieces_that_follow_each_other(managed: Hub) -> None:
    texts = ["".join(f"{sign}{n}\n" for n in range(8_000)) for sign in "ab"]
    managed.call(command="create", path="/memories/n.md", file_text=texts[0])
    managed.call(command="str_replace", path="/memories/n.md", old_str=texts[0], new_str=texts[1])
    path = f"memory_versions/{version(managed, 2, '/n.md').pk}/diff"
    seen, after, pieces = [], 0, 0
    while after is not None:
        value = get(managed, path, after=after).value
        (hunk,) = value["hunks"]
        assert len(hunk["lines"]) <= 10_000 and value["truncated"] is (value["next_after"] is not None)
        assert (value["added_lines"], value["removed_lines"]) == (8_000, 8_000)
        seen, after, pieces = [*seen, *hunk["lines"]], value["next_after"], pieces + 1
    assert pieces == 2 and (hunk["old_start"], hunk["old_lines"]) == (8_000, 0)
    assert [line["text"] for line in seen] == [*texts[0].splitlines(), *texts[1].splitlines()]
    assert refusal(get(managed, path, after=-1))[0] == 400


def test_versions_without_a_text_are_empty_or_not_compared(managed: Hub) -> None:
    managed.call(command="delete", path="/memories/a/b.md")
    gone = get(managed, f"memory_versions/{version(managed, 4).pk}/diff").value
    assert (gone["added_lines"], gone["removed_lines"]) == (0, 4) and "+++ /dev/null" in gone["unified"]
    assert AuditEntry.objects.of_chain(managed.store.id).newest()[0].version == version(managed, 3).pk
    one = version(managed, 1)
    redaction.redact_version(managed.store.id, one.pk, ACT)
    assert refusal(get(managed, f"memory_versions/{one.pk}/diff")) == (400, "invalid_request_error")
    two = MemoryVersion.objects.get(store=managed.store, memory_id=one.memory_id, number=2)
    assert refusal(get(managed, f"memory_versions/{two.pk}/diff"))[0] == 400
    other = new_hub()
    other.call(command="create", path="/memories/x", file_text="x")
    theirs, before = MemoryVersion.objects.get(store=other.store), row_counts()
    for path, query in (
        (f"memory_versions/{theirs.pk}/diff", {}), (f"memory_versions/{two.pk}/diff", {"against": theirs.pk}),
        ("memory_versions/memver_no/diff", {}), (f"memory_versions/{two.pk}/diff", {"against": "memver_no"}),
    ):  # fmt: skip
        assert refusal(get(managed, path, **query)) == (404, "not_found_error")
    assert refusal(get(managed, f"memory_versions/{two.pk}/diff", context=101))[0] == 400
    assert row_counts() == before

"""Memories at the API: what each call answers, stores and tells the audit."""

import json
from typing import Any

import pytest

from memoryhub.actions.core.rules.holds import place
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, Access, AuditEntry, Finding, HoldKind, Memory, MemoryVersion
from memoryhub.pure.protocol.paths import SYNC_MARKER
from tests.actions.core.trees import ACT, directories
from tests.api.harness import BY, Hub, assert_audit_is_right, contents, new_secret, row_counts
from tests.api.memory_calls import Api, new_api, sha
from tests.api.rules import CARD, set_rules, where_stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(db: None) -> Api:
    return new_api()


def told(entry: AuditEntry) -> tuple[object, ...]:
    return (entry.command, entry.ok, entry.path, entry.new_path, entry.memory, entry.version, entry.door)


def test_a_memory_is_made_read_changed_moved_and_deleted_and_the_audit_tells_each(api: Api) -> None:
    start = api.seq
    made = api.create("/notes/a.md", "one\n")
    assert made["content"] is None and made["content_sha256"] == sha("one\n") and made["content_size_bytes"] == 4
    id, first = made["id"], made["memory_version_id"]
    assert api.memory(id) == made | {"content": "one\n"}
    assert api.memory(id, view="basic") == made
    edited = api.update(id, {"content": "two\n"}, view="full")
    assert (edited["content"], edited["id"], edited["created_at"]) == ("two\n", id, made["created_at"])
    assert edited["updated_at"] > made["updated_at"]
    moved = api.update(id, {"path": "/b.md"})
    both = api.update(id, {"path": "/c/d.md", "content": "three"})
    assert (both["path"], both["content_sha256"], both["content_size_bytes"]) == ("/c/d.md", sha("three"), 5)
    assert directories(api.hub.store) == {"/c": (1, 5)}
    assert api.delete(id) == {"type": "memory_deleted", "id": id}
    assert api.refused("GET", f"/memories/{id}")[:2] == (404, "not_found_error")
    last = MemoryVersion.objects.get(store=api.hub.store, number=5).pk
    assert [told(entry) for entry in api.entries(start)] == [
        ("create", True, "/notes/a.md", None, id, first, "api"),
        ("view", True, "/notes/a.md", None, id, first, "api"),
        ("edit", True, "/notes/a.md", None, id, edited["memory_version_id"], "api"),
        ("rename", True, "/notes/a.md", "/b.md", id, moved["memory_version_id"], "api"),
        ("edit", True, "/b.md", "/c/d.md", id, both["memory_version_id"], "api"),
        ("delete", True, "/c/d.md", None, id, last, "api"),
    ]
    assert json.loads(api.entries(start)[4].input or "") == {"memory": id, "new_path": "/c/d.md"}
    assert where_stored(sha("three")) == {"memoryhub_memory", "memoryhub_memoryversion"}
    assert_audit_is_right(api.hub.store)


def test_a_read_of_the_text_is_told_as_the_tools_view_and_a_basic_one_is_not(api: Api) -> None:
    for text in ("", "a", "a\n", "a\nb\n\n", "é\u2028\r\n" * 4000):
        api.hub.call(command="create", path="/memories/t.md", file_text=text)
        id = Memory.objects.get(store=api.hub.store, deleted_at=None).pk
        api.memory(id)
        by_api = api.entries()[-1]
        answer = api.hub.call(command="view", path="/memories/t.md")[1]
        by_tool = api.entries()[-1]
        assert (by_api.first_line, by_api.cut, by_api.rendered if hasattr(by_api, "rendered") else None) == (
            1, False, None
        )  # fmt: skip
        if not by_tool.cut:
            assert by_api.last_line == by_tool.last_line and answer
        memory = Memory.objects.get(pk=id)
        assert (memory.read_count, memory.last_read_seq) == (2, by_tool.seq)
        api.memory(id, view="basic")
        assert api.seq == by_tool.seq
        api.hub.call(command="delete", path="/memories/t.md")
    assert_audit_is_right(api.hub.store)


@pytest.mark.parametrize("path", ["/a.md", "/b.md"], ids=["no change", "a move"])
def test_a_text_that_an_update_gives_without_having_it_is_told_as_a_read(api: Api, path: str) -> None:
    id = api.create("/a.md", "secret\n")["id"]
    assert api.update(id, {"path": "/a.md"})["content"] is None
    before = api.seq
    answer = api.update(id, {"path": path}, view="full")
    assert answer["content"] == "secret\n" and answer["path"] == path
    changed, read = AuditEntry.objects.of_chain(api.hub.store.id).filter(seq__gt=before).oldest()
    assert (changed.command, changed.first_line) == ("rename", None)
    assert (read.command, read.memory, read.first_line, read.last_line) == ("view", id, 1, 2)
    assert_audit_is_right(api.hub.store)


def test_no_change_is_an_entry_and_no_version(api: Api) -> None:
    made = api.create("/a.md", "one")
    for body in ({"content": "one"}, {"path": "/a.md"}, {"content": "one", "path": "/a.md"}):
        before = row_counts()
        assert api.update(made["id"], body) == made
        assert row_counts() == before | {"entries": before["entries"] + 1}
        assert api.entries()[-1].version == made["memory_version_id"]
    assert_audit_is_right(api.hub.store)


def test_a_precondition_is_of_the_text_and_fails_once_unless_all_is_as_asked(api: Api) -> None:
    made = api.create("/a.md", "one")

    def given(digest: str, **body: str) -> dict[str, Any]:
        return {**body, "precondition": {"type": "content_sha256", "content_sha256": digest}}

    failed = (409, "memory_precondition_failed_error")
    for digest in (sha("two"), sha("one").upper(), "", "x"):
        before = row_counts()
        found = api.refused("POST", f"/memories/{made['id']}", given(digest, content="two"))
        assert found[:2] == failed and "/memories" not in found[2] and "/a.md" in found[2]
        assert row_counts() == before | {"entries": before["entries"] + 1}
        assert (api.entries()[-1].ok, api.entries()[-1].path) == (False, "/a.md")
        assert api.update(made["id"], given(digest, content="one")) == made
        assert api.update(made["id"], given(digest, path="/a.md")) == made
    assert api.refused("POST", f"/memories/{made['id']}", given(sha("x"), content="one", path="/b"))[:2] == failed
    assert api.refused("DELETE", f"/memories/{made['id']}", expected_content_sha256=sha("x"))[:2] == failed
    assert api.update(made["id"], given(sha("one"), path="/b.md", content="two"))["path"] == "/b.md"
    assert api.delete(made["id"], expected_content_sha256=sha("two"))
    assert_audit_is_right(api.hub.store)


def test_a_taken_path_names_what_stands_there(api: Api) -> None:
    a, deep = api.create("/a.md")["id"], api.create("/d/e/f.md")["id"]
    api.create("/d/z.md")

    def conflict(method: str, path: str, body: object) -> tuple[object, ...]:
        answer = api.send(method, path, body)
        error = answer.value["error"]
        return answer.status, error["type"], error["conflicting_path"], error["conflicting_memory_id"]

    kind = (409, "memory_path_conflict_error")
    for path, there in {
        "/a.md": ("/a.md", a), "/a.md/x": ("/a.md", a), "/a.md/x/y": ("/a.md", a), "/d": ("/d/e/f.md", deep),
        "/d/e": ("/d/e/f.md", deep), "/d/e/f.md": ("/d/e/f.md", deep),
    }.items():  # fmt: skip
        assert conflict("POST", "/memories", {"path": path, "content": "text\n"}) == (*kind, *there)
        assert (api.entries()[-1].command, api.entries()[-1].path, api.entries()[-1].ok) == ("create", path, False)
    other = api.create("/other.md")["id"]
    for path, there in {"/a.md": ("/a.md", a), "/d": ("/d/e/f.md", deep), "/a.md/x": ("/a.md", a)}.items():
        assert conflict("PATCH", f"/memories/{other}", {"path": path, "content": "new"}) == (*kind, *there)
    assert conflict("POST", f"/memories/{other}", {"path": "/other.md/x"}) == (*kind, "/other.md", other)
    assert conflict("POST", f"/memories/{deep}", {"path": "/d/e"}) == (*kind, "/d/e/f.md", deep)
    assert contents(api.hub.store)["/memories/other.md"] == "text\n"
    assert_audit_is_right(api.hub.store)


def test_a_store_set_to_overwrite_does_so_for_the_tool_alone() -> None:
    api = new_api(overwrite_on_create=True)
    api.create("/a.md", "one")
    assert api.refused("POST", "/memories", {"path": "/a.md", "content": "two"})[0] == 409
    assert contents(api.hub.store) == {"/memories/a.md": "one"}


def test_sentences_say_the_apis_paths(api: Api) -> None:
    api.create("/memories/a.md")
    taken = api.refused("POST", "/memories", {"path": "/memories/a.md", "content": ""})
    assert taken[2] == "There is a memory or a directory at /memories/a.md already."
    below = api.refused("POST", "/memories", {"path": "/memories/a.md/b", "content": ""})
    assert below[2] == "Cannot create /memories/a.md/b: /memories/a.md is a memory, not a directory."
    for path, sentence in {
        "a.md": "Path must start with /, got: a.md.",
        "/a/../b": "Path /a/../b would lead out of the memory store.",
        "/a/": "Path /a/ is not allowed: the path of a memory must not end with /.",
        "/": "Path / is not allowed: it names no memory.",
        "/a//b": "Path /a//b is not allowed: names must not be empty.",
        "/e\u0301": "Path /e\u0301 is not allowed: it must be in Unicode's normalization form C.",
        SYNC_MARKER: f"Path {SYNC_MARKER} is not allowed: it is the marker of the SDK's own copies of a memory store.",
    }.items():
        before = row_counts()
        assert api.refused("POST", "/memories", {"path": path, "content": ""})[2] == sentence
        assert row_counts() == before  # the memory store was never asked


def test_an_archived_store_reads_and_deletes_and_takes_nothing(api: Api) -> None:
    one, two = api.create("/a.md")["id"], api.create("/b.md")["id"]
    stores.set_archived(api.hub.store, True, **BY)
    for method, path, body in (
        ("POST", "/memories", {"path": "/a.md", "content": ""}),
        ("POST", f"/memories/{one}", {"content": "new"}), ("POST", f"/memories/{one}", {"content": "text\n"}),
    ):  # fmt: skip
        assert api.refused(method, path, body)[:2] == (400, "invalid_request_error")
        assert api.entries()[-1].ok is False
    assert api.memory(one)["content"] == "text\n" and len(api.all("memories")) == 2
    assert api.delete(two)["id"] == two
    assert_audit_is_right(api.hub.store)


def test_limits_are_the_tools_own_and_a_refusal_is_400() -> None:
    api = new_api(limit_memory_bytes=10, limit_memories=2, limit_total_bytes=15, limit_versions=2)
    id = api.create("/a.md", "1234567890")["id"]
    bad = (400, "invalid_request_error")
    for body in ({"path": "/b.md", "content": "12345678901"}, {"path": "/b.md", "content": "123456"}):
        assert api.refused("POST", "/memories", body)[:2] == bad
    api.create("/b.md", "")
    assert api.refused("POST", "/memories", {"path": "/c.md", "content": ""})[:2] == bad
    assert api.refused("POST", f"/memories/{id}", {"content": "x" * 11, "path": "/c.md"})[:2] == bad
    api.update(id, {"content": "less", "path": "/c.md"})
    for body in ({"content": "l"}, {"path": "/d.md"}, {"path": "/d.md", "content": "l"}):
        assert api.refused("POST", f"/memories/{id}", body)[:2] == bad
    assert "2 versions" in (api.entries()[-1].message or "")
    assert contents(api.hub.store) == {"/memories/c.md": "less", "/memories/b.md": ""}
    assert_audit_is_right(api.hub.store)


def test_calls_are_counted_reads_too() -> None:
    api = new_api(limit_calls=3)
    api.create("/a.md")
    api.all("memories")
    api.all("memory_versions")
    start = api.seq
    for path in ("/memories", "/memories/mem_x", "/memory_versions"):
        answer = api.send("GET", path)
        assert (answer.status, answer.value["error"]["type"]) == (429, "rate_limit_error")
        assert int(answer.headers["retry-after"]) > 0
    assert api.seq == start


@pytest.mark.both_databases
def test_sensitive_text_is_masked_or_blocked_and_nothing_of_it_is_kept(api: Api) -> None:
    set_rules(api.hub.store, card="mask", email="block", phone="flag")
    made = api.create("/a.md", f"pay {CARD}\n", view="full")
    assert made["content"] == "pay [redacted:card]\n" and made["content_sha256"] == sha(made["content"])
    again = api.update(made["id"], {"content": f"pay {CARD}\n", "precondition": {
        "type": "content_sha256", "content_sha256": sha("other")}}, view="full")  # fmt: skip
    assert again == made  # it already is what such a request makes of it
    both = api.update(made["id"], {"content": f"new {CARD}", "path": "/b.md"}, view="full")
    assert (both["content"], both["path"]) == ("new [redacted:card]", "/b.md")
    for body in ({"content": "ask ada@example.org"}, {"path": f"/{CARD}.md"}, {"path": "/ada@example.org"}):
        assert api.refused("POST", f"/memories/{made['id']}", body)[0] == 400
    status, _, message = api.refused("POST", "/memories", {"path": f"/{CARD}", "content": ""})
    assert status == 400 and CARD not in message
    api.update(made["id"], {"content": "call +44 20 7946 0958", "path": "/+44 20 7946 0123"})
    assert {row.in_path for row in Finding.objects.filter(memory_id=made["id"])} == {False, True}
    assert where_stored(CARD) == set() and where_stored("ada@example.org") == set()
    assert_audit_is_right(api.hub.store)


def test_what_a_hold_keeps_is_neither_deleted_nor_moved_out(api: Api) -> None:
    held, kept = api.create("/a.md")["id"], api.create("/d/b.md")["id"]
    place(api.hub.store.id, ACT, kind=HoldKind.HOLD, reason="a court", memory=held)
    place(api.hub.store.id, ACT, kind=HoldKind.HOLD, reason="a court", path="/d")
    assert api.refused("DELETE", f"/memories/{held}")[0] == 400
    assert api.refused("POST", f"/memories/{kept}", {"path": "/out.md", "content": "new"})[0] == 400
    assert (api.entries()[-1].command, api.entries()[-1].ok) == ("edit", False)
    assert api.update(kept, {"content": "new", "path": "/d/c.md"})["path"] == "/d/c.md"


def test_what_is_not_there_is_404_and_no_entry(api: Api) -> None:
    other = new_api()
    theirs, gone = other.create("/b.md"), api.create("/gone.md")["id"]
    api.delete(gone)
    before = row_counts()
    for id in (gone, theirs["id"], "mem_x", "%00", "é", theirs["memory_version_id"]):
        for method, body in (("GET", b""), ("POST", {"content": "x"}), ("PATCH", {"path": "/c"}), ("DELETE", b"")):
            assert api.refused(method, f"/memories/{id}", body)[:2] == (404, "not_found_error")
    assert row_counts() == before


def test_a_session_is_named_and_a_weak_key_is_told_so(api: Api) -> None:
    named = Api(api.hub, "run-1")
    made = named.create("/a.md")
    version = api.version(made["memory_version_id"])
    assert version["created_by"]["type"] == "session_actor" and version["created_by"]["session_id"][:5] == "sesn_"
    edited = api.update(made["id"], {"content": "new"})
    assert api.version(edited["memory_version_id"])["created_by"]["type"] == "api_actor"
    reader = Api(Hub(api.hub.store, new_secret(api.hub.store, Access.READ)))
    before = api.seq
    for method, path, body in (
        ("POST", "/memories", {"path": "/b", "content": ""}), ("POST", f"/memories/{made['id']}", {"content": ""}),
        ("DELETE", f"/memories/{made['id']}", b""),
    ):  # fmt: skip
        assert reader.refused(method, path, body)[:2] == (403, "permission_error")
        assert AuditEntry.objects.of_chain(HUB).newest()[0].command == "refused"
    assert api.seq == before and reader.memory(made["id"])["content"] == "new"


# ------------------------------------------------------------------------------------------------ lists

PLACES = (
    "/a b", "/a!/x", "/a-b/c", "/a.md", "/a/..x", "/a/b/c", "/a/b/d", "/a0", "/B/x", "/é", "/ée/x", "/.hidden/x",
    "/node_modules/m", "/日本/語", "/😀", "/z/z/z/z", "/ÿ", "/a1/a/b",
)  # fmt: skip


@pytest.fixture
def wide(db: None) -> Api:
    """A store with directories whose names begin alike, at both depths."""
    api = new_api()
    for path in PLACES:
        assert api.hub.call(command="create", path=f"/memories{path}", file_text=path)[0] == "ok"
    api.hub.call(command="create", path=f"/memories{SYNC_MARKER}", file_text="")
    return api


def test_lists_are_in_byte_order_at_both_depths_whatever_the_page(wide: Api) -> None:
    there = sorted((p.removeprefix("/memories") for p in contents(wide.hub.store)), key=str.encode)
    there.remove(SYNC_MARKER)
    for prefix in ("/", "/a/", "/a/b/", "/B/", "/none/", "/a.md/"):
        beneath = [path for path in there if path.startswith(prefix)]
        children = []
        for path in beneath:
            head, slash, _ = path[len(prefix) :].partition("/")
            if prefix + head + slash not in children:
                children.append(prefix + head + slash)
        for limit in (1, 2, 7, 100):
            shown = wide.all("memories", limit, path_prefix=prefix)
            assert [item["path"] for item in shown] == beneath
            rolled = wide.all("memories", limit, path_prefix=prefix, depth=1)
            assert [item["path"] for item in rolled] == sorted(children, key=str.encode)
            assert all((item["type"] == "memory_prefix") == item["path"].endswith("/") for item in rolled)
            assert all(set(item) == {"type", "path"} for item in rolled if item["type"] == "memory_prefix")
    assert [item["path"] for item in wide.all("memories")] == there


def test_a_full_list_tells_each_text_that_it_gives_in_one_group(wide: Api) -> None:
    before = wide.seq
    assert all(item["content"] is None for item in wide.all("memories"))
    assert wide.seq == before
    for depth in (0, 1):
        start = wide.seq
        items = wide.good("GET", "/memories", view="full", limit=100, depth=depth)["data"]
        given = [item for item in items if item["type"] == "memory"]
        assert all(item["content"] == item["path"] for item in given) and len(items) <= 20
        entries = wide.entries(start)
        assert [(e.command, e.memory, e.version, e.path) for e in entries] == [
            ("view", item["id"], item["memory_version_id"], item["path"]) for item in given
        ]
        assert len({entry.group for entry in entries}) == 1 and entries[0].group is not None
    assert_audit_is_right(wide.hub.store)


@pytest.mark.both_databases
def test_a_full_page_has_twenty_items_and_a_wrong_query_is_400(api: Api) -> None:
    for number in range(23):
        api.create(f"/{number:02}")
    assert [len(page) for page in api.pages("memories", view="full")] == [20, 3]
    assert [len(page) for page in api.pages("memory_versions", view="full")] == [20, 3]
    cursor = api.good("GET", "/memories", limit=5)["next_page"]
    for query in (
        {"depth": 2}, {"depth": "x"}, {"path_prefix": "/a"}, {"path_prefix": "a/"}, {"path_prefix": ""}, {"limit": 0},
        {"limit": 101}, {"view": "none"}, {"page": "page_x"}, {"page": cursor, "depth": 1}, {"page": ""},
        {"page": cursor, "path_prefix": "/0/"}, {"path_prefix": "//"}, {"path_prefix": "/a/../"}, {"depth": -1},
    ):  # fmt: skip
        assert api.refused("GET", "/memories", **query)[:2] == (400, "invalid_request_error"), query
    assert len(api.good("GET", "/memories", page=cursor, limit=7)["data"]) == 7

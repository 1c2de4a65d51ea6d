"""The pages of directories and the tree beside them: what lies where, page by page, and what is done with all of it."""

import re
from html import unescape
from urllib.parse import quote

import pytest
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Directory, Door, Memory, MemoryStore, MemoryVersion, Role, User
from memoryhub.web.common import addresses
from memoryhub.web.memories import listing
from tests.support.fixtures import AT, BY, new_person, signed_in
from tests.support.in_turn import in_turn
from tests.support.long import some
from tests.web.browser_forms import form_with, forms

ODD_NAMES = (
    "what?", "a#b", "100%", "100%25", "a;b=c", "it's \"quoted\"", "<script>alert(1)<", "two words", "顧客メモ", "a&b",
    "a+b", "{{ x }}", "~:@!$,*()[]|^`", "x\u00a0\u3164x", "é",
)  # fmt: skip
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def curator(store: MemoryStore) -> User:
    """Somebody who also edits."""
    user = new_person("Carol")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    return user


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


def write(store: MemoryStore, path: str, content: str = "text") -> Memory:
    done = curation.create(store.id, path, content, Act(Actor.system("tests"), Door.COMMAND, AT))
    return Memory.objects.get(pk=done.memory)


def page(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def names_in(html: str) -> list[str]:
    """The names that the list of a directory shows."""
    return [unescape(name) for name in re.findall(r'<a class="row-link"[^>]*>(.*?)</a>', html)]


def test_a_store_lists_its_directories_and_then_its_memories(client: Client, store: MemoryStore) -> None:
    for path in ("/b.md", "/a.md", "/z/1.md", "/z/2.md", "/notes/deep/x.md"):
        write(store, path)
    html = page(client, f"/stores/{store.id}/")
    assert names_in(html) == ["notes", "z", "a.md", "b.md"]
    assert f"/stores/{store.id}/tree/notes" in html


def test_a_directory_shows_sizes_counts_and_who_changed_what(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/notes/a.md", "x" * 1536)
    html = page(client, f"/stores/{store.id}/tree/notes")
    assert "1.5" in html
    assert "1 memory" in html
    assert "tests" in html
    assert f"/audit/{store.id}/{memory.head.seq}" in html
    assert 'data-copy-text="/notes"' in html


def test_hidden_memories_are_shown_and_marked(client: Client, store: MemoryStore) -> None:
    for path in ("/.secret.md", "/node_modules/x.js", "/plain.md"):
        write(store, path)
    html = page(client, f"/stores/{store.id}/")
    assert names_in(html) == ["node_modules", ".secret.md", "plain.md"]
    assert html.count("badge-hidden") == 2
    assert html.count('class="tree-hidden"') == 2
    inside = page(client, f"/stores/{store.id}/tree/node_modules")
    assert "hidden from directory views" in inside


def test_an_empty_store_tells_how_to_begin(client: Client, bob: User, store: MemoryStore) -> None:
    html = unescape(page(client, f"/stores/{store.id}/"))
    assert f"/v1/memory_stores/{store.id}/tool_calls" in html
    assert "curl" in html
    assert "urllib.request" in html
    assert f"/stores/{store.id}/new" in html
    assert f"/stores/{store.id}/new" not in page(signed_in(bob), f"/stores/{store.id}/")


def test_the_tree_is_open_down_to_what_the_page_shows(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/a/b/c.md")
    write(store, "/other/d.md")
    html = page(client, f"/stores/{store.id}/memories/{memory.id}")
    assert html.count('aria-expanded="true"') == 2
    assert html.count('hx-trigger="tree:open"') == 1
    assert re.search(rf'aria-level="3"[^>]*aria-current="page"[^>]*/memories/{memory.id}"', html)
    assert f'hx-get="/stores/{store.id}/children/other"' in html


def test_a_directory_of_the_tree_is_opened_on_demand(client: Client, store: MemoryStore) -> None:
    write(store, "/a/b/c.md")
    part = client.get(f"/stores/{store.id}/children/a", **HTMX).content.decode()
    assert "<html" not in part
    assert part.count("<li") == 1
    assert f'hx-get="/stores/{store.id}/children/a/b"' in part
    assert 'aria-level="2"' in part


def test_without_script_the_tree_leads_to_the_pages(client: Client, store: MemoryStore) -> None:
    write(store, "/a/b/c.md")
    answer = client.get(f"/stores/{store.id}/children/a/b")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/stores/{store.id}/tree/a/b")


@pytest.fixture
def twenty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a directory has twenty rows."""
    monkeypatch.setattr(listing, "SIZE", 20)


@pytest.mark.usefixtures("twenty")
def test_a_large_directory_goes_on_by_key(client: Client, store: MemoryStore) -> None:
    for number in range(3):
        write(store, f"/big/d{number}/x.md")
    for number in range(25):
        write(store, f"/big/{number:03}.md")
    first = page(client, f"/stores/{store.id}/tree/big")
    assert names_in(first) == ["d0", "d1", "d2", *(f"{number:03}.md" for number in range(17))]
    following = next(unescape(url) for url in re.findall(r'rel="next" href="([^"]*)"', first))
    assert names_in(page(client, following)) == [f"{number:03}.md" for number in range(17, 25)]
    part = client.get(following.replace("/tree/", "/children/"), **HTMX).content.decode()
    assert part.count("<li") == 8


@pytest.mark.usefixtures("twenty")
def test_the_tree_shows_a_memory_that_lies_on_a_later_page(client: Client, store: MemoryStore) -> None:
    made = [write(store, f"/{number:03}.md") for number in range(22)]
    html = page(client, f"/stores/{store.id}/memories/{made[-1].id}")
    assert "021.md</span>" in html
    assert "020.md</span>" not in html
    assert "Next 200" in html


@pytest.mark.usefixtures("twenty")
def test_pages_of_directories_alone_go_on_by_key(store: MemoryStore) -> None:
    for number in range(22):
        write(store, f"/d{number:03}/x.md")
    write(store, "/a.md")
    root = Directory.objects.get(store=store, path="")
    first = listing.children(root)
    assert (len(first.items), first.next) == (20, "d/d019")
    second = listing.children(root, first.next or "")
    assert [item.name for item in second.items] == ["d020", "d021", "a.md"]
    assert second.next is None


@pytest.mark.both_databases
@pytest.mark.parametrize("after", ["nonsense", "d/", "m/", "m/zzz", "d/%F0%9F"])
def test_a_malformed_key_is_no_error(client: Client, store: MemoryStore, after: str) -> None:
    write(store, "/a.md")
    assert client.get(f"/stores/{store.id}/?after={after}").status_code == 200


@pytest.mark.push
@pytest.mark.both_databases(each_case=True)
@pytest.mark.parametrize("name", some(ODD_NAMES, 3))
def test_any_name_works_in_every_address_and_is_inert(client: Client, store: MemoryStore, name: str) -> None:
    memory = write(store, f"/{name}/{name}.md")
    for act in ("tree", "tree-rename", "tree-delete"):
        url = f"/stores/{store.id}/{act}/{quote(name, safe='')}"
        html = page(client, url)
        assert "<script>alert" not in html
        assert "{{ x }}" not in name or "{{ x }}" in html
    assert addresses.of_directory(store.id, f"/{name}") in unescape(page(client, f"/stores/{store.id}/"))
    assert client.get(addresses.of_directory(store.id, f"/{name}")).status_code == 200
    html = page(client, f"/stores/{store.id}/memories/{memory.id}")
    assert "<script>alert" not in html
    assert client.get(addresses.of_children(store.id, f"/{name}"), **HTMX).content.count(b"<li") == 1
    moved = client.post(addresses.of_act("rename_directory", store.id, f"/{name}"), {"new_path": f"/new {name}"})
    assert moved.status_code == 303
    assert client.get(moved.headers["Location"]).status_code == 200
    gone = client.post(addresses.of_act("delete_directory", store.id, f"/new {name}"), {})
    assert gone.status_code == 303


@pytest.mark.both_databases
def test_the_path_of_a_memory_leads_to_its_page(client: Client, store: MemoryStore) -> None:
    memory = write(store, "/notes/a.md")
    answer = client.get(f"/stores/{store.id}/tree/notes/a.md")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/stores/{store.id}/memories/{memory.id}")


def test_a_path_where_nothing_is_says_so(client: Client, store: MemoryStore) -> None:
    write(store, "/notes/a.md")
    answer = client.get(f"/stores/{store.id}/tree/notes/gone")
    assert answer.status_code == 404
    assert "There is nothing at /notes/gone" in answer.content.decode()
    assert f"/stores/{store.id}/tree/notes" in answer.content.decode()


@pytest.mark.parametrize("path", ["a%00b", "/a", "%ff", "..", "a" * 3000, "%2e%2e/x"])
def test_a_malformed_path_is_not_found(client: Client, store: MemoryStore, path: str) -> None:
    write(store, "/a/b.md")
    for act in ("tree", "children", "tree-rename", "tree-delete"):
        assert client.get(f"/stores/{store.id}/{act}/{path}", **HTMX).status_code == 404


def test_a_directory_is_renamed_with_all_beneath_it(curator: User, store: MemoryStore) -> None:
    for path in ("/a/1.md", "/a/b/2.md"):
        write(store, path)
    client, url = signed_in(curator), f"/stores/{store.id}/tree-rename/a"
    fields = form_with(page(client, url), "new_path")
    assert fields["new_path"] == "/a"
    answer = client.post(url, fields | {"new_path": "old/a", "note": "tidy"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/stores/{store.id}/tree/old/a")
    assert sorted(Memory.objects.live().values_list("path", flat=True)) == ["/old/a/1.md", "/old/a/b/2.md"]
    entry = AuditEntry.objects.of_chain(store.id).newest()[0]
    assert (entry.command, entry.path, entry.new_path) == ("rename", "/a", "/old/a")
    assert (entry.note, entry.actor_id) == ("tidy", curator.id)


@in_turn(("new_path", "said"), [
    ("", "required"), ("/b", "is already at"), ("/", "is already at"), ("/a/inside", "inside itself"),
    ("/x.md/a", "/x.md is a memory"), ("/../a", "lead out"), ("/a\\b", "backslashes"), ("/c/./d", "single dot"),
    ("/\u202eevil", "invisible"), ("/" + "n" * 300, "longer"), ("/" + "d/" * 30, "deeper"),
    ("/a..", "lead out"), ("/" + "/".join("d" * 20), "deeper"), ("/" + "/".join(["n" * 204] * 5), "longer"),
])  # fmt: skip
def test_a_directory_goes_to_no_bad_place(curator: User, store: MemoryStore, new_path: str, said: str) -> None:
    for path in ("/a/1.md", "/b/2.md", "/x.md"):
        write(store, path)
    before = AuditEntry.objects.count()
    answer = signed_in(curator).post(f"/stores/{store.id}/tree-rename/a", {"new_path": new_path})
    assert answer.status_code == 200
    html = unescape(answer.content.decode())
    assert said in html
    assert "/memories/x.md" not in html
    assert AuditEntry.objects.count() == before


def test_deleting_a_directory_says_how_many_memories_go(curator: User, store: MemoryStore) -> None:
    for path in ("/a/1.md", "/a/b/2.md", "/a/b/3.md", "/keep.md"):
        write(store, path)
    client, url = signed_in(curator), f"/stores/{store.id}/tree-delete/a/b"
    assert "all 2 memories" in page(client, url)
    answer = client.post(url, {"note": "old"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/stores/{store.id}/tree/a")
    assert "2 memories are now in the trash" in page(client, answer.headers["Location"])
    assert sorted(Memory.objects.live().values_list("path", flat=True)) == ["/a/1.md", "/keep.md"]
    entry = AuditEntry.objects.of_chain(store.id).newest()[0]
    assert (entry.command, entry.path, entry.note) == ("delete", "/a/b", "old")
    assert MemoryVersion.objects.of_entry(store.id, entry.seq).count() == 2


def test_the_root_is_neither_renamed_nor_deleted(client: Client, store: MemoryStore) -> None:
    write(store, "/a.md")
    for act in ("tree-rename", "tree-delete"):
        assert client.post(f"/stores/{store.id}/{act}/", {"new_path": "/x"}).status_code == 404
    assert Memory.objects.live().count() == 1


def test_in_an_archived_store_directories_can_only_be_deleted(client: Client, store: MemoryStore) -> None:
    write(store, "/a/1.md")
    stores.set_archived(store, True, **BY)
    html = page(client, f"/stores/{store.id}/tree/a")
    assert "is archived" in html
    assert "tree-rename" not in html
    assert "/new" not in html.replace("/news", "")
    answer = client.post(f"/stores/{store.id}/tree-rename/a", {"new_path": "/b"})
    assert "archived and cannot be changed" in answer.content.decode()
    assert client.post(f"/stores/{store.id}/tree-delete/a", {}).status_code == 303


def test_viewers_look_and_change_nothing(bob: User, store: MemoryStore) -> None:
    write(store, "/a/1.md")
    client = signed_in(bob)
    html = page(client, f"/stores/{store.id}/tree/a")
    assert not any(part in html for part in ("tree-rename", "tree-delete", f"/stores/{store.id}/new"))
    assert {action for action, _ in forms(html) if store.id in action} == {f"/stores/{store.id}/selection"}  # to export
    assert not any(f'value="{act}"' in html for act in ("move", "delete", "restore"))
    for act in ("tree-rename", "tree-delete"):
        assert client.get(f"/stores/{store.id}/{act}/a").status_code == 403
        assert client.post(f"/stores/{store.id}/{act}/a", {"new_path": "/b"}).status_code == 403


def test_without_a_role_nothing_is_found(charlie: User, store: MemoryStore) -> None:
    write(store, "/a/1.md")
    client = signed_in(charlie)
    for url in ("", "tree/a", "tree/none", "children/", "children/a", "tree-rename/a", "tree-delete/a"):
        assert client.get(f"/stores/{store.id}/{url}").status_code == 404
        assert Client().get(f"/stores/{store.id}/{url}").status_code == 302
    assert client.get("/stores/memstore_none/").status_code == 404


@pytest.mark.parametrize("url", ["", "tree/a", "children/", "children/a"])
def test_reading_is_by_get_alone(client: Client, store: MemoryStore, url: str) -> None:
    write(store, "/a/1.md")
    assert client.post(f"/stores/{store.id}/{url}").status_code == 405
    before = AuditEntry.objects.count()
    client.get(f"/stores/{store.id}/{url}", **HTMX)
    assert AuditEntry.objects.count() == before


def test_a_page_of_two_hundred_memories_asks_the_database_a_fixed_number_of_questions(
    client: Client, store: MemoryStore, django_assert_max_num_queries
) -> None:  # type: ignore[no-untyped-def]
    for number in range(60):
        write(store, f"/{number:03}.md")
    with django_assert_max_num_queries(19):
        page(client, f"/stores/{store.id}/")

"""Acts on several memories at once, as a person does them on the pages."""

import json
import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Directory, Memory, MemoryStore, Role, User
from memoryhub.web.audit import sentences
from memoryhub.web.memories import selection
from tests.support.fixtures import BY, new_person, signed_in
from tests.support.in_turn import in_turn
from tests.support.long import some
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with, forms
from tests.web.memories.pages import HOSTILE, act, new_curator, newest, page, write

pytestmark = pytest.mark.django_db
ODD = ("what?", "<script>alert(1)<", 'it\'s "quoted"', "{{ x }}", "a&b;c", "x\u00a0\u3164x", "顧客メモ", "100%25")


@pytest.fixture
def client(store: MemoryStore) -> Client:
    return signed_in(new_curator(store))


def url(store: MemoryStore) -> str:
    return reverse("selection", args=[store.id])


def directory(store: MemoryStore, path: str) -> str:
    return str(Directory.objects.get(store=store, path=path).pk)


def live(store: MemoryStore) -> set[str]:
    return set(Memory.objects.live().filter(store=store).values_list("path", flat=True))


def confirm(client: Client, store: MemoryStore, asked: str, **typed: str) -> str:
    """Sends the form of a page that asks, and gives the page that follows."""
    answer = client.post(url(store), form_with(asked, "digest") | typed, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def ask(client: Client, store: MemoryStore, **fields: object) -> str:
    answer = client.post(url(store), fields)
    assert answer.status_code == 200
    return str(answer.content.decode())


def words(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


class TestListing:
    def test_each_row_has_a_box_with_its_name_and_what_it_counts(self, client: Client, store: MemoryStore) -> None:
        memory = write(store, "/a/b/1.md", "x" * 10)
        write(store, "/a/b/2.md")
        html = page(client, f"/stores/{store.id}/tree/a")
        assert f'value="{directory(store, "/a/b")}" data-select data-count="2"' in html
        html = page(client, f"/stores/{store.id}/tree/a/b")
        assert f'value="{memory.id}" data-select data-count="1" data-size="10"' in html
        assert 'aria-label="Select 1.md"' in html
        assert 'name="act" value="move"' in html and 'name="act" value="delete"' in html

    def test_viewers_can_export_and_nothing_else(self, bob: User, store: MemoryStore) -> None:
        memory = write(store, "/a/1.md")
        html = page(signed_in(bob), f"/stores/{store.id}/tree/a")
        assert 'name="format" value="zip"' in html and 'name="act"' not in html
        for wanted in ("move", "delete", "restore"):
            assert signed_in(bob).post(url(store), {"act": wanted, "id": memory.id}).status_code == 403
        assert live(store) == {"/a/1.md"}

    def test_all_of_a_directory_can_be_chosen_where_it_has_more_pages(self, client: Client, store: MemoryStore) -> None:
        for number in range(201):
            write(store, f"/big/{number:03}.md")
        html = page(client, f"/stores/{store.id}/tree/big")
        assert "All of this directory: 201 memories" in words(html)
        asked = ask(client, store, act="delete", everything="1", **{"in": "/big"})
        assert "Delete 201 memories" in asked and "and 1 more" in asked
        assert "201 memories are in the trash now" in words(confirm(client, store, asked))
        assert live(store) == set()


class TestMove:
    def test_it_asks_where_to_and_shows_what_will_be_where(self, client: Client, store: MemoryStore) -> None:
        one, two = write(store, "/a/1.md"), write(store, "/a/b/2.md")
        asked = ask(client, store, act="move", id=[one.id, directory(store, "/a/b")], **{"in": "/a"})
        assert "Move 2 memories" in asked and "/a/1.md" in asked and "Show what will move" in asked
        assert '<option value="/a/b">' in asked
        shown = ask(client, store, **form_with(asked, "into") | {"into": " archive/2026/ "})
        assert "/archive/2026/b" in shown and "The directory is new" in shown
        assert live(store) == {"/a/1.md", "/a/b/2.md"}
        html = confirm(client, store, shown, note="tidy")
        assert live(store) == {"/archive/2026/1.md", "/archive/2026/b/2.md"}
        entry = newest(store)
        assert reverse("undo_entry", args=[store.id, entry.seq]) in html
        assert "2 memories moved to /archive/2026." in words(html)
        assert (entry.command, entry.note, entry.actor_kind) == ("move", "tidy", "user")
        said = sentences.words_of(entry, sentences.told_of(entry.input), {})
        assert said == "moved 2 memories to /archive/2026: /a/1.md, /a/b/"
        assert Memory.objects.get(pk=two.id).path == "/archive/2026/b/2.md"

    def test_an_undo_takes_it_back(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        shown = ask(client, store, act="move", id=one.id, into="/b")
        confirm(client, store, shown)
        undo = reverse("undo_entry", args=[store.id, newest(store).seq])
        client.post(undo, form_with(page(client, undo), "digest"))
        assert live(store) == {"/a/1.md"}

    def test_paths_that_are_taken_are_said_before_and_nothing_moves(self, client: Client, store: MemoryStore) -> None:
        one, two = write(store, "/a/1.md"), write(store, "/a/2.md")
        write(store, "/b/1.md")
        before = AuditEntry.objects.count()
        shown = ask(client, store, act="move", id=[one.id, two.id], into="/b")
        assert "A memory or a directory is already at /b/1.md" in words(shown)
        assert not [fields for _, fields in forms(shown) if "digest" in fields]
        assert (live(store), AuditEntry.objects.count()) == ({"/a/1.md", "/a/2.md", "/b/1.md"}, before)

    def test_somebody_faster_is_told_and_the_new_state_is_shown(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        shown = ask(client, store, act="move", id=one.id, into="/b")
        write(store, "/b/1.md")
        html = confirm(client, store, shown)
        assert "changed in the meantime" in html and "A memory or a directory is already at /b/1.md" in words(html)
        assert live(store) == {"/a/1.md", "/b/1.md"}

    def test_the_top_of_the_store_is_a_slash(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        confirm(client, store, ask(client, store, act="move", id=one.id, into="/"))
        assert live(store) == {"/1.md"}

    @pytest.mark.both_databases
    @pytest.mark.parametrize("into", ["", "../x", "/a\0b", "/x/./y", "/\u202e", "/" + "x" * 3000, "a" * 6000])
    def test_what_can_be_no_directory_is_said(self, client: Client, store: MemoryStore, into: str) -> None:
        one = write(store, "/a/1.md")
        html = ask(client, store, act="move", id=one.id, into=into)
        assert 'id="id_into_error"' in html and 'aria-invalid="true"' in html

    def test_nothing_moves_into_a_memory_or_itself(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        assert "is a memory and not a directory" in ask(client, store, act="move", id=one.id, into="/a/1.md/x")
        html = ask(client, store, act="move", id=directory(store, "/a"), into="/a/b")
        assert "A directory cannot move into itself" in html
        assert "Everything that you selected is already in /a" in words(
            ask(client, store, act="move", id=one.id, into="/a")
        )

    def test_an_archived_store_says_so(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        shown = ask(client, store, act="move", id=one.id, into="/b")
        stores.set_archived(store, True, **BY)
        assert "archived" in confirm(client, store, shown)
        assert live(store) == {"/a/1.md"}


class TestDelete:
    def test_it_asks_with_the_count_and_then_all_is_in_the_trash(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        for path in ("/a/b/2.md", "/a/b/3.md", "/keep.md"):
            write(store, path)
        asked = ask(client, store, act="delete", id=[one.id, directory(store, "/a/b")], **{"in": "/a"})
        assert "Delete 3 memories" in asked and "go to the trash" in asked
        assert len(live(store)) == 4
        html = confirm(client, store, asked, note="old")
        assert live(store) == {"/keep.md"}
        assert "3 memories are in the trash now." in words(html)
        assert reverse("undo_entry", args=[store.id, newest(store).seq]) in html
        assert newest(store).note == "old"

    def test_two_people_who_delete_the_same_do_it_once(self, client: Client, alice: User, store: MemoryStore) -> None:
        one, two = write(store, "/a/1.md"), write(store, "/a/2.md")
        asked = ask(client, store, act="delete", id=[one.id, two.id])
        others = ask(signed_in(alice), store, act="delete", id=[two.id])
        confirm(signed_in(alice), store, others)
        html = confirm(client, store, asked)
        assert "changed in the meantime" in html and "1 of the selected items no longer exists here" in words(html)
        assert live(store) == {"/a/1.md"}
        confirm(client, store, html)
        assert live(store) == set()

    def test_what_is_gone_altogether_is_said(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        asked = ask(client, store, act="delete", id=one.id)
        curation.delete(store.id, "/a/1.md", act())
        assert "The selected items no longer exist" in confirm(client, store, asked)

    def test_an_archived_store_can_be_emptied(self, client: Client, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        stores.set_archived(store, True, **BY)
        confirm(client, store, ask(client, store, act="delete", id=one.id))
        assert live(store) == set()


class TestAny:
    def test_nothing_ticked_is_said(self, client: Client, store: MemoryStore) -> None:
        for wanted in ("move", "delete", "restore", "export"):
            assert "Select something first" in ask(client, store, act=wanted)

    @pytest.mark.parametrize("wanted", ["", "purge", "Move"])
    def test_another_act_is_refused(self, client: Client, store: MemoryStore, wanted: str) -> None:
        assert client.post(url(store), {"act": wanted, "id": "mem_1"}).status_code == 400

    def test_a_get_is_no_act(self, client: Client, store: MemoryStore) -> None:
        assert client.get(url(store), {"act": "delete", "id": "x"}).status_code == 405

    def test_charlie_and_strangers_find_nothing(self, charlie: User, store: MemoryStore) -> None:
        one = write(store, "/a/1.md")
        given = {"act": "delete", "id": one.id}
        assert signed_in(charlie).post(url(store), given).status_code == 404
        assert Client().post(url(store), given).status_code == 302

    def test_ids_of_another_store_are_not_found(self, client: Client, store: MemoryStore) -> None:
        other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
        theirs = write(other, "/secret.md")
        for wanted in ("delete", "move", "restore", "export"):
            html = ask(client, store, act=wanted, id=theirs.id, format="zip")
            assert "The selected items no longer exist" in html and "secret" not in html
        assert live(other) == {"/secret.md"}

    @pytest.mark.parametrize("wanted", ["delete", "move", "restore"])
    @in_turn("id", ["mem_", "mem_\0", "x' or 1=1", "mem_" + "é" * 26, "dir_" + "0" * 26, "\ud7ff", "?0"])
    def test_malformed_ids_are_counted_as_gone(self, client: Client, store: MemoryStore, wanted: str, id: str) -> None:
        one = write(store, "/a/1.md")
        if wanted == "restore":
            curation.delete(store.id, "/a/1.md", act())
        html = ask(client, store, act=wanted, id=[one.id, id])
        assert "1 of the selected items no longer exists here" in words(html)

    @pytest.mark.parametrize("place", ["/../x", "no slash", "/a\0", "/nowhere", "/" + "x" * 3000])
    def test_a_malformed_place_is_no_error(self, client: Client, store: MemoryStore, place: str) -> None:
        one = write(store, "/a/1.md")
        assert client.post(url(store), {"act": "delete", "id": one.id, "in": place}).status_code == 200
        html = ask(client, store, act="delete", everything="1", **{"in": place})
        assert "Select something first" in html or "The selected items no longer exist" in html

    def test_too_much_is_said(self, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(3):
            write(store, f"/a/{number}.md")
        monkeypatch.setattr("memoryhub.actions.memories.selection.selected.__kwdefaults__", {"most": 2})
        html = ask(client, store, act="delete", id=directory(store, "/a"))
        assert "At most 2 memories can be changed at once" in html
        assert len(live(store)) == 3

    @pytest.mark.parametrize("name", some(ODD, 2))
    def test_any_name_is_inert_on_every_page(self, client: Client, store: MemoryStore, name: str) -> None:
        one = write(store, f"/{name}/{name}.md", HOSTILE)
        write(store, f"/taken/{name}.md")
        for fields in (
            {"act": "delete", "id": directory(store, f"/{name}")}, {"act": "move", "id": one.id, "in": f"/{name}"},
            {"act": "move", "id": one.id, "into": "/taken"}, {"act": "move", "id": one.id, "into": f"/{name} 2"},
        ):  # fmt: skip
            assert "<script>alert" not in ask(client, store, **fields)
        confirm(client, store, ask(client, store, act="move", id=one.id, into=f"/{name} 2"))
        assert f"/{name} 2/{name}.md" in live(store)
        html = page(client, reverse("entry", args=[store.id, newest(store).seq]))
        assert "<script>alert" not in html

    def test_a_long_list_is_sent_on_in_one_field(
        self, client: Client, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(selection, "SHOWN", 2)
        made = [write(store, f"/a/{number}.md") for number in range(5)]
        asked = ask(client, store, act="delete", id=[memory.id for memory in made])
        assert "and 3 more" in words(asked)
        assert set(form_with(asked, "digest")["ids"].split()) == {memory.id for memory in made}
        confirm(client, store, asked)
        assert live(store) == set()


def test_a_person_without_a_role_any_more_changes_nothing(store: MemoryStore) -> None:
    user = new_person("Dora")
    keys_and_roles.set_role(store, user, Role.CURATOR, **BY)
    one = write(store, "/a/1.md")
    asked = ask(signed_in(user), store, act="delete", id=one.id)
    with tampering():
        user.memberships.all().delete()
    assert signed_in(user).post(url(store), form_with(asked, "digest")).status_code == 404
    assert live(store) == {"/a/1.md"}
    assert json.loads(str(newest(store).input))["path"] == "/a/1.md"

"""Saved views: a filter kept under a name, for oneself or with the members of a store, and never a way to elsewhere."""

import json
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.search import saved_views
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, MemoryStore, Role, SavedView, User
from memoryhub.web.search.saved_views.pages import PAGES, address, kept_query
from tests.support.fixtures import BY, signed_in
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.memories.pages import act, new_curator, newest, page

pytestmark = pytest.mark.django_db
VIEWS = "/views"


@pytest.fixture
def carol(store: MemoryStore) -> User:
    return new_curator(store)


def save(user: User, name: str = "Errors", **fields: str) -> str:
    """Saves a view of the audit, and gives the page that follows."""
    given = {"page": "audit", "query": "outcome=error", "name": name, "share": ""} | fields
    answer = signed_in(user).post(reverse("save_view"), given, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


def names(user: User) -> list[str]:
    return [view.name for view in SavedView.objects.visible_to(user).by_name()]


class TestSaving:
    def test_a_filter_is_kept_and_offered_beside_the_filter(self, carol: User) -> None:
        html = page(signed_in(carol), "/audit?outcome=error&before=x%3A1")
        link = reverse("save_view") + "?" + urlencode({"page": "audit", "query": "outcome=error"})
        assert link.replace("&", "&amp;") in html
        form = page(signed_in(carol), link)
        assert "/audit?outcome=error" in form and "Only me" in form
        html = save(carol, "Everything that failed")
        assert "is saved" in html and "Everything that failed" in html
        view = SavedView.objects.get()
        assert (view.page, view.query, view.owner, view.is_shared) == ("audit", "outcome=error", carol, False)
        assert 'href="/audit?outcome=error" aria-current="page"' in html

    def test_a_private_view_is_nobody_elses_and_leaves_no_entry(self, carol: User, alice: User) -> None:
        before = AuditEntry.objects.count()
        save(carol, "My own")
        assert AuditEntry.objects.count() == before
        assert (names(carol), names(alice)) == (["My own"], [])
        assert "My own" not in page(signed_in(alice), VIEWS) + page(signed_in(alice), "/audit")

    def test_curators_share_with_the_members_and_the_store_has_an_entry(
        self, carol: User, bob: User, charlie: User, store: MemoryStore
    ) -> None:
        save(carol, "Refused", share=store.id)
        entry = newest(store)
        assert (entry.command, entry.actor_id) == ("share_view", carol.id)
        assert json.loads(str(entry.input)) == {"page": "audit", "name": "Refused", "query": "outcome=error"}
        assert "Refused" in page(signed_in(bob), "/audit") and "Refused" in page(signed_in(bob), VIEWS)
        assert "shared the view “Refused”" in page(signed_in(bob), reverse("store_audit", args=[store.id]))
        assert names(charlie) == [] and "Refused" not in page(signed_in(charlie), VIEWS)

    def test_a_view_of_a_stores_page_stays_in_that_store(self, carol: User, store: MemoryStore) -> None:
        other = stores.create_store(stores.StoreSettings(name="Other"), **BY)
        keys_and_roles.set_role(other, carol, Role.CURATOR, **BY)
        html = save(carol, "Notes", page="trash", query="path=%2Fnotes%2F", store=store.id)
        assert "Trash of Support" in html and "Notes" in html
        assert "Notes" not in page(signed_in(carol), reverse("trash", args=[other.id]))
        assert f"{reverse('trash', args=[store.id])}?path=%2Fnotes%2F" in page(signed_in(carol), VIEWS)

    @pytest.mark.parametrize("wanted", sorted(PAGES))
    def test_every_page_of_the_list_has_the_menu(self, alice: User, store: MemoryStore, wanted: str) -> None:
        leads_to = address(wanted, store.id, "")
        assert leads_to is not None
        assert "Save this view" in page(signed_in(alice), leads_to)

    def test_a_name_is_taken_once_by_owner_and_page(self, carol: User, alice: User, store: MemoryStore) -> None:
        save(carol, "One")
        assert "You already have a view with this name" in save(carol, "One", query="outcome=ok")
        save(carol, "One", page="trash", query="", store=store.id)
        save(alice, "One")
        assert SavedView.objects.count() == 3

    @pytest.mark.both_databases
    @pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\0b"])
    def test_a_name_that_is_none_is_said(self, carol: User, name: str) -> None:
        assert "errorlist" in save(carol, name)
        assert not SavedView.objects.exists()

    @pytest.mark.parametrize("wanted", ["", "stores", "https://example.com", "//example.com", "sign_out", "edit_store"])
    def test_another_page_cannot_be_kept(self, carol: User, store: MemoryStore, wanted: str) -> None:
        given = {"page": wanted, "query": "x=1", "name": "Elsewhere", "store": store.id}
        client = signed_in(carol)
        assert client.post(reverse("save_view"), given).status_code == 404
        assert client.get(reverse("save_view"), given).status_code == 404
        assert not SavedView.objects.exists()

    @in_turn("query", ["/../evil", "?next=//x", "a=b#c", "q=\r\nLocation: x", "javascript:alert(1)", "&&="])
    def test_a_query_leads_only_to_its_page(self, carol: User, query: str) -> None:
        save(carol, "Odd", query=query)
        view = SavedView.objects.get()
        leads_to = address(view.page, None, view.query) or ""
        assert leads_to == "/audit" or leads_to.startswith("/audit?")
        assert not set(leads_to) & set('"<># \r\n')
        assert signed_in(carol).get(leads_to).status_code == 200

    def test_a_filter_that_is_too_long_is_refused(self, carol: User) -> None:
        assert "too long" in save(carol, query="q=" + "x" * 3000)
        assert not SavedView.objects.exists()

    def test_who_sees_it_always_has_a_choice_and_is_not_called_optional(self, carol: User, store: MemoryStore) -> None:
        html = page(signed_in(carol), reverse("save_view") + "?page=audit")
        assert "Who sees it</label>" in html and "field-optional" not in html

    def test_viewers_keep_for_themselves_and_share_with_nobody(self, bob: User, store: MemoryStore) -> None:
        assert "All members of" not in page(signed_in(bob), reverse("save_view") + "?page=audit")
        html = save(bob, share=store.id)
        assert "errorlist" in html and not SavedView.objects.exists()
        save(bob)
        assert names(bob) == ["Errors"]

    def test_charlie_learns_nothing_of_the_store(self, charlie: User, store: MemoryStore) -> None:
        given = {"page": "trash", "query": "", "name": "x", "store": store.id}
        for store_id in (store.id, "memstore_" + "0" * 26, "a\0"):
            assert signed_in(charlie).post(reverse("save_view"), given | {"store": store_id}).status_code == 404
        assert "errorlist" in save(charlie, share=store.id)

    def test_a_person_has_only_so_many(self, carol: User, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(saved_views, "MOST_OWN", 2)
        for name in ("One", "Two", "Three"):
            html = save(carol, name)
        assert "You already have 2 saved views. Delete one first." in html and names(carol) == ["One", "Two"]
        save(alice, "Three")
        assert names(alice) == ["Three"]

    def test_hostile_names_are_inert(self, carol: User, alice: User, store: MemoryStore) -> None:
        name = "<script>alert(1)</script>\u202e{{ 7|add:7 }}"
        save(carol, name, share=store.id)
        for url in (VIEWS, "/audit", reverse("store_audit", args=[store.id])):
            html = page(signed_in(alice), url)
            assert "<script>alert" not in html and "\u202e" not in html


class TestChanging:
    @pytest.fixture
    def view(self, carol: User, store: MemoryStore) -> SavedView:
        """Carol's, shared with the members of the store."""
        return saved_views.save(carol, store, "audit", "Shared", "outcome=error", act(carol), is_shared=True)

    def rename(self, user: User, view: SavedView, name: str) -> int:
        return signed_in(user).post(reverse("rename_view", args=[view.id]), {"name": name}).status_code

    def delete(self, user: User, view: SavedView) -> int:
        return signed_in(user).post(reverse("delete_view", args=[view.id])).status_code

    @pytest.mark.both_databases
    def test_its_owner_renames_and_deletes_it_and_the_store_has_the_entries(
        self, view: SavedView, carol: User, store: MemoryStore
    ) -> None:
        assert "Shared" in page(signed_in(carol), reverse("rename_view", args=[view.id]))
        assert self.rename(carol, view, "Failed") == 303
        assert json.loads(str(newest(store).input))["name"] == ["Shared", "Failed"]
        assert newest(store).command == "rename_view"
        assert self.delete(carol, view) == 303
        assert newest(store).command == "delete_view" and not SavedView.objects.exists()

    def test_an_admin_of_the_store_may_too_and_others_may_not(
        self, view: SavedView, alice: User, bob: User, charlie: User
    ) -> None:
        assert (self.rename(bob, view, "x"), self.delete(bob, view)) == (403, 403)
        assert (self.rename(charlie, view, "x"), self.delete(charlie, view)) == (404, 404)
        assert self.rename(alice, view, "Alice was here") == 303
        assert self.delete(alice, view) == 303

    @pytest.mark.both_databases
    @pytest.mark.parametrize("role", [Role.VIEWER, None])
    def test_who_may_not_share_any_more_may_only_delete_it(
        self, view: SavedView, carol: User, alice: User, store: MemoryStore, role: Role | None
    ) -> None:
        keys_and_roles.set_role(store, carol, role, **BY)
        listed = page(signed_in(carol), VIEWS)
        assert reverse("rename_view", args=[view.id]) not in listed and reverse("delete_view", args=[view.id]) in listed
        assert (self.rename(carol, view, "Read this: evil.example"), names(alice)) == (403, ["Shared"])
        assert newest(store).command == "set_role"
        assert (self.delete(carol, view), names(alice)) == (303, [])

    def test_a_private_one_is_changed_without_an_entry(self, carol: User, alice: User) -> None:
        save(carol)
        view, before = SavedView.objects.get(), AuditEntry.objects.count()
        assert (self.rename(alice, view, "x"), self.delete(alice, view)) == (404, 404)
        assert (self.rename(carol, view, "Renamed"), names(carol)) == (303, ["Renamed"])
        assert self.delete(carol, view) == 303
        assert AuditEntry.objects.count() == before

    def test_a_name_of_another_view_is_refused(self, view: SavedView, carol: User, store: MemoryStore) -> None:
        save(carol, "Other")
        before = newest(store).seq
        assert self.rename(carol, view, "Other") == 200
        assert (sorted(names(carol)), newest(store).seq) == (["Other", "Shared"], before)

    def test_two_who_delete_it_at_once_are_both_answered(
        self, view: SavedView, carol: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = saved_views.delete

        def slower(view_id: str, *rest: object) -> object:
            real(view_id, act(carol))
            return real(view_id, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(saved_views, "delete", slower)
        answer = signed_in(carol).post(reverse("delete_view", args=[view.id]), follow=True)
        assert "deleted this view in the meantime" in answer.content.decode()

    def test_wrong_methods_and_strangers(self, view: SavedView, carol: User) -> None:
        assert signed_in(carol).get(reverse("delete_view", args=[view.id])).status_code == 405
        assert signed_in(carol).post(VIEWS).status_code == 405
        assert signed_in(carol).put(reverse("rename_view", args=[view.id])).status_code == 405
        assert Client().get(VIEWS).status_code == 302
        assert self.rename(carol, SavedView(id="view_nothing"), "x") == 404

    def test_a_view_of_a_store_that_one_has_left_leads_nowhere(self, carol: User, store: MemoryStore) -> None:
        save(carol, "Mine", page="trash", query="", store=store.id)
        with tampering():
            carol.memberships.all().delete()
        html = page(signed_in(carol), VIEWS)
        assert "You no longer have a role in its memory store" in html
        assert "Support" not in html and store.id not in html
        assert self.delete(carol, SavedView.objects.get()) == 303


def test_a_kept_query_is_written_alike_whatever_its_order() -> None:
    assert kept_query("b=2&a=1&before=x&after=&empty=") == kept_query("a=1&b=2") == "a=1&b=2"
    assert kept_query("a=1&a=2") == "a=1&a=2"


def test_the_list_says_what_a_view_is_before_there_is_one(charlie: User) -> None:
    assert "No view is saved yet" in page(signed_in(charlie), VIEWS)

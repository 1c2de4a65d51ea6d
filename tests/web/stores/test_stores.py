"""The list of memory stores, a new one, the settings and the archive, in the eyes of each person."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.stores import stores
from memoryhub.models import AuditEntry, Door, Member, MemoryStore, Role, User
from memoryhub.web.stores import listing
from tests.support.fixtures import AT, BY, signed_in
from tests.transfer import trips
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller

HOSTILE = "<script>alert(1)</script>\"' {{ 7|add:7 }} \u202e"


def new_store(name: str) -> MemoryStore:
    return stores.create_store(stores.StoreSettings(name=name), **BY)


def entries_of(store: MemoryStore, command: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.of_chain(store.id).filter(command=command).oldest())


def test_the_list_shows_the_stores_in_which_a_person_has_a_role(alice: User, store: MemoryStore) -> None:
    new_store("Somebody else's")
    html = signed_in(alice).get("/stores").content.decode()
    assert f"/stores/{store.id}/" in html
    assert "Support" in html
    assert "Somebody else" not in html


def test_the_list_tells_the_last_change_and_by_whom(alice: User, store: MemoryStore) -> None:
    done = curation.create(store.id, "/a.md", "text", Act(Actor.person(alice), Door.WEB, AT))
    html = signed_in(alice).get("/stores").content.decode()
    assert f"/audit/{store.id}/{done.seq}" in html
    assert "Alice" in html


def test_an_import_is_a_change_of_its_own_time(alice: User, store: MemoryStore) -> None:
    source = trips.new_store()
    curation.create(source.id, "/a.md", "text", trips.act(1))
    job = trips.run(trips.prepared(store, trips.exported(source, "jsonl"), minute=60 * 24 * 20), minute=60 * 24 * 20)
    assert job.state == "done"
    row = signed_in(alice).get("/stores").context["page"].rows[0]
    assert row.store == store
    assert row.changed_at == trips.act(60 * 24 * 20).at


def test_the_list_tells_how_each_store_is(alice: User, store: MemoryStore, key: str) -> None:
    caller = Caller(store, key, at=timezone.now() - timedelta(minutes=30))
    caller.create("/a.md", "one\n")
    caller.call("view", path="/memories/nowhere.md")
    row = signed_in(alice).get("/stores").content.decode().split("<tbody")[1].split("</tr>")[0]
    assert f"/stores/{store.id}/overview" in row and "spark-line" in row and "2 entries" in row
    assert "1 memory, 4 B" in row and "version to review</span>" in row and "error since yesterday</span>" in row
    assert f"/review?what=version&amp;store={store.id}" in row and "outcome=error" in row and "minutes ago" in row


def test_somebody_without_a_role_sees_an_empty_list(charlie: User, store: MemoryStore) -> None:
    html = signed_in(charlie).get("/stores").content.decode()
    assert "No memory stores yet" in html
    assert store.id not in html


def test_the_list_asks_for_a_sign_in(store: MemoryStore) -> None:
    assert Client().get("/stores").status_code == 302


@pytest.mark.both_databases
def test_archived_stores_are_in_a_list_of_their_own(superuser: User, store: MemoryStore) -> None:
    old = new_store("Old one")
    stores.set_archived(old, True, **BY)
    client = signed_in(superuser)
    assert old.id not in client.get("/stores").content.decode()
    archived = client.get("/stores?state=archived").content.decode()
    assert old.id in archived
    assert store.id not in archived
    everything = client.get("/stores?state=all").content.decode()
    assert old.id in everything
    assert store.id in everything


@pytest.mark.both_databases
def test_the_list_is_filtered_by_name_and_says_when_nothing_matches(superuser: User, store: MemoryStore) -> None:
    client = signed_in(superuser)
    assert store.id in client.get("/stores?q=SUPP").content.decode()
    nothing = client.get("/stores", {"q": HOSTILE}).content.decode()
    assert "empty-nothing" in nothing
    assert "<script>alert" not in nothing


@pytest.mark.both_databases
def test_the_list_goes_on_page_by_page(
    superuser: User, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "SIZE", 10)
    for number in range(24):
        new_store(f"Store {number:02}")
    figures.catch_up(100)
    client, seen, query = signed_in(superuser), list[str](), ""
    for _page in range(3):
        with django_assert_max_num_queries(66):
            page = client.get("/stores" + query)
        seen += re.findall(r'class="row-link" href="[^"]*/">([^<]*)', page.content.decode())
        query = page.context.get("next", "")
    assert seen == [f"Store {number:02}" for number in range(24)] and not query


@pytest.mark.parametrize("query", ["?after=nonsense", "?state=<script>", "?q=%ff"])
def test_a_malformed_query_of_the_list_is_no_error(superuser: User, store: MemoryStore, query: str) -> None:
    assert signed_in(superuser).get("/stores" + query).status_code == 200


def test_a_superuser_creates_a_store_and_becomes_its_admin(superuser: User) -> None:
    client = signed_in(superuser)
    fields = form_with(client.get("/stores/new").content.decode(), "description")
    typed = {"name": " Notes ", "description": "For\r\nall", "limit_memories": "7"}  # limits have their own page
    answer = client.post("/stores/new", fields | typed)
    made = MemoryStore.objects.get(name="Notes")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/stores/{made.id}/")
    assert (made.description, made.limit_memories) == ("For\nall", None)
    assert Member.objects.get(store=made, user=superuser).role == Role.ADMIN
    assert entries_of(made, "create_store")[0].actor_id == superuser.id


@pytest.mark.parametrize("fields", [
    {}, {"name": ""}, {"name": "   "}, {"name": "x" * 256}, {"name": "a\0b"},
])  # fmt: skip
def test_a_malformed_new_store_is_shown_again(superuser: User, fields: dict[str, str]) -> None:
    answer = signed_in(superuser).post("/stores/new", fields)
    assert answer.status_code == 200
    assert answer.context["form"].errors
    assert not MemoryStore.objects.exists()


def test_only_superusers_create_stores(alice: User) -> None:
    client = signed_in(alice)
    assert client.get("/stores/new").status_code == 403
    assert client.post("/stores/new", {"name": "Mine"}).status_code == 403


def test_an_admin_changes_the_settings(alice: User, store: MemoryStore) -> None:
    client, url = signed_in(alice), f"/stores/{store.id}/settings"
    page = client.get(url).content.decode()
    fields = form_with(page, "description")
    assert fields["name"] == "Support"
    answer = client.post(url, fields | {"description": "d", "overwrite_on_create": "on"})
    assert answer.status_code == 303
    store.refresh_from_db()
    assert (store.description, store.overwrite_on_create) == ("d", True)
    entry = entries_of(store, "edit_store")[0]
    assert (entry.actor_id, entry.door) == (alice.id, Door.WEB)


def test_the_settings_of_an_archived_store_stay_as_they_are(alice: User, store: MemoryStore) -> None:
    stores.set_archived(store, True, **BY)
    client, url = signed_in(alice), f"/stores/{store.id}/settings"
    assert "Save settings" not in client.get(url).content.decode()
    answer = client.post(url, {"name": "Other"})
    assert "archived and cannot be changed" in answer.content.decode()
    store.refresh_from_db()
    assert store.name == "Support"


def test_archiving_wants_the_name_to_be_typed(alice: User, store: MemoryStore) -> None:
    client, url = signed_in(alice), f"/stores/{store.id}/archive"
    assert "no longer" in client.get(f"/stores/{store.id}/settings").content.decode()
    for name in ("", "support", "Support2"):
        answer = client.post(url, {"name": name, "archived": "yes"})
        assert answer.status_code == 200
        assert answer.context["form"].errors
    store.refresh_from_db()
    assert not store.is_archived


def test_a_store_is_archived_and_taken_back(alice: User, store: MemoryStore) -> None:
    client, url = signed_in(alice), f"/stores/{store.id}/archive"
    for archived in (True, False):
        fields = form_with(client.get(url).content.decode(), "archived")
        answer = client.post(url, fields | {"name": "Support"})
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/stores/{store.id}/")
        store.refresh_from_db()
        assert store.is_archived is archived
    assert len(entries_of(store, "archive_store")) == len(entries_of(store, "unarchive_store")) == 1


def test_two_people_who_archive_at_once_do_not_undo_each_other(alice: User, store: MemoryStore) -> None:
    client, url = signed_in(alice), f"/stores/{store.id}/archive"
    fields = form_with(client.get(url).content.decode(), "archived") | {"name": "Support"}
    client.post(url, fields)
    client.post(url, fields)
    store.refresh_from_db()
    assert store.is_archived


def test_a_hostile_name_is_typed_and_shown_as_text(superuser: User, db: None) -> None:
    odd = stores.create_store(stores.StoreSettings(name=HOSTILE, description=HOSTILE), **BY)
    client = signed_in(superuser)
    for url in ("/stores", f"/stores/{odd.id}/", f"/stores/{odd.id}/settings", f"/stores/{odd.id}/archive"):
        html = client.get(url).content.decode()
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    client.post(f"/stores/{odd.id}/archive", {"name": HOSTILE, "archived": "yes"})
    odd.refresh_from_db()
    assert odd.is_archived


@pytest.mark.parametrize("page", ["settings", "archive"])
def test_settings_and_archive_are_for_admins(bob: User, charlie: User, store: MemoryStore, page: str) -> None:
    url = f"/stores/{store.id}/{page}"
    for person, status in ((bob, 403), (charlie, 404)):
        client = signed_in(person)
        assert client.get(url).status_code == status
        assert client.post(url, {"name": "Support", "archived": "yes"}).status_code == status
    store.refresh_from_db()
    assert not store.is_archived
    assert Client().get(url).status_code == 302


@pytest.mark.parametrize("url", ["/", "/stores/new", "/stores/{}/", "/stores/{}/settings", "/stores/{}/archive"])
def test_another_method_is_refused(superuser: User, store: MemoryStore, url: str) -> None:
    client: Any = signed_in(superuser)
    assert client.delete(url.format(store.id)).status_code == 405


def test_reading_pages_writes_nothing(alice: User, store: MemoryStore) -> None:
    before = AuditEntry.objects.count()
    client = signed_in(alice)
    for url in ("/", f"/stores/{store.id}/", f"/stores/{store.id}/settings", f"/stores/{store.id}/archive"):
        assert client.get(url).status_code == 200
        assert client.head(url).status_code == 200
    assert AuditEntry.objects.count() == before


def test_the_menu_of_a_telephone_leads_to_each_tab_that_it_takes_away(store: MemoryStore, alice: User) -> None:
    html = signed_in(alice).get(f"/stores/{store.pk}/trash").content.decode()
    tabs, menu = (
        part.partition("</nav>")[0] for part in html.partition('class="tabs"')[2].split('class="menu-panel', 1)
    )
    hidden = re.findall(r'class="tab-further" href="([^"]*)"', tabs)
    assert len(hidden) == 8 and re.findall(r'class="menu-item" href="([^"]*)"', menu) == hidden
    assert re.search(r'class="tab-further" href="[^"]*/trash" aria-current', tabs)

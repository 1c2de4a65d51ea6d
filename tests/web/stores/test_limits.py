"""The pages of limits: who sees and sets them, what the meters say, and what the audit keeps."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.core.audit import Act
from memoryhub.actions.core.hub import settings
from memoryhub.actions.core.transactions import writing
from memoryhub.actions.memories import calls, curation
from memoryhub.actions.stores import stores
from memoryhub.models import HUB, AuditEntry, CallWindow, HubSettings, Key, MemoryStore, User
from memoryhub.pure.limits import COLUMNS
from tests.support.fixtures import BY, signed_in
from tests.support.in_turn import in_turn
from tests.web.browser_forms import form_with

ACT = Act(**BY)


@pytest.fixture
def admin(alice: User) -> Client:
    return signed_in(alice)


def url(store: MemoryStore) -> str:
    return f"/stores/{store.id}/limits"


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def limit(store: MemoryStore, **limits: Any) -> None:
    given = {name: getattr(store, name) for name in COLUMNS} | limits
    stores.edit_store(store, stores.StoreSettings(store.name, limits=given), only=COLUMNS, **BY)
    store.refresh_from_db()


class TestTheLimitsOfAStore:
    @pytest.mark.both_databases
    def test_an_admin_sets_them_and_the_audit_tells_before_and_after(self, admin: Client, store: MemoryStore) -> None:
        fields = form_with(page(admin, url(store)), "limit_calls")
        answer = admin.post(url(store), fields | {"limit_calls": "60", "limit_versions": "9"})
        assert (answer.status_code, answer.headers["Location"]) == (303, url(store))
        admin.post(url(store), fields | {"limit_calls": "30", "limit_versions": "9"})
        store.refresh_from_db()
        assert (store.limit_calls, store.limit_versions, store.limit_memories) == (30, 9, None)
        told = AuditEntry.objects.filter(chain=store.id, command="edit_store").order_by("seq")
        assert [json.loads(entry.input or "") for entry in told] == [
            {"limit_versions": [None, 9], "limit_calls": [None, 60]}, {"limit_calls": [60, 30]}
        ]  # fmt: skip
        assert "Calls a minute: 60 → 30" in page(admin, f"/stores/{store.id}/audit")

    @pytest.mark.both_databases
    def test_what_is_not_on_the_page_stays(self, admin: Client, store: MemoryStore) -> None:
        limit(store, limit_memories=7)
        general = form_with(page(admin, f"/stores/{store.id}/settings"), "description")
        limit(store, limit_memories=8)  # by somebody else, meanwhile
        admin.post(f"/stores/{store.id}/settings", general | {"description": "d"})
        admin.post(url(store), form_with(page(admin, url(store)), "limit_calls") | {"limit_calls": "5"})
        store.refresh_from_db()
        assert (store.description, store.limit_memories, store.limit_calls) == ("d", 8, 5)

    @pytest.mark.both_databases
    def test_an_empty_field_is_the_hubs_limit_which_the_page_tells(self, admin: Client, store: MemoryStore) -> None:
        limit(store, limit_memory_bytes=5)
        assert "Empty: the hub’s, 100 KB." in page(admin, url(store))
        settings.set_limits(dict.fromkeys(COLUMNS) | {"limit_memory_bytes": 2048}, ACT)
        shown = page(admin, url(store))
        assert "Empty: the hub’s, 2 KB." in shown
        fields = form_with(shown, "limit_memory_bytes")
        assert fields["limit_memory_bytes"] == "5 B"
        admin.post(url(store), fields | {"limit_memory_bytes": ""})
        assert MemoryStore.objects.get(pk=store.pk).limit("memory_bytes") == 2048

    @in_turn(
        ("name", "value"),
        [
            ("limit_memories", "0"),
            ("limit_memory_bytes", "-1"),
            ("limit_total_bytes", "many"),
            ("limit_view_characters", "9" * 30),
            ("limit_body_bytes", "1023"),
            ("limit_body_bytes", str(1024 * 1024 + 1)),
            ("limit_calls", "1.5"),
            ("limit_memory_bytes", "1.5"),
            ("limit_memory_bytes", "1.5 B"),
        ],
    )
    def test_nonsense_is_shown_again(self, admin: Client, store: MemoryStore, name: str, value: str) -> None:
        answer = admin.post(url(store), {name: value})
        assert answer.status_code == 200
        assert list(answer.context["form"].errors) == [name]
        assert getattr(MemoryStore.objects.get(pk=store.pk), name) is None

    def test_a_viewer_sees_what_is_used_and_what_holds_but_sets_nothing(self, bob: User, store: MemoryStore) -> None:
        client = signed_in(bob)
        shown = page(client, url(store))
        assert "of 10,000" in shown and "Save limits" not in shown and "100 KB" in shown
        assert client.post(url(store), {"limit_calls": "5"}).status_code == 403
        assert page(client, f"/stores/{store.id}/").count("<meter") == 2

    def test_charlie_finds_nothing(self, charlie: User, store: MemoryStore) -> None:
        client = signed_in(charlie)
        assert [client.get(url(store)).status_code, client.post(url(store), {}).status_code] == [404, 404]

    def test_those_of_an_archived_store_stay(self, admin: Client, store: MemoryStore) -> None:
        stores.set_archived(store, True, **BY)
        assert "Save limits" not in page(admin, url(store))
        assert "archived and cannot be changed" in admin.post(url(store), {"limit_calls": "5"}).content.decode()


class TestMeters:
    @pytest.mark.parametrize(("limit_of", "level", "told"), [
        (400, "ok", "less than 1 % used"), (4, "ok", "75 % used"), (3, "full", "No memory can be created until"),
        (2, "full", "No memory can be created until"), (None, "ok", "less than 1 % used"),
    ])  # fmt: skip
    def test_they_tell_how_much_is_used(
        self, admin: Client, store: MemoryStore, limit_of: int | None, level: str, told: str
    ) -> None:
        for name in "abc":
            curation.create(store.id, f"/{name}", "xyz", ACT)
        limit(store, limit_memories=limit_of)
        for address in (url(store), f"/stores/{store.id}/"):
            assert f'data-level="{level}"' in page(admin, address)
        assert told in page(admin, url(store))

    @pytest.mark.both_databases
    def test_from_eighty_per_cent_they_warn(self, admin: Client, store: MemoryStore) -> None:
        curation.create(store.id, "/a", "x" * 80, ACT)
        limit(store, limit_total_bytes=101)
        assert 'data-level="near"' not in page(admin, url(store))
        limit(store, limit_total_bytes=100)
        assert 'data-level="near"' in page(admin, url(store))

    @pytest.mark.both_databases
    def test_the_list_of_stores_begins_with_those_near_a_limit_the_fullest_first(
        self, admin: Client, alice: User, store: MemoryStore
    ) -> None:
        other = stores.create_store(stores.StoreSettings("Fuller"), admin=alice, **BY)
        assert "Near a limit" not in page(admin, "/stores")
        for one, most in ((store, 5), (other, 4)):
            for name in "abcd":
                curation.create(one.id, f"/{name}", "x", ACT)
            limit(one, limit_memories=most)
        shown = page(admin, "/stores").split("Near a limit")[1].split("</section>")[0]
        assert re.findall('data-level="([^"]*)"', shown) == ["full", "near"]
        assert re.findall(r'href="/stores/([^/]*)/limits"', shown) == [other.id, store.id]
        assert "<b>4</b> of 5" in shown
        assert "Near a limit" not in page(admin, "/stores?q=Fuller")

    def test_the_list_says_to_those_who_administer_a_store_how_full_it_is_and_today_what_is_near(
        self, admin: Client, bob: User, store: MemoryStore
    ) -> None:
        curation.create(store.id, "/a", "x", ACT)
        assert "Near a limit" not in page(admin, "/")
        limit(store, limit_memories=4)
        shown = page(admin, "/stores")
        assert 'title="Memories: 1 / 4">25&nbsp;%' in shown and "Near a limit" not in page(admin, "/")
        limit(store, limit_memories=1)
        assert 'class="badge badge-error"' in page(admin, "/stores").split("<tbody")[1]
        assert f'href="/stores/{store.id}/limits"' in page(admin, "/").split("Near a limit")[1]
        viewer = signed_in(bob)
        assert ">Full</th>" not in page(viewer, "/stores") and "Near a limit" not in page(viewer, "/")

    @pytest.mark.both_databases
    def test_the_busiest_key_is_told_where_calls_are_limited(self, admin: Client, store: MemoryStore, key: str) -> None:
        assert "busiest key" not in page(admin, url(store))
        limit(store, limit_calls=5)
        now = timezone.now()
        caller = calls.find_caller(key, store.id, now)
        assert caller is not None
        for number in range(4):
            act = Act(caller.actor, BY["door"], now, token=str(number))
            calls.call(store.id, {"command": "view", "path": "/memories"}, "", caller, act, None)
        assert "<b>4</b> of 5" in page(admin, url(store))
        with writing():
            long_ago = int((now - timedelta(seconds=90)).timestamp())
            CallWindow.objects.filter(store=store).update(seconds=[[long_ago, 5]])
        assert "<b>0</b> of 5" in page(admin, url(store))
        assert CallWindow.objects.get().key == Key.objects.get().pk

    def test_the_page_of_a_store_asks_little_more(
        self, admin: Client, store: MemoryStore, django_assert_max_num_queries: Any
    ) -> None:
        page(admin, url(store))
        with django_assert_max_num_queries(10):
            page(admin, url(store))


class TestTheLimitsOfTheHub:
    def test_a_superuser_sets_them_and_the_audit_tells_before_and_after(self, superuser: User, db: None) -> None:
        client, address = signed_in(superuser), "/settings/limits"
        shown = page(client, address)
        assert "Empty: the default, 10,000." in shown and "Empty: the default, no limit." in shown
        fields = form_with(shown, "limit_calls")
        assert client.post(address, fields | {"limit_calls": "120"}).status_code == 303
        client.post(address, fields | {"limit_calls": "120"})
        assert HubSettings.current().limit_calls == 120
        (entry,) = AuditEntry.objects.filter(chain=HUB, command="set_limits")
        assert (entry.actor_id, json.loads(entry.input or "")) == (superuser.id, {"limit_calls": [None, 120]})
        assert "changed the hub’s limits: Calls a minute: default → 120" in page(client, "/audit")
        assert client.get("/audit?q=command:set_limits").content.decode().count("changed the hub’s limits") == 1

    def test_the_way_there_is_in_the_menu_of_superusers(self, superuser: User, alice: User) -> None:
        assert 'href="/settings/limits"' in page(signed_in(superuser), "/")
        assert 'href="/settings/limits"' not in page(signed_in(alice), "/")

    def test_it_is_for_superusers(self, alice: User, client: Client) -> None:
        for method in ("get", "post"):
            assert getattr(signed_in(alice), method)("/settings/limits").status_code == 403
            assert getattr(client, method)("/settings/limits").status_code == 302
        assert not HubSettings.objects.exists()


@pytest.mark.parametrize(
    ("typed", "bytes", "again"),
    [
        ("200 MB", 200 * 1024**2, "200 MB"), ("1.5GB", 1536 * 1024**2, "1,536 MB"), ("12 kb", 12_288, "12 KB"),
        ("1,000,000", 10**6, "1,000,000 B"),
    ],
)  # fmt: skip
def test_a_limit_in_bytes_is_typed_with_a_unit(
    store: MemoryStore, alice: User, typed: str, bytes: int, again: str
) -> None:
    signed_in(alice).post(url(store), {"limit_total_bytes": typed})
    store.refresh_from_db()
    assert store.limit_total_bytes == bytes
    shown = page(signed_in(alice), url(store)).partition('name="limit_total_bytes"')[2].partition(">")[0]
    assert f'value="{again}"' in shown
    signed_in(alice).post(url(store), {"limit_total_bytes": again})
    store.refresh_from_db()
    assert store.limit_total_bytes == bytes


@in_turn("typed", ["200 MX", "many", "-1", "1e9", "2000 GB", "1,5 GB", "0", "0.1 B"])
def test_a_limit_in_bytes_that_says_nothing_is_refused(store: MemoryStore, alice: User, typed: str) -> None:
    response = signed_in(alice).post(url(store), {"limit_total_bytes": typed})
    assert response.status_code == 200
    store.refresh_from_db()
    assert store.limit_total_bytes is None

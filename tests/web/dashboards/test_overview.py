"""Overviews: what happened since yesterday, what people did, what was read unreviewed; and who may see them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions import figures
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.memories import curation
from memoryhub.actions.memories.selection import restore as selection_restore
from memoryhub.actions.memories.selection.restore import Thrown
from memoryhub.actions.retention.removal import remove_entries
from memoryhub.actions.review import assignments
from memoryhub.actions.stores import stores
from memoryhub.models import AuditChain, Door, Memory, MemoryStore, User
from tests.api.harness import row_counts
from tests.support.fixtures import BY, signed_in
from tests.web.dashboards.pages import cells, section, text_of, work
from tests.web.history.versions import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def today(store: MemoryStore, key: str) -> Caller:
    """An agent whose calls are of this hour."""
    return Caller(store, key, at=timezone.now() - timedelta(minutes=30))


class TestOverview:
    def test_the_tiles_count_since_yesterday(self, today: Caller, alice: User) -> None:
        work(Caller(today.store, today.key))
        today.create("/c.md", "one\n")
        today.call("view", path="/memories/c.md")
        today.call("view", path="/memories/c.md")
        today.call("view", path="/memories/nowhere.md")
        response = signed_in(alice).get(reverse("overview"))
        tiles = {str(tile.name): tile.shown for tile in response.context["tiles"]}
        assert tiles == {
            "Versions to review": "5", "Writes since yesterday": "1", "Reads since yesterday": "2",
            "Errors since yesterday": "1",
        }  # fmt: skip

    @pytest.mark.both_databases
    def test_the_last_acts_of_people_are_told_in_words(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        memory = Memory.objects.at("/a.md").get()
        act = Act(Actor.person(alice), Door.WEB, timezone.now())
        curation.edit(today.store.id, memory.pk, "two\n", memory.sha256, act)
        figures.catch_up()
        text = text_of(signed_in(alice), "overview")
        assert "Alice edited /a.md" in text
        assert "Views of a directory count as reads. Calls that got an error count as neither." in text

    def test_an_act_is_told_with_the_person_that_it_concerns(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        memory = Memory.objects.at("/a.md").get()
        assignments.assign(today.store.id, memory.pk, alice.pk, Act(Actor.person(alice), Door.WEB, timezone.now()))
        figures.catch_up()
        text = text_of(signed_in(alice), "overview")
        assert "Alice assigned the review of /a.md to alice@example.com" in text

    def test_a_restored_memory_is_told_with_the_number_of_its_version(self, today: Caller, alice: User) -> None:
        first = today.create("/a.md", "one\n").head_id
        today.replace("/a.md", "one", "two")
        act = Act(Actor.person(alice), Door.WEB, timezone.now())
        curation.restore(today.store.id, first, act)
        curation.delete(today.store.id, "/a.md", act)
        memory = Memory.objects.get()
        selection_restore.restore(today.store.id, Thrown(ids=(memory.pk,)), {}, None, act)
        figures.catch_up()
        text = text_of(signed_in(alice), "overview")
        assert "Alice restored /a.md to what it was in version 1<" in text
        assert "Alice restored /a.md from the trash" in text and "(removed)" not in text

    def test_who_has_a_role_nowhere_learns_what_this_will_be(self, charlie: User, store: MemoryStore) -> None:
        text = text_of(signed_in(charlie), "overview")
        assert "Nothing to see yet" in text
        assert "Ask an administrator" in text
        assert "Support" not in text

    def test_a_fresh_hub_says_what_to_do_first(self, superuser: User) -> None:
        assert reverse("new_store") in text_of(signed_in(superuser), "overview")

    def test_an_archived_store_is_left_out(self, today: Caller, alice: User) -> None:
        stores.set_archived(today.store, True, **BY)
        assert "Nothing to see yet" in text_of(signed_in(alice), "overview")
        text_of(signed_in(alice), "store_overview", "", today.store.id)

    def test_a_person_sees_their_own_stores_only(self, today: Caller, alice: User) -> None:
        today.create("/a.md", "one\n")
        secret = stores.create_store(stores.StoreSettings(name="Secret research"), **BY)
        figures.catch_up()
        client = signed_in(alice)
        for query in ("", f"?store={secret.pk}"):
            text = text_of(client, "overview", query)
            assert "Secret" not in text
            assert secret.pk not in text.replace(query, "")
        assert client.get(reverse("store_overview", args=[secret.pk])).status_code == 404


class TestRoles:
    def test_looking_writes_nothing(self, today: Caller, bob: User) -> None:
        today.create("/a.md", "one\n")
        before = row_counts()
        text_of(signed_in(bob), "overview")
        text_of(signed_in(bob), "store_overview", "", today.store.id)
        assert row_counts() == before

    def test_strangers_and_other_methods_are_refused(self, store: MemoryStore, charlie: User, bob: User) -> None:
        names = ("store_overview", "export_store_overview")
        for name in names:
            url = reverse(name, args=[store.id])
            assert {signed_in(charlie).get(url).status_code, signed_in(charlie).post(url).status_code} <= {404, 405}
            assert Client().get(url).status_code in (302, 405)
        assert signed_in(bob).post(reverse("overview")).status_code == 405
        assert signed_in(bob).get(reverse("export_overview")).status_code == 405


def test_a_read_of_an_older_version_is_no_read_of_the_one_that_awaits_review(today: Caller, alice: User) -> None:
    memory = today.create("/a.md", "one\n")
    today.replace("/a.md", "one", "two")
    today.read(memory.head_id)
    said = "Agents have read the newest version of 1 memory"
    assert said not in text_of(signed_in(alice), "store_overview", "", today.store.id)
    today.call("rename", old_path="/memories/a.md", new_path="/memories/b.md")
    today.call("view", path="/memories/b.md")
    today.read(memory.head_id)
    assert said in text_of(signed_in(alice), "store_overview", "", today.store.id)


def test_what_was_never_read_is_on_the_overview_and_all_of_it_in_the_table_of_the_store(
    today: Caller, alice: User
) -> None:
    for number in range(12):
        today.create(f"/{number}.md", "one\n")
    figures.catch_up()
    figures.make_lists(timezone.now())
    client = signed_in(alice)
    text = text_of(client, "overview")
    address = f"{reverse('store_overview', args=[today.store.id])}#unread"
    assert cells(text, "never_read") == [[("Support", address), ("12", ""), ("48 B", "")]]
    assert "12 memories" in section(text, "never_read")
    of_store = text_of(client, "store_overview", "", today.store.id)
    assert len(cells(of_store, "unread")) == 12 and section(of_store, "unread").count("1 version</span>") == 10
    assert "The chart shows the first 10, the table shows more." in section(of_store, "unread")


def test_what_retention_removed_is_not_called_undone(store: MemoryStore, alice: User) -> None:
    now = timezone.now()
    curation.create(store.pk, "/a.md", "text\n", Act(Actor.person(alice), Door.WEB, now - timedelta(days=20)))
    while figures.count(store.pk):
        pass
    assert "created /a.md" in signed_in(alice).get(reverse("overview")).content.decode()
    system = Act(Actor.system("tests"), Door.COMMAND, now)
    curation.create(store.pk, "/b.md", "text\n", system)
    assert remove_entries(store.pk, AuditChain.objects.get(pk=store.pk).last_seq - 1, system)
    shown = signed_in(alice).get(reverse("overview")).content.decode()
    assert (
        "No person has changed anything" not in shown and "Retention has removed older entries of the audit." in shown
    )

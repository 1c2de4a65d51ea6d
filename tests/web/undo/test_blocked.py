"""An undo, a restore or a return from the trash of which the rules for sensitive text forbid a part: the preview says
so, that part stays, and the rest is done."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.findings import rules
from memoryhub.actions.stores import stores
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.models import Memory, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import BY, signed_in
from tests.web.browser_forms import form_with
from tests.web.history.past import tree_now
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 1111\n"
WHY = "Line 1 of /card.md contains a payment card number, which this memory store does not keep."


@pytest.fixture
def curator(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def bad(store: MemoryStore, key: str) -> Session:
    """A session that deleted two memories, one of which has a card number."""
    caller = Caller(store, key, session="before")
    caller.create("/card.md", CARD)
    caller.create("/free.md", "one\n")
    caller.session = "bad"
    for path in ("/card.md", "/free.md"):
        caller.call("delete", path=f"/memories{path}")
    rules.save_rules(store.id, {"card": "block"}, act())
    return Session.objects.get(name="bad")


def paths(store: MemoryStore) -> list[str]:
    return sorted(tree_now(MemoryStore.objects.get(pk=store.pk)))


@pytest.mark.both_databases
def test_an_undo_leaves_out_what_the_rules_for_sensitive_text_forbid(
    bad: Session, store: MemoryStore, curator: Client
) -> None:
    url = reverse("undo_session", args=[store.id, bad.pk])
    page = curator.get(url)
    html = page.content.decode()
    assert page.context["preview"].counts == {"created": 1, "modified": 0, "moved": 0, "deleted": 0}
    assert WHY in html and "This is not possible now." in html and "save again" not in html
    assert "1 memory stays as it is in any case" in html and "need your choice" not in html
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    assert paths(store) == ["/free.md"]


def test_a_restore_to_a_moment_leaves_it_out_too(bad: Session, store: MemoryStore, curator: Client) -> None:
    seq = MemoryVersion.objects.filter(store=store, operation="created").order_by("-seq")[0].seq
    url = reverse("restore_moment", args=[store.id, seq])
    html = curator.get(url).content.decode()
    assert WHY in html
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    assert paths(store) == ["/free.md"]


def test_a_restore_that_can_change_nothing_says_so(bad: Session, store: MemoryStore, curator: Client) -> None:
    seq = MemoryVersion.objects.filter(store=store, operation="created").order_by("seq")[0].seq
    html = curator.get(reverse("restore_moment", args=[store.id, seq])).content.decode()
    assert "Nothing can be restored" in html and "1 memory stays as it is in any case" in html and WHY in html


def test_the_trash_keeps_what_the_rules_for_sensitive_text_forbid(
    bad: Session, store: MemoryStore, curator: Client
) -> None:
    url = reverse("selection", args=[store.id])
    ids = list(Memory.objects.in_trash().filter(store=store).values_list("pk", flat=True))
    html = curator.post(url, {"act": "restore", "id": ids, "trash": "1"}).content.decode()
    assert "1 memory stays in the trash, because the rules for sensitive text do not allow it now:" in html
    assert WHY in html and "Restore 1 memory" in html
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    assert paths(store) == ["/free.md"]


def test_a_rule_that_came_after_the_preview_refuses_without_advice_for_writers(
    bad: Session, store: MemoryStore, curator: Client
) -> None:
    rules.save_rules(store.id, {"card": "flag"}, act())
    url = reverse("undo_session", args=[store.id, bad.pk])
    html = curator.get(url).content.decode()
    rules.save_rules(store.id, {"card": "block"}, act())
    answer = curator.post(url, form_with(html, "digest")).content.decode()
    assert "save again" not in answer


def limit(store: MemoryStore, **limits: int) -> None:
    stores.edit_store(MemoryStore.objects.get(pk=store.pk), StoreSettings(store.name, limits=limits), **BY)


def test_a_limit_that_an_undo_would_exceed_is_named_before_it(
    bad: Session, store: MemoryStore, key: str, curator: Client
) -> None:
    url = reverse("undo_session", args=[store.id, bad.pk])
    sentence = "As it is now, this would be refused:"
    assert sentence not in curator.get(url).content.decode()
    Caller(store, key).create("/other.md", "x\n")
    limit(store, limit_memories=1)
    html = curator.get(url).content.decode()
    assert sentence in html and "This memory store has 1 memories, which is its limit." in html
    assert "This memory store has 1 memories" in curator.post(url, form_with(html, "digest")).content.decode()


def test_an_undo_of_a_move_exceeds_no_limit(store: MemoryStore, key: str, curator: Client) -> None:
    caller = Caller(store, key, session="bad")
    caller.create("/a.md", "one line\n")
    caller.call("rename", old_path="/memories/a.md", new_path="/memories/b.md")
    limit(store, limit_memory_bytes=2, limit_total_bytes=2)
    seq = MemoryVersion.objects.filter(store=store).order_by("-seq")[0].seq
    url = reverse("undo_entry", args=[store.id, seq])
    html = curator.get(url).content.decode()
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    assert paths(store) == ["/a.md"]


def test_an_undo_within_the_limits_passes_no_state_beyond_them(store: MemoryStore, key: str, curator: Client) -> None:
    caller = Caller(store, key, session="before")
    caller.create("/a.md", "long long long\n")
    caller.create("/b.md", "b\n")
    caller.session = "bad"
    caller.replace("/a.md", "long long long", "a")
    caller.replace("/b.md", "b", "long long")
    limit(store, limit_total_bytes=17)
    url = reverse("undo_session", args=[store.id, Session.objects.get(name="bad").pk])
    html = curator.get(url).content.decode()
    assert "would be refused" not in html
    assert curator.post(url, form_with(html, "digest")).status_code == 303
    assert {path: text for path, (_, text) in tree_now(store).items()} == {"/a.md": "long long long\n", "/b.md": "b\n"}


@pytest.mark.both_databases
def test_the_limit_of_versions_is_named_too(store: MemoryStore, key: str, curator: Client) -> None:
    caller = Caller(store, key, session="bad")
    caller.create("/a.md", "one\n")
    version = caller.replace("/a.md", "one", "two")
    limit(store, limit_versions=2)
    html = curator.get(reverse("undo_version", args=[store.id, version.pk])).content.decode()
    assert "As it is now, this would be refused: /a.md has 2 versions, which is the limit of this memory store." in html

"""Redacting one version in the browser: what it says first, who may, what is refused, and what the pages show then."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.core.rules.holds import place
from memoryhub.actions.memories import curation
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, HoldKind, Memory, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.erasure.erasing import SUBJECT, everywhere, of_two_versions, version, write
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, new_curator, newest, page

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    return of_two_versions(store)


def address(memory: Memory, number: int = 1) -> str:
    return reverse("redact_version", args=[memory.store_id, version(memory, number).pk])


def test_the_page_names_what_goes_what_stays_and_asks_for_the_name(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    count = AuditEntry.objects.count()
    html = page(client, address(memory))
    assert "Redact version 1 of zq.md" in html and "/people/zq.md" in html
    assert "This cannot be undone." in html and "Type the name of the memory" in html
    assert AuditEntry.objects.count() == count
    for name in ("", "zq", "/people/zq.md", "ZQ.md"):
        html = client.post(address(memory), {"name": name, "note": "x"}).content.decode()
        assert "errorlist" in html, name
    assert version(memory).content == f"{SUBJECT} called\n"


def test_no_digest_of_what_was_redacted_is_left(store: MemoryStore, alice: User) -> None:
    memory = write(store, "/people/zq.md", f"{SUBJECT} called\n")
    client = signed_in(alice)
    client.post(reverse("download_memory", args=[store.id, memory.pk]))
    curation.edit(store.id, memory.pk, "nothing any more\n", memory.sha256, act(alice))
    client.post(address(memory), {"name": "zq.md"})
    assert version(memory).redacted_at is not None and everywhere(memory.sha256) == []


def test_with_the_name_it_is_gone_for_good_and_audited(memory: Memory, alice: User) -> None:
    answer = signed_in(alice).post(address(memory), {"name": "zq.md", "note": "ticket 12"})
    assert (answer.status_code, answer.headers["Location"]) == (
        303, reverse("version", args=[memory.store_id, version(memory).pk]),
    )  # fmt: skip
    assert version(memory).content is None and version(memory).path is None and everywhere(SUBJECT) == []
    entry = newest(memory.store)
    assert (entry.command, entry.note, entry.author_id) == ("redact", "ticket 12", alice.id)
    assert verify.verify(memory.store_id, None)[1] is None  # type: ignore[arg-type]


def test_the_pages_then_say_by_whom(memory: Memory, alice: User, bob: User) -> None:
    signed_in(alice).post(address(memory), {"name": "zq.md"})
    client = signed_in(bob)
    seq = newest(memory.store).seq
    for url in (f"versions/{version(memory).pk}", f"memories/{memory.pk}/versions"):
        html = page(client, f"/stores/{memory.store_id}/{url}")
        assert "badge-redacted" in html and "by Alice" in html and f"entry {seq}" in html, url
        assert "Redact…" not in html and "Redact version" not in html
    html = page(client, f"/stores/{memory.store_id}/memories/{memory.pk}/compare?from=1&to=2")
    assert "removed permanently" in html
    assert "redacted version 1 of a memory" in page(client, f"/audit/{memory.store_id}/{seq}")


def test_only_admins_are_offered_it_and_only_where_it_can_be_done(memory: Memory, alice: User, bob: User) -> None:
    for user, offered in ((alice, True), (bob, False)):
        html = page(signed_in(user), f"/stores/{memory.store_id}/versions/{version(memory).pk}")
        assert ("Redact…" in html) == offered
        html = page(signed_in(user), f"/stores/{memory.store_id}/memories/{memory.pk}/versions")
        assert ("Redact version 1" in html) == offered and "Redact version 2" not in html


def test_the_newest_version_is_refused_with_what_to_do_instead(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    html = page(client, address(memory, 2))
    assert "newest version cannot be redacted" in html and f"/erase?store={memory.store_id}" in html
    assert client.post(address(memory, 2), {"name": "zq.md"}).status_code == 200
    assert version(memory, 2).content == "nothing any more\n"
    curation.delete(memory.store_id, memory.path, act())
    assert client.post(address(memory, 2), {"name": "zq.md"}).status_code == 303


def test_what_a_legal_hold_keeps_is_refused_with_its_reason(memory: Memory, alice: User) -> None:
    place(memory.store_id, act(alice), kind=HoldKind.HOLD, reason="case 77", path="/people")
    client = signed_in(alice)
    assert "case 77" in page(client, address(memory))
    assert "case 77" in client.post(address(memory), {"name": "zq.md"}).content.decode()
    assert version(memory).content is not None


def test_one_that_is_redacted_says_so_and_stays_as_it_is(memory: Memory, alice: User) -> None:
    client = signed_in(alice)
    client.post(address(memory), {"name": "zq.md"})
    count = AuditEntry.objects.count()
    assert "already redacted" in page(client, address(memory))
    assert client.post(address(memory), {"name": "zq.md"}).status_code == 200
    assert AuditEntry.objects.count() == count


def test_no_page_says_that_a_redacted_version_moved_its_memory_or_changed_nothing(
    store: MemoryStore, key: str, alice: User
) -> None:
    caller, client = Caller(store, key), signed_in(alice)
    memory = caller.create("/a.md", "one\n")
    for text in ("two", "three", "four"):
        caller.replace("/a.md", {"two": "one", "three": "two", "four": "three"}[text], text)
    second, third, last = (version(memory, number) for number in (2, 3, 4))
    for one in (second, third):
        client.post(reverse("redact_version", args=[store.pk, one.pk]), {"name": "a.md"})
    of_memory, of_store = [store.pk, memory.pk], [store.pk]
    changes = reverse("changes", args=of_store)
    html = page(client, f"{changes}?from={second.seq}&to={third.seq}")
    assert "No differences" not in html and "One of the two texts was removed permanently." in html
    assert "badge-renamed" not in page(client, f"{changes}?from={third.seq}&to={last.seq}")
    for address in (
        reverse("compare", args=of_memory) + "?from=2&to=4",
        reverse("versions", args=of_memory),
        reverse("entry", args=[store.pk, last.seq]),
        reverse("entry", args=[store.pk, second.seq]),
        reverse("review"),
    ):
        html = page(client, address)
        assert "/a.md →" not in html and "→ /a.md" not in html and "is different" not in html, address
        assert "of None" not in html and "<ins>+0</ins>" not in html
    decide = reverse("decide", args=of_store)
    done = client.post(decide, {"version": third.pk, "decision": "revert", "next": "/review"}, follow=True)
    html = done.content.decode()
    assert "a text that is needed for this was removed permanently" in html
    assert "1 memory stays as it is in any case" in html and "Nothing can be undone" in html
    assert "needs your choice" not in html and "Choose what to undo" not in html
    done = client.post(decide, {"version": second.pk, "decision": "approve", "earlier": "1"}, follow=True)
    assert "Approved version 2 of /a.md" in done.content.decode()


def test_the_same_text_in_other_versions_is_named(memory: Memory, alice: User) -> None:
    curation.restore(memory.store_id, version(memory).pk, act())
    curation.edit(memory.store_id, memory.pk, "else", Memory.objects.get(pk=memory.pk).sha256, act())
    html = page(signed_in(alice), address(memory))
    assert "Other versions have exactly the same text" in html and " 3. " in html


def test_who_may_not_and_how_not(memory: Memory, bob: User, charlie: User, alice: User) -> None:
    url = address(memory)
    for user, status in ((bob, 403), (new_curator(memory.store), 403), (charlie, 404)):
        for method in ("GET", "POST"):
            assert signed_in(user).generic(method, url).status_code == status
    assert Client().get(url).status_code == 302
    assert [signed_in(alice).generic(method, url).status_code for method in ("PUT", "DELETE")] == [405, 405]
    unknown = reverse("redact_version", args=[memory.store_id, "memver_x"])
    assert signed_in(alice).get(unknown).status_code == 404
    assert version(memory).content is not None

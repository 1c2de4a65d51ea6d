"""A policy that leaves alone what a person has approved, as its form, its rehearsal, its runs and the memory say."""

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.actions.retention import runs
from memoryhub.actions.review import decisions
from memoryhub.models import Memory, MemoryStore, RetentionPolicy, User
from tests.support.fixtures import signed_in
from tests.web.browser_forms import form_with
from tests.web.history.versions import Caller
from tests.web.memories.pages import act, newest, page, url_of, write
from tests.web.retention.pages import policy, ran, url

OLD = {
    "name": "Old", "pattern": "", "use_expire_older_days": "on", "expire_older_days": "90", "grace_days": "30",
    "keeps_approved": "on",
}  # fmt: skip
STAYS = "Memories stay if a person wrote or approved their newest version."


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key)


@pytest.fixture
def waiting(store: MemoryStore, caller: Caller) -> Memory:
    """A memory that no person approved, beside one that a person wrote and one that a person approved."""
    write(store, "/written.md")
    approve(caller.create("/approved.md", "text\n"))
    return caller.create("/waiting.md", "text\n")


def approve(memory: Memory) -> None:
    decisions.approve(memory.store_id, str(memory.head_id), act(), earlier=0)


@pytest.mark.both_databases
def test_the_box_is_rehearsed_saved_shown_and_obeyed(client: Client, store: MemoryStore, waiting: Memory) -> None:
    address = url("new_policy", store.pk)
    assert "Keep what a person has approved" in page(client, address)
    html = client.post(address, OLD | {"act": "rehearse"}).content.decode()
    assert STAYS in html and "<b>1</b> memory to the trash" in html and waiting.pk in html
    assert "2 memories stay although their time is over: a person wrote or approved" in html
    seen = form_with(html, "seen")["seen"]
    html = client.post(address, OLD | {"act": "save", "seen": seen}, follow=True).content.decode()
    assert STAYS in html and RetentionPolicy.objects.get().keeps_approved
    assert "keeps what a person wrote or approved" in page(client, url("entry", store.pk, newest(store).seq))
    assert waiting.pk in page(client, url("rehearsal", store.pk))
    html = page(client, url("policy", RetentionPolicy.objects.get().pk))
    assert "checked" in html.partition("keeps_approved")[2][:99]
    assert ran(store).expired == 1
    assert set(Memory.objects.live().values_list("path", flat=True)) == {"/written.md", "/approved.md"}


def test_a_rehearsal_says_that_only_approval_keeps_everything(client: Client, store: MemoryStore) -> None:
    write(store, "/written.md")
    html = client.post(url("new_policy", store.pk), OLD | {"act": "rehearse"}).content.decode()
    assert "Only approved memories" in html and "1 memory stays although its time is over" in html
    html = client.post(url("new_policy", store.pk), OLD | {"act": "rehearse", "expire_older_days": "9000"})
    assert "Nothing has expired yet" in html.content.decode() and "stays although" not in html.content.decode()


def test_without_the_box_everything_goes(client: Client, store: MemoryStore, waiting: Memory) -> None:
    policy(store, expire_older_days=90)
    assert "although their time is over" not in page(client, url("rehearsal", store.pk))
    assert ran(store).expired == 3


def test_a_memory_says_that_approval_keeps_it(client: Client, store: MemoryStore, waiting: Memory) -> None:
    policy(store, expire_older_days=90, keeps_approved=True)
    assert "Expires with the next run" in page(client, url_of(waiting))
    approve(waiting)
    assert "until an agent changes it" in page(client, url_of(waiting))
    html = page(client, url("explain_path", store.pk) + "?path=/waiting.md")
    assert STAYS in html and "A person wrote or approved its newest version" in html


@pytest.mark.both_databases
def test_what_is_approved_after_a_run_began_stays(
    client: Client, store: MemoryStore, caller: Caller, waiting: Memory
) -> None:
    caller.create("/other.md", "text\n")
    policy(store, expire_older_days=90, keeps_approved=True)
    run = ran(store, until=0)
    approve(waiting)
    while runs.step(run.pk, timezone.now()):
        pass
    run.refresh_from_db()
    assert Memory.objects.live().filter(pk=waiting.pk).exists() and (run.expired, run.skipped) == (1, 1)
    assert "a person wrote or approved its newest version" in page(client, url("run", run.pk))

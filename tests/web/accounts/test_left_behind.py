"""What waits for somebody who is deactivated: the page says so before, and the answer says what became of it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.review import assignments
from memoryhub.actions.transfer import importing
from memoryhub.models import ActRequest, Agent, Comment, Import, ImportState, MemoryStore, Role, User
from tests.support.fixtures import BY, signed_in
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.transfer.test_imports import act_on, brought, finished

pytestmark = pytest.mark.django_db


def words(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


@pytest.mark.both_databases
def test_a_deactivation_says_what_the_person_leaves_behind(
    store: MemoryStore, key: str, bob: User, superuser: User
) -> None:
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    client, address = signed_in(superuser), reverse("deactivate", args=[bob.pk])
    assert "leave behind" not in words(client.get(address))
    caller = Caller(store, key)
    for path in ("/a.md", "/b.md"):
        assignments.assign(store.pk, caller.create(path, "x\n").pk, bob.pk, act())
    runs, waits = brought(signed_in(bob), store, name="runs.zip"), brought(signed_in(bob), store, name="waits.zip")
    finished(runs)
    finished(waits)
    act_on(signed_in(bob), runs, "start_import")
    brought(client, store, name="not-hers.zip")
    now = timezone.now()
    with tampering():
        ActRequest.objects.create(
            id="actreq_1", act="export", path="/", digest="", asked_by=bob, asked_at=now, expires_at=now + timedelta(1)
        )
    html = client.get(address).content.decode()
    said = words(client.get(address))
    assert f'href="{reverse("review")}?assigned=bob%40example.com"' in html
    assert "2 reviews that are assigned to them : they are assigned to no one then." in said
    assert re.search(r"The running import runs\.zip .*: it stops, .*The import waits\.zip .*: it waits until", said)
    assert (
        "1 request that they made or allowed, for an act that needs a second person : this request ends." in said
        and "not-hers" not in said
    )
    assert f'href="{reverse("import_", args=[store.pk, waits.pk])}"' in html
    told = words(client.post(address, follow=True))
    for sentence in (
        "2 reviews are assigned to no one now.", "1 running import stops.",
        "1 import waits until somebody else starts or cancels it.",
        "1 request to a second person has lapsed.",
    ):  # fmt: skip
        assert sentence in told
    assert finished(runs).state == ImportState.FAILED
    assert Import.objects.get(pk=waits.pk).state == ImportState.PREVIEW
    assert not assignments.standing(store.pk).exists() and not ActRequest.objects.open(timezone.now()).exists()
    importing.start(waits.pk, act())


@pytest.mark.both_databases
@pytest.mark.parametrize("role", [None, Role.VIEWER])
def test_leaving_a_memory_store_says_so_too(
    store: MemoryStore, key: str, alice: User, bob: User, superuser: User, role: Role | None
) -> None:
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    caller, client = Caller(store, key), signed_in(alice)
    for path in ("/a.md", "/b.md"):
        assignments.assign(store.pk, caller.create(path, "x\n").pk, bob.pk, act())
    finished(brought(signed_in(bob), store, name="waits.zip"))
    if role:
        asked = client.post(reverse("set_role", args=[store.pk, bob.pk]), {"role": role}, follow=True)
    else:
        asked = client.get(reverse("leaving", args=[store.pk, bob.pk]))
    html, said = asked.content.decode(), words(asked)
    assert f'href="{reverse("review")}?assigned=bob%40example.com&amp;store={store.pk}"' in html
    assert "2 reviews that are assigned to them : they are assigned to no one then." in said
    assert "The import waits.zip" in said and assignments.standing(store.pk).count() == 2
    told = words(client.post(asked.request["PATH_INFO"] + (f"?role={role}" if role else ""), follow=True))
    assert "2 reviews are assigned to no one now. 1 import waits until somebody else starts or cancels it." in told
    assert not assignments.standing(store.pk).exists()


@pytest.mark.both_databases
def test_a_mention_without_an_answer_is_named_before_and_at_the_comment_afterwards(
    store: MemoryStore, key: str, alice: User, bob: User
) -> None:
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    memory, client = Caller(store, key).create("/a.md", "x\n"), signed_in(alice)
    for text in ("Is this true, @Bob?", "Nobody is asked."):
        client.post(reverse("comments", args=[store.pk, memory.pk]), {"text": text, "version": memory.head_id})
    asks = Comment.objects.get(text__contains="@")
    address = reverse("leaving", args=[store.pk, bob.pk])
    page = client.get(address)
    assert "1 comment that names them, and that they have not answered: /a.md" in words(page)
    assert f'href="{reverse("comment", args=[store.pk, asks.pk])}#{asks.pk}"' in page.content.decode()
    of_memory, gone = reverse("memory", args=[store.pk, memory.pk]), "Bob has not answered, and is no longer a member."
    assert gone not in words(client.get(of_memory))
    assert "1 mention of this person has no answer." in words(client.post(address, follow=True))
    assert words(client.get(of_memory)).count(gone) == 1
    keys_and_roles.set_role(store, bob, Role.CURATOR, **BY)
    answer = reverse("answer_comment", args=[store.pk, asks.pk])
    signed_in(bob).post(answer, {"text": "Yes.", "do": "reply"})
    assert "leave behind" not in words(client.get(address))


@pytest.mark.both_databases
def test_who_goes_on_reviewing_leaves_nothing_behind(
    store: MemoryStore, agent: Agent, key: str, alice: User, superuser: User
) -> None:
    keys_and_roles.set_role(store, superuser, Role.ADMIN, **BY)
    assignments.assign(store.pk, Caller(store, key).create("/a.md", "x\n").pk, superuser.pk, act())
    client, asks = signed_in(alice), reverse("leaving", args=[store.pk, superuser.pk])
    key, _ = keys_and_roles.issue_key(agent, stores=[store], created_by=superuser, **BY)
    asked = words(client.get(asks))
    assert "they keep all rights in this memory store" in asked and key.hint not in asked
    assert "No key that they issued" not in asked
    told = words(client.post(asks, follow=True))
    assert "no longer a member" in told and "review" not in told.partition("no longer a member")[2][:60]

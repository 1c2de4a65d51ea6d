"""A finding whose text comes back by an undo of an undo, or by a restore: it still names who wrote the value."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.memories import curation
from memoryhub.models import AuditEntry, Finding, FindingState, MemoryStore, MemoryVersion, Session, User
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.findings.flagged import CARD
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller(store: MemoryStore, key: str) -> Caller:
    return Caller(store, key, session="bad")


def send(client: Client, name: str, *args: object, **given: str) -> None:
    address = reverse(name, args=args)
    assert client.post(address, form_with(client.get(address).content.decode(), "digest") | given).status_code == 303


def newest(store: MemoryStore) -> AuditEntry:
    return AuditEntry.objects.of_chain(store.pk).of_command("undo").newest()[0]


@pytest.mark.parametrize("is_new", [True, False])
def test_after_the_undo_of_an_undo_the_finding_is_the_sessions_again(is_new: bool, caller: Caller, alice: User) -> None:
    if is_new:
        memory = caller.create("/a.md", f"one\n{CARD}\n")
    else:
        caller.session = "good"
        memory = caller.create("/a.md", "one\n")
        caller.session = "bad"
        caller.replace("/a.md", "one", f"one\n{CARD}")
    session, client = Session.objects.get(name="bad"), signed_in(alice)
    before = Finding.objects.get()
    send(client, "undo_session", caller.store.pk, session.pk)
    assert Finding.objects.get().state == FindingState.RESOLVED
    send(client, "undo_entry", caller.store.pk, newest(caller.store).seq)
    after = Finding.objects.get()
    assert (after.state, after.version_id, after.line, after.at) == ("open", before.version_id, 2, before.at)
    today = client.get(reverse("today")).content.decode()
    assert reverse("undo_session", args=[caller.store.pk, session.pk]) in today
    assert "arose here." in client.get(reverse("session", args=[session.pk])).content.decode()
    send(client, "undo_session", caller.store.pk, session.pk)
    memory.refresh_from_db()
    assert Finding.objects.get().state == FindingState.RESOLVED
    assert not memory.is_live if is_new else memory.text.content == "one\n"


@pytest.mark.both_databases
def test_a_finding_whose_first_text_is_gone_gets_the_place_of_the_restore(caller: Caller) -> None:
    memory = caller.create("/a.md", f"one\n{CARD}\n")
    second = caller.replace("/a.md", "one", "zero\none")
    caller.delete("/a.md")
    with tampering():
        MemoryVersion.objects.filter(store_id=caller.store.pk, number=1).update(text=None)
    curation.restore(caller.store.pk, second.pk, act())
    memory.refresh_from_db()
    after = Finding.objects.get()
    assert (after.state, after.version_id, after.line) == ("open", memory.head_id, 3)


def test_the_page_of_a_version_says_which_open_findings_are_in_it(caller: Caller, alice: User) -> None:
    memory = caller.create("/a.md", "one\n")
    second = caller.replace("/a.md", "one", f"one\n{CARD}")
    third = caller.replace("/a.md", "one", "two")
    client = signed_in(alice)
    pages = [
        client.get(reverse("version", args=[memory.store_id, pk])).content.decode()
        for pk in (memory.head_id, second.pk, third.pk)
    ]
    assert ["Open findings in this version" in page for page in pages] == [False, True, True]
    approve = [re.search(r'<button class="([^"]+)" name="decision" value="approve"', page) for page in pages]
    assert [bool(one and "button-primary" in one[1]) for one in approve] == [True, False, False]

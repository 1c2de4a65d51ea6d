"""A policy whose rules must all be due, as its form, its rehearsal, its runs and the memory say."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub.models import Memory, MemoryStore, RetentionPolicy, User
from tests.support.fixtures import signed_in
from tests.support.write_guard import tampering
from tests.web.browser_forms import form_with
from tests.web.memories.pages import newest, page, url_of, write
from tests.web.retention.pages import ran, url

BOTH = {
    "name": "Unused", "pattern": "", "use_expire_unread_days": "on", "expire_unread_days": "60", "grace_days": "30",
    "use_expire_unchanged_days": "on", "expire_unchanged_days": "60", "expires_together": "on",
}  # fmt: skip
SAYS = "Memories that no agent has read for 60 days and that no one has changed for 60 days go to the trash"


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.mark.both_databases
def test_a_memory_that_was_changed_stays_though_no_agent_reads_it(client: Client, store: MemoryStore) -> None:
    unused, changed = write(store, "/unused.md"), write(store, "/changed.md")
    with tampering():
        recently = timezone.now() - timedelta(days=3)
        Memory.objects.filter(store=store, pk=changed.pk).update(updated_at=recently)
    address = url("new_policy", store.pk)
    assert "Only when all ticked sentences are true" in page(client, address)
    one = client.post(address, {**BOTH, "expires_together": "", "act": "rehearse"}).content.decode()
    assert "<b>2</b> memories to the trash" in one
    html = client.post(address, BOTH | {"act": "rehearse"}).content.decode()
    assert SAYS in html and "<b>1</b> memory to the trash" in html and unused.pk in html
    seen = form_with(html, "seen")["seen"]
    client.post(address, BOTH | {"act": "save", "seen": seen})
    assert RetentionPolicy.objects.get().expires_together
    assert "only when all ticked sentences are true" in page(client, url("entry", store.pk, newest(store).seq))
    assert (
        "checked" in page(client, url("policy", RetentionPolicy.objects.get().pk)).partition("expires_together")[2][:99]
    )
    assert "unless an agent reads it" in page(client, url_of(changed))
    assert ran(store).expired == 1 and Memory.objects.live().get(store=store).pk == changed.pk

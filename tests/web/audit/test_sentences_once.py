"""The audit says each act once, in words, and names versions and memories as people do."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.history import apply_plan
from memoryhub.actions.review import decisions
from memoryhub.models import AuditEntry, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.history.versions import Caller
from tests.web.memories.pages import act

pytestmark = pytest.mark.django_db


def visible_text(client: Client, address: str) -> str:
    html = client.get(address).content.decode().partition("<main")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


def test_an_approval_of_several_is_said_once(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key)
    made = [caller.create(f"/{name}.md", "one\n").head_id for name in "ab"]
    decisions.approve_many(store.pk, made, act(alice))
    text = visible_text(signed_in(alice), reverse("store_audit", args=[store.pk]))
    assert "approved 2 versions" in text and "approved approved" not in text


def test_an_undone_version_is_named_by_its_number(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key)
    caller.create("/a.md", "one\n")
    version = caller.replace("/a.md", "one", "two")
    plan = apply_plan.undo_plan(store.pk, [version.pk])
    done = apply_plan.undo(store.pk, [version.pk], {}, plan.digest, act(alice))
    text = visible_text(signed_in(alice), reverse("entry", args=[store.pk, done.seq]))
    assert "undid version 2 of /a.md" in text.partition("Facts")[0]
    assert AuditEntry.objects.of_chain(store.pk).get(seq=done.seq).path == "/a.md"

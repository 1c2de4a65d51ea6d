"""What pages mask in a memory store, they mask in its throw-away copies, also in those that were made before."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryhub.actions.core import tree
from memoryhub.actions.core.audit import Act, Actor
from memoryhub.actions.findings import findings, rules, scans
from memoryhub.actions.stores import copies
from memoryhub.actions.verification import verify
from memoryhub.models import AuditEntry, Door, Finding, FindingState, Memory, MemoryStore, User
from tests.support.fixtures import signed_in
from tests.web.memories.pages import page, write

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

ADDRESS, OTHER = "jo.quellenberg@example.com", "info@example.com"


def act() -> Act:
    return Act(Actor.system("tests"), Door.COMMAND, timezone.now())


def copied(store: MemoryStore) -> str:
    with tree.locked(store.pk, act()) as locked:
        copy = copies.make(locked, proposes=False)
    last = AuditEntry.objects.of_chain(store.pk).newest()[0].seq
    while copies.fill(copy, store.pk, last, timezone.now()) is None:
        pass
    return copy


def scan(store: MemoryStore) -> None:
    scan = scans.start(store.pk, ["email"], act())
    while scans.step(scan.pk, timezone.now() + timedelta(seconds=1)):
        pass


def text_of(store_id: str, bob: User) -> str:
    memory = Memory.objects.at("/a.md").get(store=store_id)
    return page(signed_in(bob), f"/stores/{store_id}/memories/{memory.pk}")


def test_a_value_that_is_found_later_is_masked_in_an_older_copy_too(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", f"Ask {ADDRESS} or {OTHER}\n")
    copy = copied(store)
    assert ADDRESS in text_of(store.pk, bob) and ADDRESS in text_of(copy, bob)
    scan(store)
    for place in (store.pk, copy):
        assert ADDRESS not in text_of(place, bob) and OTHER not in text_of(place, bob), place
    harmless = Finding.objects.filter(store=store, fingerprint=findings.fingerprint("email", OTHER))
    findings.decide(store.pk, [one.pk for one in harmless], FindingState.DISMISSED, "It is public", act())
    for place in (store.pk, copy):
        assert ADDRESS not in text_of(place, bob) and OTHER in text_of(place, bob), place


def test_a_value_that_is_dismissed_no_more_is_masked_again_in_an_older_copy(store: MemoryStore, bob: User) -> None:
    write(store, "/a.md", f"Ask {ADDRESS}\n")
    scan(store)
    one = Finding.objects.get(store=store)
    findings.decide(store.pk, [one.pk], FindingState.DISMISSED, "It is public", act())
    copy = copied(store)
    assert ADDRESS in text_of(copy, bob)
    findings.decide(store.pk, [one.pk], FindingState.OPEN, "", act())
    for place in (store.pk, copy):
        assert ADDRESS not in text_of(place, bob), place


def test_a_copy_that_is_kept_has_the_rules_and_the_dismissals_that_its_original_has_by_then(
    store: MemoryStore, bob: User
) -> None:
    write(store, "/a.md", f"Ask {ADDRESS} or {OTHER}\n")
    scan(store)
    found = list(Finding.objects.filter(store=store))
    findings.decide(store.pk, [one.pk for one in found], FindingState.DISMISSED, "Both are public", act())
    copy = copied(store)
    wrong = Finding.objects.get(store=store, fingerprint=findings.fingerprint("email", ADDRESS))
    findings.decide(store.pk, [wrong.pk], FindingState.OPEN, "", act())
    rules.save_rules(store.pk, {"email": "block"}, act())
    with tree.locked(store.pk, act()) as locked:
        copies.keep(locked, copy, "Kept")
    assert ADDRESS not in text_of(copy, bob) and OTHER in text_of(copy, bob)
    assert MemoryStore.objects.get(pk=copy).rules == {"email": "block"} and verify.verify(copy)[1] is None

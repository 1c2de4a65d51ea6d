"""The pages of scans: what one looks for is chosen, its progress survives a reload, it can be cancelled."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memoryhub.actions.findings import scans
from memoryhub.models import AuditEntry, Finding, MemoryStore, Scan, ScanState, User
from tests.support.fixtures import AT, signed_in
from tests.support.write_guard import arranging
from tests.web.memories.pages import act, new_curator, page, write

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 1111"


@pytest.fixture
def running(store: MemoryStore, alice: User, monkeypatch: pytest.MonkeyPatch) -> Scan:
    """One that has looked at one version of four."""
    monkeypatch.setattr(scans, "STEP_VERSIONS", 1)
    with arranging():
        MemoryStore.objects.filter(pk=store.id).update(rules={"card": "off"})
    for number in range(4):
        write(store, f"/{number}.md", CARD if number else "nothing")
    scan = scans.start(store.id, ["card", "jwt"], act(alice), by=alice)
    assert scans.step(scan.pk, AT)
    return scan


def address(scan: Scan, name: str = "scan") -> str:
    return reverse(name, args=[scan.store_id, scan.pk])


def test_what_the_rules_look_for_is_chosen_at_first(store: MemoryStore, alice: User) -> None:
    html = page(signed_in(alice), reverse("scans", args=[store.id]))
    watched = scans.watched(store)
    assert 'value="card" id="kind-card" checked' in html and "card" in watched
    assert 'value="email" id="kind-email">' in html and "email" not in watched
    assert "The history has not been scanned yet" in html
    assert re.search(r'aria-current="true">Sensitive text<', html) and not re.search(r"aria-current[^>]*>Erase<", html)


@pytest.mark.both_databases
def test_it_is_started_with_what_was_chosen_and_watched(store: MemoryStore, alice: User) -> None:
    client, url = signed_in(alice), reverse("scans", args=[store.id])
    answer = client.post(url, {"kind": ["email", "card", "nonsense"]})
    scan = Scan.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (303, address(scan))
    assert (scan.kinds, scan.started_by_id) == (["card", "email"], alice.id)
    html = page(client, address(scan))
    assert "Payment card" in html and "E-mail address" in html and "by Alice" in html
    again = client.post(url, {"kind": "card"})
    assert again.headers["Location"] == address(scan) and Scan.objects.count() == 1
    assert "A scan is running." in page(client, url)


def test_nothing_chosen_starts_nothing(store: MemoryStore, alice: User) -> None:
    for kinds in ([], ["nonsense"]):
        answer = signed_in(alice).post(reverse("scans", args=[store.id]), {"kind": kinds}, follow=True)
        assert "Choose at least one kind" in answer.content.decode()
    assert not Scan.objects.exists()


def test_progress_is_shown_and_asked_for_again_until_it_is_over(running: Scan, alice: User) -> None:
    client, url = signed_in(alice), address(running)
    before, newest = AuditEntry.objects.count(), AuditEntry.objects.of_chain(running.store_id).newest()[0].seq
    html = page(client, url)
    assert '<progress class="progress" max="100" value="25"' in html and "1 of 4" in html and "Cancel" in html
    part = client.get(url, headers={"hx-request": "true"}).content.decode()
    assert part.lstrip().startswith('<div class="card') and "<html" not in part and 'hx-trigger="load delay:1s"' in part
    while scans.step(running.pk, AT):
        pass
    part = client.get(url, headers={"hx-request": "true"}).content.decode()
    assert "hx-trigger" not in part and "Done: 3 new findings." in part
    assert Finding.objects.count() == 3
    noted = AuditEntry.objects.of_chain(running.store_id).filter(command="note_findings", seq__gt=newest).count()
    assert noted and AuditEntry.objects.count() == before + noted + 1  # and the end of the scan
    html = page(client, reverse("scans", args=[running.store_id]))
    assert "done" in html and address(running) in html and "A scan is running." not in html


def test_cancelled_it_stays_where_it_is(running: Scan, alice: User) -> None:
    client = signed_in(alice)
    answer = client.post(address(running, "cancel_scan"))
    assert (answer.status_code, answer.headers["Location"]) == (303, address(running))
    running.refresh_from_db()
    assert running.state == ScanState.CANCELLED and not scans.step(running.pk, AT)
    html = page(client, address(running))
    assert "Cancelled. The findings so far are kept" in html and "<progress" not in html
    assert "had already ended" in client.post(address(running, "cancel_scan"), follow=True).content.decode()
    entry = AuditEntry.objects.of_chain(running.store_id).newest()[0]
    assert "stopped the scan of the history after 1 versions" in page(client, f"/audit/{running.store_id}/{entry.seq}")


def test_who_may_not_and_how_not(running: Scan, alice: User, bob: User, charlie: User) -> None:
    listing = reverse("scans", args=[running.store_id])
    urls = (("GET", listing), ("POST", listing), ("GET", address(running)), ("POST", address(running, "cancel_scan")))
    for user, status in ((bob, 403), (new_curator(running.store), 403), (charlie, 404)):
        for method, url in urls:
            assert signed_in(user).generic(method, url).status_code == status, (user, url)
    assert all(Client().generic(method, url).status_code == 302 for method, url in urls)
    assert signed_in(alice).get(address(running, "cancel_scan")).status_code == 405
    assert signed_in(alice).post(address(running)).status_code == 405
    unknown = reverse("scan", args=[running.store_id, "scan_x"])
    assert signed_in(alice).get(unknown).status_code == 404
    assert Scan.objects.get().state == ScanState.RUNNING

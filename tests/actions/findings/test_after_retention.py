"""Findings of versions that retention removes: they go on to another version with their value, or are resolved."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.actions.core.transactions import pace
from memoryhub.actions.findings import rules, scans
from memoryhub.actions.retention.runs import items
from memoryhub.actions.verification import verify
from memoryhub.models import Finding, FindingState, MemoryStore, MemoryVersion, User
from tests.support.fixtures import AT
from tests.web.history.versions import Caller
from tests.web.memories.pages import act
from tests.web.retention.pages import policy, ran
from tests.web.retention.test_past_after_runs import approve

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

CARD = "4111 1111 1111 1111"


def test_a_finding_whose_text_is_removed_with_its_version_is_resolved(
    store: MemoryStore, key: str, alice: User
) -> None:
    """A scan found it in an old version: without an end, it would be open for ever."""
    rules.save_rules(store.pk, {"card": "off"}, act(alice))
    caller = Caller(store, key)
    caller.create("/a.md", f"one\ncard {CARD}\n")
    caller.replace("/a.md", CARD, "gone")
    approve(store, alice)
    scan = scans.start(store.pk, ["card"], act(alice), by=alice)
    while scans.step(scan.pk, AT):
        pass
    assert Finding.objects.get().state == FindingState.OPEN
    policy(store, keep_versions=1)
    assert ran(store).versions == 1
    finding = Finding.objects.get()
    assert finding.state == FindingState.RESOLVED and caller.last.command == "resolve_finding"
    assert finding.decided_seq == caller.last.seq and verify.verify(store.pk)[1] is None


@pytest.mark.both_databases
def test_a_finding_goes_on_to_the_version_that_still_has_its_value(store: MemoryStore, key: str, alice: User) -> None:
    caller = Caller(store, key)
    memory = caller.create("/a.md", f"card {CARD}\n")
    caller.call("insert", path="/memories/a.md", insert_line=0, insert_text="zero")
    approve(store, alice)
    policy(store, keep_versions=1)
    assert ran(store).versions == 1
    finding, head = Finding.objects.get(), MemoryVersion.objects.get(memory=memory)
    assert (finding.state, finding.version_id, finding.line) == (FindingState.OPEN, head.pk, 2)
    assert (head.content or "")[finding.start : finding.end] == CARD and verify.verify(store.pk)[1] is None


def test_the_findings_of_memories_that_expire_together_are_read_at_once(
    store: MemoryStore, key: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "LONG", 3600)
    monkeypatch.setattr(items, "_size", pace.Size(items.MOST))
    caller = Caller(store, key)
    for number in range(6):
        caller.create(f"/{number}.md", f"card {CARD}\n" if number % 2 else "nothing\n")
    approve(store, alice)
    policy(store, expire_older_days=1)
    with CaptureQueriesContext(connection) as sent:
        assert ran(store).expired == 6
    read = [one for one in sent if '"memoryhub_finding"."fingerprint" IS NOT NULL' in one["sql"]]
    states = Finding.objects.order_by("decided_seq").values_list("state", "decided_seq")
    assert [state for state, _ in states] == [FindingState.RESOLVED] * 3 and len({seq for _, seq in states}) == 3
    assert len(read) == 1 and verify.verify(store.pk)[1] is None

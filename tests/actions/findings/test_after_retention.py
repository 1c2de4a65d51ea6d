"""Findings of versions that retention removes: they go on to another version with their value, or are resolved."""

import pytest

from memoryhub.actions.findings import rules, scans
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

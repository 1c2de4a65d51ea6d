"""What was proposed goes with the text to which it was proposed, and with the version that it became."""

from datetime import timedelta

import pytest

from memoryhub.actions.erasure import redaction
from memoryhub.actions.memories import curation
from memoryhub.actions.proposals import decide
from memoryhub.actions.retention import policies, runs
from memoryhub.actions.retention.policies import PolicySettings
from memoryhub.models import AuditEntry, Memory, MemoryStore, MemoryVersion, ProposedChange
from memoryhub.pure.path_rules import Effect, PathRule
from tests.actions.retention.stores import finished
from tests.api.harness import BY, Hub, assert_audit_is_right
from tests.api.path_rules.test_path_rules import set_rules
from tests.api.proposals.test_proposals import ana, merge, plan, proposal

A = "/memories/policies/a.md"


@pytest.fixture
def ruled(hub: Hub) -> Hub:
    """A store with a memory of which the newest version has a word that must go, and with a rule that holds back."""
    hub.call(command="create", path=A, file_text="one\ntwo\nthree\n")
    set_rules(hub.store, PathRule(Effect.PROPOSE, "/policies/"))
    _edit(hub, "two", "swordfish")
    return hub


def _edit(hub: Hub, old: str, new: str) -> MemoryVersion:
    """A person replaces a part of the memory; the version that was the newest before."""
    memory = Memory.objects.live().get(store=hub.store, path="/policies/a.md")
    before = MemoryVersion.objects.get(store=hub.store, pk=memory.head_id)
    curation.edit(hub.store.id, memory.pk, (before.content or "").replace(old, new), memory.sha256, ana())
    return before


def _proposed(store: MemoryStore) -> list[str | None]:
    rows = ProposedChange.objects.filter(store=store).order_by("number").values_list("path", "new_path", "content")
    return [value for row in rows for value in row]


def _is_left(store: MemoryStore, text: str) -> bool:
    """Whether a text is in a proposal of the store, or in its audit."""
    told = AuditEntry.objects.filter(chain=store.pk).values_list("path", "new_path", "input", "message")
    return any(text in (value or "") for row in [_proposed(store), *told] for value in row)


def test_what_was_proposed_to_a_version_is_redacted_with_it(ruled: Hub) -> None:
    ruled.call(command="str_replace", path=A, old_str="swordfish", new_str="swordfish!")
    version = _edit(ruled, "swordfish", "2")
    ruled.call(command="rename", old_path=A, new_path="/memories/policies/z.md")
    assert _is_left(ruled.store, "swordfish")
    redaction.redact_version(ruled.store.id, version.pk, ana())
    assert not _is_left(ruled.store, "swordfish")
    assert [str(change.problem) for change in plan(ruled.store).changes] == ["redacted"]
    assert_audit_is_right(ruled.store)


@pytest.mark.both_databases
def test_what_was_proposed_to_other_versions_stays(ruled: Hub) -> None:
    version = _edit(ruled, "swordfish", "2")
    ruled.call(command="insert", path=A, insert_line=0, insert_text="zero\n")
    redaction.redact_version(ruled.store.id, version.pk, ana())
    merge(ruled.store)
    memory = Memory.objects.select_related("text").get(store=ruled.store, path="/policies/a.md")
    assert str(memory.text.content) == "zero\none\n2\nthree\n"


@pytest.mark.both_databases
def test_a_merged_version_is_redacted_with_its_proposal_and_with_the_call_that_proposed_it(ruled: Hub) -> None:
    ruled.call(command="create", path="/memories/policies/Key.md", file_text="swordfish")
    ruled.call(command="str_replace", path=A, old_str="three", new_str="marlin")
    seq = merge(ruled.store).seq
    _edit(ruled, "marlin", "3")
    curation.delete(ruled.store.id, "/policies/Key.md", ana())
    merged = MemoryVersion.objects.filter(store=ruled.store, seq=seq)
    for version in [*merged, *MemoryVersion.objects.filter(store=ruled.store, path="/policies/Key.md")]:
        redaction.redact_version(ruled.store.id, version.pk, ana())
    assert not any(_is_left(ruled.store, text) for text in ("marlin", "Key.md"))
    assert _proposed(ruled.store) == ["/[redacted]", None, "[redacted]", "/policies/a.md", None, "[redacted]"]
    assert_audit_is_right(ruled.store)


@pytest.mark.both_databases
def test_retention_keeps_what_an_open_proposal_needs_and_later_removes_both(ruled: Hub) -> None:
    policies.save_policy(ruled.store.id, PolicySettings("Few", "", keep_versions=1), ana())
    ruled.call(command="insert", path=A, insert_line=0, insert_text="zero\n")
    version = _edit(ruled, "swordfish", "2")
    with pytest.raises(runs.NothingDue):
        finished(ruled.store.id, BY["at"] + timedelta(days=1))
    assert [str(change.problem) for change in plan(ruled.store).changes] == [""]
    decide.refuse(ruled.store.id, 1, ana(), seen=decide.seen_of(proposal(ruled.store)))
    finished(ruled.store.id, BY["at"] + timedelta(days=2))
    assert not MemoryVersion.objects.filter(store=ruled.store, pk=version.pk).exists()
    assert _proposed(ruled.store) == ["/policies/a.md", None, "[redacted]"]
    assert_audit_is_right(ruled.store)


def test_a_memory_that_retention_removes_takes_what_was_proposed_to_it_along(ruled: Hub) -> None:
    policies.save_policy(ruled.store.id, PolicySettings("Short", "", trash_days=1), ana())
    ruled.call(command="insert", path=A, insert_line=0, insert_text="zero\n")
    curation.delete(ruled.store.id, "/policies/a.md", ana())
    finished(ruled.store.id, BY["at"] + timedelta(days=9))
    assert not Memory.objects.filter(store=ruled.store).exists()
    assert _proposed(ruled.store) == ["/policies/a.md", None, "[redacted]"]
    assert merge(ruled.store).versions == 0
    assert_audit_is_right(ruled.store)
